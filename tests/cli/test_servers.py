"""Configured servers on the command line: by name, listed, found, locked."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient.cli.help import complete
from mcpclient.cli.main import main
from mcpclient.gate.gate import Gate
from tests.cli.odd_servers import FINE, offering
from tests.cli.terminal import terminal
from tests.support.subprocesses import TOP

DEMO = str(TOP / "mcpclient" / "testing" / "demo_server.py")
ENTRY: dict[str, Any] = {"command": sys.executable, "args": [DEMO]}
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _project(nothing_configured: Path) -> Path:
    return nothing_configured


def run(capsys: Capture, *words: str, code: int = 0) -> tuple[str, str]:
    assert main(list(words)) == code, capsys.readouterr()
    return capsys.readouterr()


def add_demo(capsys: Capture, *more: str) -> None:
    run(capsys, "add", "demo", *more, "--", sys.executable, DEMO)


def configured(file: str, **servers: Any) -> None:
    Path(file).write_text(json.dumps({"mcpServers": servers}))


def test_a_server_is_added_used_by_its_name_and_removed(capsys: Capture) -> None:
    """F-SHOW-1, F-MANY-7: in the user's file, which needs no agreement."""
    add_demo(capsys, "--scope", "user")
    assert run(capsys, "call", "demo", "echo", "message=5")[0] == "5\n"
    assert complete(["zsh", "mcpclient call demo ec"]) == "echo\n"  # it has been seen
    assert run(capsys, "servers", "--no-connect")[0].splitlines()[-1].startswith("demo ")
    run(capsys, "remove", "demo", "--scope", "user")
    assert "no server is configured" in run(capsys, "servers")[0]


