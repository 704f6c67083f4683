"""F-MANY-9: what a command line may start: itself, and the commands and packages inside it."""

from __future__ import annotations

from collections.abc import Sequence

from mcpclient.config.policy.commands import commands_inside, names_package, spellings
from mcpclient.config.policy.rules import CommandRule, read_rule
from tests.support.tables import each_row

INSIDE = {
    "itself": (["npx", "a"], ("npx", "a")),
    "behind env": (["env", "A=b", "npx", "a"], ("npx", "a")),
    "behind a keeper of secrets": (["op", "run", "--", "npx", "a"], ("npx", "a")),
    "npm exec": (["npm", "exec", "--", "a"], ("npx", "--", "a")),
    "npm with a flag": (["npm", "--yes", "x", "a"], ("npx", "a")),
    "uv tool run": (["/usr/bin/uv", "tool", "run", "a"], ("uvx", "a")),
    "pnpm dlx": (["pnpm.cmd", "dlx", "a"], ("pnpx", "a")),
    "the text of a shell": (["sh", "-c", "npx a"], ("npx", "a")),
    "the second command": (["bash", "-lc", "cd /x && A=b exec npx a; true"], ("npx", "a")),
    "lines": (["sh", "-c", "true\nnpx a"], ("npx", "a")),
    "quotes": (["sh", "-c", "n'p'x \"a b\""], ("npx", "a b")),
    "cmd": (["cmd", "/c", "npx a"], ("npx", "a")),
    "a shell in a shell": (["sh", "-c", "sh -c 'npx a'"], ("npx", "a")),
    "quotes that cmd takes off": (["cmd", "/c", '"npx a"'], ("npx", "a")),
    "split by env": (["env", "-S", "npx a"], ("npx", "a")),
    "a variable": (["sh", "-c", "X=px; n$X a"], (None, "a")),
    "a variable as a word": (["sh", "-c", "npx $PKG"], ("npx", None)),
    "a text that is no shell's": (["tool", "costs $5 or"], ("costs", "$5", "or")),
    "broken quotes": (["sh", "-c", "npx 'a"], (None,)),
}


@each_row(("command", "inner"), INSIDE.values())
def test_a_command_inside(command: list[str], inner: tuple[str | None, ...]) -> None:
    """F-MANY-9: wrappers do not hide the program."""
    assert inner in commands_inside(command)


def test_what_is_nested_too_deeply_may_be_anything() -> None:
    text = "npx a"
    for _ in range(10):
        text = "sh -c " + "'" + text.replace("'", "'\\''") + "'"
    assert (None,) in commands_inside(["sh", "-c", text])
    assert (None,) in commands_inside(["x"] * 5000)


SPELLED = {
    "version": ("@a/b@1.2", {"@a/b@1.2", "@a/b"}),
    "case": ("@A/B", {"@a/b"}),
    "flag with a value": ("--package=@a/b@1", {"@a/b"}),
    "short flag": ("-p@a/b", {"@a/b"}),
    "alias": ("x@npm:@a/b@2", {"@a/b"}),
    "Python version": ("pkg[extra]==1.0", {"pkg"}),
    "Python range": ("pkg>=1,<2", {"pkg"}),
}


@each_row(("word", "expected"), SPELLED.values())
def test_the_spellings_of_a_word(word: str, expected: set[str]) -> None:
    found = spellings(word, is_program=False, links=lambda program: [])
    assert expected <= found


def no_links(program: str) -> Sequence[str]:
    return ()


def rule(text: str) -> CommandRule:
    found = read_rule(text)
    assert isinstance(found, CommandRule)
    return found


def test_a_wildcard_behind_a_runner_is_never_an_option_or_a_path() -> None:
    """F-SAFE-6: not even where it is the whole word."""
    for word in ("--call=sh", "-c", "./evil", "/tmp/evil", "evil/x", "https://evil/", "evil.tgz"):
        assert not rule("command:npx *").allows(["npx", word], no_links), word
        assert not rule("command:npx **").allows(["npx", "a", word], no_links), word
        assert not rule("command:npx --package=* x").allows(
            ["npx", f"--package={word}", "x"], no_links
        )
    assert not rule("command:npx -p*").allows(["npx", "-p@evil/x"], no_links)
    assert not rule("command:npx --*=x").allows(["npx", "--package=x"], no_links)
    assert rule("command:npx --package=@corp/* x").allows(
        ["npx", "--package=@corp/y@1", "x"], no_links
    )
    # A name stays within its scope.
    assert not rule("command:npx @corp*").allows(["npx", "@corp-evil/x"], no_links)
    assert not rule("command:npx corp*").allows(["npx", "corp/evil"], no_links)


