"""The words of a command line: which server they name, and suggestions for mistyped ones."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from mcpclient.cli.main import main
from mcpclient.cli.parsing import find_server, split_after_file
from tests.cli.shell.in_shell import in_shell
from tests.support.tables import each_row


def given(*words: str, command: list[str] | None = None) -> argparse.Namespace:
    return argparse.Namespace(
        words=list(words), server_command=command, config=None, command="tools"
    )


@each_row(
    ("words", "outer", "inner"),
    [
        ("f call x", "f", "call x"),
        ("f -- call x -- s", "f", "call x -- s"),
        ("--a f --b call --c", "--a f --b", "call --c"),
        ("--a f --b -- call", "--a f --b", "call"),
        ("--a", "--a", ""),
        ("f", "f", ""),
        ("f --", "f", ""),
        ("", "", ""),
    ],
)
def test_a_command_may_stand_after_a_file(words: str, outer: str, inner: str) -> None:
    """F-SHOW-8"""
    assert split_after_file(words.split()) == (outer.split(), inner.split())


@each_row(
    "server",
    ["HTTP://host/mcp", "tcp://host:1", "unix:///run/x", "server.py", "./server", "a/b.JS"],
)
def test_a_url_or_a_script_comes_first(server: str) -> None:
    """F-SHOW-1"""
    options = given(server, "demo://readme", "a=1")
    assert (find_server(options).target, options.words) == (server, ["demo://readme", "a=1"])


# Hints, which are lines that run

DEMO = str(Path("mcpclient/testing/demo_server.py").resolve())
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Return a configuration of two servers, one called like the beginning of the other."""
    path = tmp_path / "servers.json"
    entry = {"command": "python3", "args": [DEMO]}
    path.write_text(json.dumps({"mcpServers": {"demo": entry, "demo.two": entry}}))
    return str(path)


@pytest.mark.quick_rows(3)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["call", DEMO, "ecko"], f"mcpclient tools {DEMO}"),
        (["call", "ecko", "--", "python3", DEMO], f"mcpclient tools -- python3 {DEMO}"),
        (["call", DEMO, "demo://readme"], f"mcpclient read {DEMO} demo://readme"),
        (["call", "haiku", "--", "python3", DEMO], f"mcpclient prompt haiku -- python3 {DEMO}"),
        (["tools", "npx", "-y", "x"], "mcpclient tools -- npx -y x"),
        (["tools", "python3", "s.py"], "mcpclient tools -- python3 s.py"),
        (["list", "x", "--", "y"], "did you mean mcpclient tools x -- …?"),
        (["login", "https://h"], "did you mean mcpclient auth login https://h?"),
        (["call", "ecko", "--", "python3", DEMO, "--token=hunter2"], "mcpclient tools SERVER\n"),
    ],
)
@pytest.mark.usefixtures("nothing_configured")
def test_a_hint_is_a_line_that_runs(words: list[str], said: str, capsys: Capture) -> None:
    """F-SHOW-19: with the words that named the server, unless they may hold a secret."""
    assert main(words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_a_tool_is_named_with_its_server(config: str, capsys: Capture) -> None:
    """F-SHOW-19: also behind the name of the server."""
    for name in ("demo.echo", "demo__echo", "demo.two.echo", "demo.two__echo"):
        assert main(["call", "--config", config, name, f"message={name}"]) == 0
        assert capsys.readouterr().out == f"{name}\n"
    assert main(["tools", "--config", config, "demo", "demo__echo"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("echo message=string")
    assert f"mcpclient call --config {config} demo echo message=text" in out
    assert main(["ping", "--config", config, "demo.echo"]) == 2
    assert main(["call", "--config", config, "demon.echo"]) == 2


async def test_a_tool_is_named_with_its_server_in_the_shell() -> None:
    """F-SHOW-19: and one that is called like a word of the shell says how."""
    async with in_shell() as world:
        assert await world.run("demo__echo message=hi", "demo.echo message=ho") == ["hi", "ho"]
        assert [each.rstrip() for each in world.shell.complete("demo__count t", 13)] == ["to="]

    async with in_shell(answers={"tools/list": {"tools": [{"name": "read"}]}}) as world:
        code, text = await world.fail("read a b")
        assert code == 2
        assert "call read …" in text
        code, text = await world.fail("read a=1 b=2")
        assert "tools/call 'read'" in text
