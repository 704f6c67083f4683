"""``replay``: a command on a recorded session, without the server; and what was recorded."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from mcpclient.cli.main import main
from tests.support.subprocesses import TOP

SERVER = ["--", sys.executable, str(TOP / "mcpclient" / "testing" / "demo_server.py")]

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with one call."""
    path = str(tmp_path_factory.mktemp("recorded") / "s.jsonl")
    with redirect_stdout(io.StringIO()):
        assert main(["record", path, "call", "--unchecked", "echo", "message=hi", *SERVER]) == 0
    return path


@pytest.mark.parametrize(
    "words",
    [
        ["call", "echo", "message=hi"],
        ["--", "call", "echo", "message=hi"],
        ["call", "http://127.0.0.1:1/mcp", "echo", "message=hi", "--header", "A: b"],
        ["--", "call", "echo", "message=hi", "--env", "A=b", "--cwd", "/", "--", "no-such-command"],
    ],
)
def test_the_command_gives_what_it_gave(words: list[str], recorded: str, capsys: Capture) -> None:
    """F-SHOW-8: nothing is started; what names the server may stay, or not."""
    assert main(["replay", recorded, *words]) == 0
    assert capsys.readouterr() == ("hi\n", "")


def test_json_and_debugging(recorded: str, capsys: Capture) -> None:
    """F-SHOW-2"""
    assert main(["replay", recorded, "call", "--json", "echo", "message=hi"]) == 0
    assert json.loads(capsys.readouterr().out)["content"][0]["text"] == "hi"
    assert main(["replay", recorded, "--json", "info"]) == 0
    assert json.loads(capsys.readouterr().out)["transport"] == "replay"


def test_a_call_that_was_not_recorded_exits_with_2(recorded: str, capsys: Capture) -> None:
    """F-SHOW-2, F-SHOW-8: it says what is there, and what to do."""
    assert main(["replay", recorded, "call", "echo", "message=ho"]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith('error: tools/call {"name": "echo", "arguments": {"message": "ho"}}')
    assert '"message": "hi"' in errors
    assert "Record the session again" in errors
    assert main(["replay", recorded, "--json", "tools"]) == 2
    assert json.loads(capsys.readouterr().out)["error"] == {
        "type": "NotRecorded",
        "text": "tools/list is not in the recording s.jsonl, nor is any other tools/list",
        "hint": "Record the session again, with this call.",
        "cure": "Record the session again, with this call.",
        "recording": "s.jsonl",
        "method": "tools/list",
        "params": None,
        "recorded": [],
    }


def test_without_a_command_it_shows_what_was_recorded(recorded: str, capsys: Capture) -> None:
    """F-SHOW-8"""
    assert main(["replay", recorded]) == 0
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["REQUEST", "ARGUMENTS", "TIME", "OUTCOME"]
    assert first.split()[::3] == ["server/discover", "ok"]
    assert second.startswith('tools/call echo  {"message": "hi"}  ')
    assert second.endswith(" s  ok")
    assert main(["replay", recorded, "--json"]) == 0
    calls = json.loads(capsys.readouterr().out)["calls"]
    assert calls[1].pop("seconds") >= 0
    assert calls[1] == {
        "method": "tools/call",
        "name": "echo",
        "arguments": {"message": "hi"},
        "outcome": "ok",
    }


def test_every_outcome_has_words(tmp_path: Path, capsys: Capture) -> None:
    """F-SHOW-3, F-SHOW-8: what a server said is escaped."""
    number = iter(range(1, 100))
    records: list[dict[str, Any]] = []

    def ask(method: str, params: Any, *answer: dict[str, Any]) -> None:
        request = {"jsonrpc": "2.0", "id": next(number), "method": method, "params": params}
        records.append({"direction": "sent", "message": request})
        for facts in answer:
            message = {"message": {"id": request["id"], **facts}} if "error" not in facts else facts
            direction = "note" if "answers" in facts else "received"
            records.append({"direction": direction, **message})

    refused = {"jsonrpc": "2.0", "id": 9, "error": {"code": -1, "message": "no \x1b[31m"}}
    head = {"method": "POST", "target": "/mcp", "headers": []}
    ask("initialize", {"protocolVersion": "2025-11-25"}, {"result": {}})
    ask("resources/read", {"uri": "a:b", "_meta": {}}, {"result": {}})
    ask("tools/call", {"name": "t", "arguments": {}}, {"result": {"isError": True}})
    ask("tools/call", {"name": "t", "more": 1})
    ask("x", [1], {"answers": 5, "error": {"type": "ConnectionLost", "text": "gone"}})
    records.append({"direction": "sent", "message": {**refused, "method": "y"}})
    records.append({"direction": "received", "message": refused})
    records.append(
        {
            "direction": "sent",
            "channel": "http-1",
            "http": head,
            "message": {"jsonrpc": "2.0", "id": 10, "method": "z"},
        }
    )
    records.append({"direction": "received", "channel": "http-1", "http": {"status": 503}})
    path = tmp_path / "s.jsonl"
    lines = [{"time": 0, "channel": "stdio", **record} for record in records]
    text = "".join(json.dumps(value) + "\n" for value in [{"transcript": 1}, *lines])
    path.write_text(text, encoding="utf-8")
    assert main(["replay", str(path)]) == 0
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [
        "initialize 2025-11-25 0.000 s ok",
        "resources/read a:b 0.000 s ok",
        "tools/call t 0.000 s the tool failed",
        'tools/call t {"more": 1} no answer',
        "x 0.000 s gone",
        "y 0.000 s error -1: no \\x1b[31m",
        "z 0.000 s HTTP 503",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "cannot read the recording"),
        ('{"transcript": 9}\n', "this reader knows version 1"),
        ("", "the transcript is empty"),
    ],
)
def test_a_file_that_is_none(
    text: str | None, reason: str, tmp_path: Path, capsys: Capture
) -> None:
    """F-SHOW-2, F-SHOW-8"""
    path = tmp_path / "s.jsonl"
    if text is not None:
        path.write_text(text)
    assert main(["replay", str(path), "tools"]) == 2
    assert reason in capsys.readouterr().err


def test_a_session_in_which_nothing_was_asked(tmp_path: Path, capsys: Capture) -> None:
    """F-SHOW-8"""
    path = tmp_path / "s.jsonl"
    path.write_text('{"transcript": 1}\n')
    assert main(["replay", str(path)]) == 0
    assert capsys.readouterr().out == "this session has no calls\n"
