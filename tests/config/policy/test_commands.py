"""F-MANY-9: what a command line may start: itself, and the commands inside it."""

from __future__ import annotations

import pytest

from mcpclient.config.policy.commands import commands_inside, spellings
from mcpclient.entries.resolve import is_shell

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


@pytest.mark.parametrize(("command", "inner"), INSIDE.values(), ids=INSIDE)
def test_a_command_inside(command: list[str], inner: tuple[str | None, ...]) -> None:
    """F-MANY-9: wrappers do not hide what is run."""
    assert inner in commands_inside(command)


def test_broken_quotes_without_a_shell_are_a_text() -> None:
    assert (None,) not in commands_inside(["tool", "it's fine"])


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


@pytest.mark.parametrize(("word", "expected"), SPELLED.values(), ids=SPELLED)
def test_the_spellings_of_a_word(word: str, expected: set[str]) -> None:
    found = spellings(word, is_program=False, links=lambda program: [])
    assert expected <= found


def test_the_spellings_of_a_program() -> None:
    found = spellings(
        "/tmp/Good.EXE", is_program=True, links=lambda program: ["/lib/npm/bin/npx-cli.js"]
    )
    assert {"good", "npx", "/tmp/good.exe", "/lib/npm/bin/npx-cli.js"} <= found


def test_shells() -> None:
    assert is_shell("/bin/BASH")
    assert is_shell(r"C:\Windows\System32\cmd.exe")
    assert not is_shell("bashful")
