"""Agreement to servers of files: F-SHOW-23."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient.cli.main import main
from tests.cli.terminal import terminal
from tests.support.subprocesses import TOP

Capture = pytest.CaptureFixture[str]
DEMO = str(TOP / "mcpclient" / "testing" / "demo_server.py")


@pytest.fixture(autouse=True)
def project(nothing_configured: Path) -> Path:
    demo = {"command": sys.executable, "args": [DEMO], "env": {"A": "\x1b[2J"}}
    other = {"url": "https://h.example/mcp"}
    (nothing_configured / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"demo": demo, "other": other}})
    )
    folder = Path(os.environ["HOME"], ".cursor")
    folder.mkdir(parents=True)
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"demo": demo}}))
    return nothing_configured


def listed(capsys: Capture) -> dict[str, bool]:
    assert main(["approve", "--list", "--json"]) == 0
    servers: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["servers"]
    return {each["name"]: each["agreed"] for each in servers}


@pytest.mark.needs_posix
def test_all_that_would_start_is_shown_and_asked_about_once(capsys: Capture) -> None:
    """F-SHOW-23: and it can be taken back, one by one or as a whole."""
    assert listed(capsys) == {"demo": False, "other": False, "demo@cursor": False}
    with terminal("approve", "--all") as session:
        session.wait_for("env A: \\x1b[2J")
        session.reply("Agree to these 2 servers, now and from now on? [y/N]", "y\n")
        session.wait_for("agreed to demo, other")
        assert session.end() == 0
    assert session.shown.count("[y/N]") == 1
    assert listed(capsys) == {"demo": True, "other": True, "demo@cursor": False}
    assert main(["tools", "demo"]) == 0
    assert main(["approve", "--revoke", "demo"]) == 0
    capsys.readouterr()
    assert listed(capsys) == {"demo": False, "other": True, "demo@cursor": False}
    with terminal("approve", "demo@cursor") as session:
        session.reply("Agree to it, now and from now on? [y/N]", "y\n")
        assert session.end() == 0
    assert main(["approve", "--revoke", "--all"]) == 0
    assert "took back 2 agreements" in capsys.readouterr().out
    assert not any(listed(capsys).values())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["approve"], "or --all; waiting are: demo, other"),
        (["approve", "demo"], "approve asks on a terminal, and here is none"),
        (["tools", "demo"], "or vouch for its file by naming it: demo --config "),
    ],
)
def test_without_a_terminal_nothing_is_agreed_to(
    words: list[str], said: str, capsys: Capture
) -> None:
    """F-SHOW-23: a script of the project cannot agree to it."""
    assert main(words) == 2
    assert said in capsys.readouterr().err
    assert not any(listed(capsys).values())