@pytest.mark.slow
def test_a_disabled_server_is_used_when_it_is_named(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-MANY-2, F-SHOW-2: and said, apart from the result; with all others it stays away."""
    entry = {**ENTRY, "disabled": True}
    file = "team.json"
    configured(file, demo=entry)
    said = "'demo' is disabled in "
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    for words in (
        ("call", "demo", "echo", "message=hi"),
        ("shell", "demo"),
        ("doctor", "demo"),
        ("ping", "demo"),
    ):
        _, errors = run(capsys, words[0], "--config", file, *words[1:])
        assert errors.count(said) == 1 and file in errors, errors
    (row,) = run(capsys, "servers", "--config", file)[0].splitlines()[1:]
    assert row.split()[:2] == ["demo", "disabled"]


@pytest.mark.slow
def test_a_name_that_looks_like_a_path(capsys: Capture) -> None:
    """F-MANY-7, F-SHOW-1: as VS Code's gallery gives them; a file that is there comes first."""
    servers = dict.fromkeys(("maker/demo", "d.py"), ENTRY)
    configured("all.json", **servers)
    for name in servers:
        assert "echo" in run(capsys, "tools", name, "--config", "all.json")[0]
        assert complete(["zsh", f"mcpclient call --config all.json {name} ec"]) == "echo\n"
    assert "./no/such.py" in run(capsys, "tools", "./no/such.py", "--config", "all.json", code=3)[1]
    add_demo(capsys, "--scope", "user")
    run(capsys, "add", "maker/demo", "--scope", "user", "--", sys.executable, DEMO)
    assert "echo" in run(capsys, "tools", "maker/demo")[0]
    Path("maker").mkdir()
    Path("maker/demo").write_text("")
    assert "cannot start" in run(capsys, "tools", "maker/demo", code=3)[1]


def test_a_projects_server_needs_approval(capsys: Capture) -> None:
    """F-MANY-7, F-SHOW-1: without a terminal no user is asked; a named file is vouched for."""
    add_demo(capsys)
    _, errors = run(capsys, "tools", "demo", code=2)
    assert "'demo' needs approval" in errors
    assert "demo --config " in errors
    assert "echo" in run(capsys, "tools", "demo", "--config", ".mcp.json")[0]
    shown = json.loads(run(capsys, "servers", "--json")[0])
    (server,) = shown["servers"]
    assert (server["name"], server["status"], server["scope"]) == (
        "demo",
        "needs_approval",
        "project",
    )


def test_all_that_a_server_would_start_with_is_shown(capsys: Capture) -> None:
    """F-SAFE-2, F-SHOW-1: while it waits for the user, in the list and as JSON."""
    entry = {"command": "x", "args": ["./srv.py"], "env": {"PYTHONPATH": "./evil\x1b[2K"}}
    configured(".mcp.json", demo=entry)
    Path("srv.py").write_text("")
    for words in (["servers"], ["servers", "--no-connect"]):
        out, _ = run(capsys, *words)
        assert "demo would start with:\n  command: x ./srv.py\n" in out
        assert "  env PYTHONPATH: ./evil" in out
        assert "srv.py: " in out
        assert "\x1b" not in out
    (server,) = json.loads(run(capsys, "servers", "--json")[0])["servers"]
    assert server["sheet"]["fields"]["command"] == "x ./srv.py"
    assert [Path(each["path"]).name for each in server["sheet"]["files"]] == ["srv.py"]


def test_the_shell_is_given_the_entry_itself(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SAFE-1: so that its file is read again when it is connected again."""
    file = "team.json"
    configured(file, demo=ENTRY)
    lines = io.StringIO("echo message=hi\n")
    monkeypatch.setattr(sys, "stdin", lines)
    admitted = []
    judge = Gate.admit

    def admit(gate: Gate, server: Any, **how: Any) -> Any:
        admitted.append((server.name, server.judge_again is not None))
        return judge(gate, server, **how)

    monkeypatch.setattr(Gate, "admit", admit)
    assert "hi" in run(capsys, "shell", "--config", file, "demo")[0]
    assert admitted == [("demo", True)]


def test_the_status_of_all(capsys: Capture) -> None:
    """F-SHOW-1, F-MANY-2: those that work, and why the others do not."""
    add_demo(capsys, "--config", "all.json")
    run(capsys, "add", "gone", "--config", "all.json", "--", "no-such-command-here")
    out, errors = run(capsys, "servers", "--config", "all.json")
    demo, gone = out.splitlines()[1:]
    assert demo.split()[:2] == ["demo", "connected"]
    assert "4 tools of" in demo
    assert gone.split()[:2] == ["gone", "failed"]
    assert gone.endswith("no such command")
    assert errors == "what to do about it: mcpclient doctor --config all.json gone\n"
    shown = json.loads(run(capsys, "servers", "--config", "all.json", "--json")[0])
    assert [each.get("tools") for each in shown["servers"]] == [4, None]
    idle = json.loads(run(capsys, "servers", "--config", "all.json", "--no-connect", "--json")[0])
    assert [each["status"] for each in idle["servers"]] == ["ready", "ready"]


@pytest.mark.needs_posix
def test_a_file_that_cannot_be_looked_at(capsys: Capture) -> None:
    """F-MANY-7: it is there, or may be."""
    Path("loop.json").symlink_to("loop.json")
    _, errors = run(capsys, "tools", "a", "--config", "loop.json", code=2)
    assert "loop.json: it cannot be read: " in errors
    assert "no file 'bad/x.json'" in run(capsys, "tools", "a", "--config", "bad/x.json", code=2)[1]


@pytest.mark.parametrize(
    ("words", "times"), [(["tools", "demo"], 1), (["doctor", "demo"], 0), (["ping", "demo"], 1)]
)
def test_what_is_wrong_with_a_server_is_said_where_it_is_used(
    words: list[str], times: int, capsys: Capture
) -> None:
    """F-MANY-8, F-SHOW-1: of this server only; ``doctor`` has it in its report."""
    demo = {**ENTRY, "env": {"TOKEN": "${NOT_SET_ANYWHERE}"}}
    other = {"command": "x", "env": {"OTHER": "${NOT_SET_ANYWHERE}"}}
    configured("all.json", demo=demo, other=other)
    out, errors = run(capsys, *words, "--config", "all.json")
    said = "all.json:1: warning: demo.env.TOKEN: ${NOT_SET_ANYWHERE} has no value"
    assert errors.count(said) == times
    assert ("config   warning  " + said in out) is (times == 0)
    assert "OTHER" not in out + errors


def test_a_reason_and_a_cure_are_said_once(capsys: Capture) -> None:
    """F-MANY-2, F-SHOW-22: a server that fails takes one line, and doctor has its hint."""
    mute = {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"]}
    servers = {"gone": {"command": "no-such-command-here"}, "kept": {"command": "x"}, "mute": mute}
    settings = {"mcpServers": servers, "mcp": {"excluded": ["kept"]}}
    Path(".gemini").mkdir()
    Path(".gemini/settings.json").write_text(json.dumps(settings))
    out, errors = run(capsys, "servers", "--config", ".gemini/settings.json", "--timeout", "0.2")
    gone, kept, mute_row = out.splitlines()[1:]
    assert gone.endswith("no such command") and "settings.json gone" in errors
    assert kept.split(None, 3)[1::2] == ["denied", "mcp.excluded of its file names it"]
    assert "not connected within 0.2 s" in mute_row


def test_tools_are_locked_and_compared(capsys: Capture) -> None:
    """F-MANY-16: exit code 1 and the difference, for CI."""
    add_demo(capsys, "--config", "c.json")
    config = ("--config", "c.json")
    assert run(capsys, "lock", *config)[0] == "locked 4 tools of demo\n"
    assert run(capsys, "lock", "--check", *config)[0] == "nothing differs from the lock\n"
    path = Path("mcp.lock")
    locked = json.loads(path.read_text())
    tools = locked["servers"]["demo"]["tools"]
    tools["echo"]["definition"]["description"] = "Harmless\x1b[2J"
    del tools["add"]
    path.write_text(json.dumps(locked))
    out, _ = run(capsys, "lock", "--check", *config, code=1)
    assert "demo: tool 'add': it is not in the lock file (review it; to accept it" in out
    assert '-  "description": "Harmless\\u001b[2J",' in out.splitlines()
    assert "\x1b" not in out
    found = json.loads(run(capsys, "lock", "--check", "--json", *config, code=1)[0])
    assert [each["kind"] for each in found["servers"]["demo"]] == ["added", "changed"]


CHOOSY = f"""
import sys; sys.path.insert(0, {str(TOP)!r})
from tests.support.mcp_server import OpenedServer, serve_stdio
class Server(OpenedServer):
    def receive(self, message, send):
        if message.get("method") == "initialize":
            able = message["params"]["capabilities"]
            self.answers["tools/list"] = {{"tools": [
                {{"name": each, "inputSchema": {{"type": "object"}}}} for each in sorted(able)
            ]}}
        super().receive(message, send)
serve_stdio(Server("handshake", "2025-11-25", capabilities={{"tools": {{}}}}))
"""


def test_a_lock_covers_what_any_command_can_reach(capsys: Capture) -> None:
    """F-MANY-16: servers offer more tools to clients that can do more."""
    configured("c.json", choosy={"command": sys.executable, "args": ["-c", CHOOSY]})
    run(capsys, "lock", "--config", "c.json")
    locked = {*json.loads(Path("mcp.lock").read_text())["servers"]["choosy"]["tools"]}
    assert {"elicitation", "roots", "sampling"} <= locked
    reached = json.loads(run(capsys, "tools", "--config", "c.json", "choosy", "--json")[0])["tools"]
    assert {each["name"] for each in reached} <= locked


@pytest.mark.slow
def test_invisible_text_is_told_where_tools_are_listed_and_locked(capsys: Capture) -> None:
    """F-SAFE-12: with its place and its position."""
    command = offering([{**FINE, "description": "a\u200b"}])[1:]
    entry = {"command": command[0], "args": command[1:]}
    Path("c.json").write_text(json.dumps({"mcpServers": {"s": entry}}))
    told = "t: description: 1 invisible character: U+200B ZERO WIDTH SPACE at 1\n"
    config = ("--config", "c.json")
    for words in (["tools", "s", *config], ["tools", "s", "t", *config]):
        assert told in run(capsys, *words)[1]
    for words in (["lock", *config], ["lock", "--check", *config]):
        assert f"s: {told}" in run(capsys, *words)[1]


@pytest.mark.slow
def test_what_a_lock_is_compared_with_is_told_once(capsys: Capture) -> None:
    """F-MANY-16: no file, a broken one, a server that is gone, new or down; and the others."""
    add_demo(capsys, "--config", "c.json")
    config = ("--config", "c.json")
    assert "there is no lock file mcp.lock" in run(capsys, "lock", "--check", *config, code=2)[1]
    Path("mcp.lock").write_text("{")
    told = run(capsys, "lock", "--check", *config, code=2)[1]
    assert "cannot read the lock file" in told and "Restore the file" in told
    Path("mcp.lock").unlink()
    run(capsys, "lock", *config)
    locked = json.loads(Path("mcp.lock").read_text())
    locked["servers"]["old"] = locked["servers"]["demo"]
    Path("mcp.lock").write_text(json.dumps(locked))
    run(capsys, "add", "down", *config, "--", "no-such-command-here")
    run(capsys, "add", "new", *config, "--", sys.executable, DEMO)
    lines = run(capsys, "lock", "--check", *config, code=1)[0].splitlines()
    assert lines.pop(0) == "unchanged: demo"
    assert [line.partition(":")[0] for line in lines] == ["old", "new", "down"]
    assert lines[0] == (
        "old: is locked, but not configured (configure it again, or delete its entry from the "
        "lock file)"
    )
    assert "is not in the lock file" in lines[1] and "mcpclient lock new)" in lines[1]
    assert lines[2] == "down: its tools are not known: no such command"
    found = json.loads(run(capsys, "lock", "--check", "--json", *config, code=1)[0])
    kinds = {name: [each["kind"] for each in told] for name, told in found["servers"].items()}
    assert kinds == {"old": ["gone"], "new": ["added"], "down": ["unreachable"]}
    out = run(capsys, "lock", *config, code=1)[0].splitlines()
    assert out[:2] == ["locked 4 tools of demo", "locked 4 tools of new"]
    assert out[2].startswith("down: its tools are not known: ")
    assert sorted(json.loads(Path("mcp.lock").read_text())["servers"]) == ["demo", "new", "old"]


def test_a_server_that_cannot_be_locked(capsys: Capture) -> None:
    """F-MANY-16: a lost connection is not an answer."""
    run(capsys, "add", "gone", "--config", "c.json", "--", "no-such-command-here")
    assert "no such command" in run(capsys, "lock", "--config", "c.json", code=3)[1]
    run(capsys, "add", "mine", "--", "x")
    assert "agreed" in run(capsys, "lock", "mine", code=2)[1]


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


@pytest.mark.slow
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
        session.reply("now and from now on? [y/N]", "y\n")
        assert session.end() == 0
    assert run(capsys, *words)[0] == "hi\n"
