"""``record`` and ``replay`` of a session, and ``audit`` of a log."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from mcpclient.cli.main import main
from mcpclient.net.chained_log import ChainedLog
from mcpclient.testing import demo_server

SERVER = ["--", sys.executable, demo_server.__file__]

Capture = pytest.CaptureFixture[str]

# record


def methods(path: Path) -> list[str]:
    """The methods of the requests in a transcript."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        record["message"]["method"]
        for record in records
        if record.get("direction") == "sent" and "message" in record
    ]


@pytest.mark.parametrize("dashes", [[], ["--"]])
def test_the_command_does_what_it_does_otherwise(
    dashes: list[str], tmp_path: Path, capsys: Capture
) -> None:
    """F-SHOW-8: in both spellings."""
    path = tmp_path / "s.jsonl"
    assert main(["record", str(path), *dashes, "call", "echo", "message=hi", *SERVER]) == 0
    assert capsys.readouterr() == ("hi\n", "")
    assert methods(path) == ["server/discover", "tools/list", "tools/call"]
    assert main(["replay", str(path), "tools", "echo"]) == 0
    assert "mcpclient call SERVER echo" in capsys.readouterr().out


def test_failures_and_options_of_the_command(tmp_path: Path, capsys: Capture) -> None:
    """F-SHOW-2, F-SHOW-8: the exit code comes from the command."""
    path = str(tmp_path / "s.jsonl")
    assert main(["record", path, "--", "call", "nope", "--unchecked", "--json", *SERVER]) == 5
    assert json.loads(capsys.readouterr().out)["error"]["code"] == -32602
    assert main(["record", "--json", path, "--force", "call", "fail", *SERVER]) == 1
    assert json.loads(capsys.readouterr().out)["isError"] is True
    assert main(["record", "--force", path, "tools", "--", "no-such-command"]) == 3
    assert "never opened" in Path(path).read_text(encoding="utf-8")


def test_a_file_is_not_overwritten_by_accident(tmp_path: Path, capsys: Capture) -> None:
    """F-SHOW-8"""
    path = tmp_path / "s.jsonl"
    path.write_text("mine")
    assert main(["record", str(path), "ping", *SERVER]) == 2
    assert "exists; --force overwrites it" in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert main(["record", str(path), "--force", "ping", *SERVER]) == 0
    assert methods(path)[0] == "server/discover"


def test_any_command_can_be_traced(tmp_path: Path, capsys: Capture) -> None:
    """F-SHOW-6: --trace appends, and record does not."""
    path = tmp_path / "t.jsonl"
    for _ in range(2):
        assert main(["ping", "--trace", str(path), *SERVER]) == 0
    assert methods(path) == ["server/discover", "server/discover"] * 2
    assert main(["ping", "--trace", str(tmp_path), *SERVER]) == 2
    assert "cannot write the trace" in capsys.readouterr().err


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


def test_a_call_that_was_not_recorded_exits_with_2(recorded: str, capsys: Capture) -> None:
    """F-SHOW-2, F-SHOW-8: the error lists the recordings, and has a hint."""
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


@pytest.fixture
def path(tmp_path: Path) -> str:
    return os.fspath(tmp_path / "calls.jsonl")


def test_a_command_appends_to_the_log_which_is_shown_and_verified(
    path: str, capsys: Capture
) -> None:
    """F-AUDIT-1: a change is named, and the exit code is 1."""
    for _ in range(2):
        assert main(["call", "--audit", path, "echo", "message=hi", *SERVER]) == 0
    capsys.readouterr()
    assert main(["audit", "verify", path]) == 0
    assert capsys.readouterr().out.startswith("4 lines follow each other, the last is line 4\nhead")
    assert main(["audit", "show", path]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["TIME", "USER", "SERVER"]
    assert len(rows) == 4
    assert "tools/call" in rows[1] and "echo" in rows[1]
    content = Path(path).read_text("utf-8")
    Path(path).write_text(content.replace('"name":"echo"', '"name":"x"', 1), "utf-8")
    assert main(["audit", "verify", path]) == 1
    assert capsys.readouterr().out.endswith(
        "fault: calls.jsonl:2: this line was changed or inserted\n"
    )


def test_lines_that_were_cut_off_are_missed_without_a_hash_that_was_kept(
    path: str, capsys: Capture
) -> None:
    """F-AUDIT-1"""
    log = ChainedLog(path, 1 << 30)
    for name in ("a\x1b[2J", "b"):
        log.append({"kind": "call", "name": name})
    assert main(["audit", "verify", "--json", path]) == 0
    head = json.loads(capsys.readouterr().out)["head"]["hash"]
    Path(path).write_bytes(Path(path).read_bytes().splitlines(keepends=True)[0])
    assert main(["audit", "verify", path]) == 0
    assert main(["audit", "verify", "--head", head, path]) == 1
    assert "no line has the hash that was kept" in capsys.readouterr().out
    assert main(["audit", "show", path]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_forged_line_is_not_shown_like_the_others(path: str, capsys: Capture) -> None:
    """F-AUDIT-1: at the end without a line end, which `verify` takes for one under way, too."""
    ChainedLog(path, 1 << 30).append({"kind": "call", "name": "a"})
    line = Path(path).read_bytes()
    for forged in (line[:-1], line.replace(b'"a"', b'"b"'), b'{"kind":"call","name":"b"}'):
        Path(path).write_bytes(line + forged)
        assert main(["audit", "show", path]) == 0
        shown = capsys.readouterr()
        assert len(shown.out.splitlines()) == 2
        assert "calls.jsonl:2: not shown: this line is incomplete" in shown.err
