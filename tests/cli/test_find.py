"""``find`` over all configured servers, and the servers of other applications."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mcpclient.cli.main import main
from tests.cli.terminal import terminal

Capture = pytest.CaptureFixture[str]
DEMO = str(Path("mcpclient/testing/demo_server.py").resolve())
ENTRY = {"command": sys.executable, "args": [DEMO]}


def run(capsys: Capture, *words: str, code: int = 0) -> tuple[str, str]:
    assert main([*words]) == code
    return capsys.readouterr()


def test_all_that_fits_is_found_the_best_first(tmp_path: Path, capsys: Capture) -> None:
    """F-SHOW-21: tools, prompts and resources of all servers, as the manager ranks tools."""
    path = tmp_path / "servers.json"
    servers = {"demo": ENTRY, "down": {"command": "no-such-program"}}
    path.write_text(json.dumps({"mcpServers": servers}))
    found, errors = run(capsys, "find", "--config", str(path), "add", "numbers")
    assert found.splitlines()[1].split() == [
        "demo.add",
        *["tool", "of", "demo", "Add", "two", "numbers"],
    ]
    assert "down is not connected" in errors
    words = ["find", "--config", str(path), "--json"]
    haiku = json.loads(run(capsys, *words, "haiku")[0])["found"]
    assert [(each["kind"], each["server"], each["name"]) for each in haiku] == [
        ("prompt", "demo", "haiku")
    ]
    text = json.loads(run(capsys, *words, "short", "text", "--limit", "1")[0])["found"]
    assert [each["uri"] for each in text] == ["demo://readme"]
    assert run(capsys, "find", "--config", str(path), "zebra")[0] == "nothing fits\n"
    assert "needs words" in run(capsys, "find", "--config", str(path), code=2)[1]


def test_servers_of_other_applications(nothing_configured: Path, capsys: Capture) -> None:
    """F-SHOW-21, F-SAFE-2: they are listed without being started, and used once agreed to."""
    assert run(capsys, "servers", "--found")[0] == "no servers found\n"
    (nothing_configured / ".cursor").mkdir()
    file = nothing_configured / ".cursor" / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"demo": ENTRY}}))
    listed = json.loads(run(capsys, "servers", "--found", "--json")[0])["servers"]
    assert [(each["name"], each["status"]) for each in listed] == [
        ("demo@cursor", "needs_approval")
    ]
    assert "needs approval" in run(capsys, "call", "demo@cursor", "echo", "message=hi", code=2)[1]
    assert "no server 'demo@zed'" in run(capsys, "ping", "demo@zed", code=2)[1]
    words = ("call", "demo@cursor", "echo", "message=hi")
    with terminal(*words, cwd=nothing_configured) as session:
        session.wait_for("now and from now on? [y/N]")
        session.type("y\n")
        assert session.end() == 0
    assert run(capsys, *words)[0] == "hi\n"