def test_what_follows_the_package_is_its_own_business() -> None:
    free = rule("command:npx -y @corp/* --root=* **")
    assert free.allows(["npx", "-y", "@corp/x", "--root=/data/x", "-v", "/a b"], no_links)
    assert not free.allows(["npx", "-y", "--root=/x", "--root=/data/x"], no_links)
    # npm goes on reading options, and an option that is not known may take the next word.
    assert not rule("command:npm exec @corp/* **").allows(
        ["npm", "exec", "@corp/x", "--package=@evil/x"], no_links
    )
    assert rule("command:npm exec -- @corp/* **").allows(
        ["npm", "exec", "--", "@corp/x", "--any"], no_links
    )
    assert not rule("command:npx --node-options x *").allows(
        ["npx", "--node-options", "x", "--call=evil"], no_links
    )
    assert rule("command:uv --directory /srv/* run server.py").allows(
        ["uv", "--directory", "/srv/a", "run", "server.py"], no_links
    )


def test_deno_and_its_registries() -> None:
    allowed = rule("command:deno run -A npm:@corp/*")
    assert allowed.allows(["deno", "run", "-A", "npm:@corp/x@1"], no_links)
    assert not allowed.allows(["deno", "run", "-A", "npm:@corp/../x"], no_links)
    assert not names_package("*", "npm:x")
    assert names_package("jsr:@corp/*", "jsr:@corp/x")


def test_a_text_for_a_shell_says_only_what_the_rule_says() -> None:
    """F-SAFE-6: a wildcard inside a script for a shell stands for plain words."""
    for before in (["sh", "-c"], ["bash", "-lc"], ["cmd", "/c"], ["env", "-S"]):
        allowed = rule(f"command:{' '.join(before)} 'cd /srv && npx -y @corp/*'")
        text = "cd /srv && npx -y @corp/x"
        assert allowed.allows([*before, f"{text}@1.2"], no_links)
        for evil in ("; evil", "\nevil", " evil", "$(evil)", "@./evil", "`evil`", ">f", "|evil"):
            assert not allowed.allows([*before, text + evil], no_links), evil
    split = rule("command:cmd /c npx -y @corp/* **")
    assert split.allows(["cmd", "/c", "npx", "-y", "@corp/x", "--dir=/a"], no_links)
    assert not split.allows(["cmd", "/c", "npx", "-y", "@corp/x", "&evil"], no_links)
    assert not split.allows(["cmd", "/c", "npx", "-y", "@corp/x>=1"], no_links)
    assert rule("command:env A=b server --dir=*").allows(
        ["env", "A=b", "server", "--dir=/a b"], no_links
    )
    assert rule("command:bash -c *").allows(["bash", "-c", "any; thing"], no_links)


@each_row(
    "command",
    [
        *(["uvx", "sketchy"], ["uv", "tool", "run", "sketchy"], ["pipx", "run", "sketchy==1"]),
        *(["uvx", "--from", "sketchy @ https://evil", "x"], ["uv", "run", "--with=sketchy", "x"]),
        ["python", "-m", "pipx", "run", "sketchy"],
        ["uv", "--offline", "tool", "run", "sketchy"],
        ["pipx", "run", "--spec", "sketchy[a]>=1", "x"],
    ],
)
def test_a_denied_python_package_is_denied_to_every_runner(command: list[str]) -> None:
    """F-SAFE-6, F-MANY-9"""
    for text in ("uvx sketchy", "pipx run sketchy", "uv tool run sketchy", "uvx"):
        assert rule(f"command:{text}").denies(command, no_links), text
    assert not rule("command:uvx other").denies(command, no_links)
    assert not rule("command:npx").denies(command, no_links)
