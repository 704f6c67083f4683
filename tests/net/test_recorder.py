"""Writing transcripts: headers, records, the channels of HTTP, and a disk that is full."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mcpclient.errors import ConnectionLost
from mcpclient.net.recorder import Recorder
from mcpclient.recording.transcript import read_transcripts
from tests.recording.written import Written
from tests.support.subprocesses import run_python


def test_records_are_redacted() -> None:
    """F-AUTH-12, F-SHOW-6"""
    written = Written()
    written.recorder.writer.record("sent", "stdio", {"message": {"password": "s3cret"}})
    written.recorder.writer.note_failure("stdio", ConnectionLost("lost ?token=s3cret"), answers=1)
    written.recorder.stderr_line("a line")
    assert written.records == [
        {"direction": "sent", "channel": "stdio", "message": {"password": "redacted-1"}},
        {
            "direction": "note",
            "channel": "stdio",
            "answers": 1,
            "error": {"type": "ConnectionLost", "text": "lost ?token=redacted-1"},
        },
        {"direction": "received", "channel": "stderr", "text": "a line"},
    ]


def test_a_trace_that_cannot_be_written_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """F-SHOW-6: and harms nothing."""

    def full(line: str) -> None:
        raise OSError("no space left on device")

    recorder = Recorder(full)
    loop: list[Any] = []
    loop.append(loop)
    for message in ({}, {"a": {1}}, {"a": loop}):
        recorder.writer.record("sent", "stdio", {"message": message})
    recorder.begin("stdio", "server")
    assert caplog.text.count("the trace could not be written") == 1


def test_clients_that_share_a_file_are_told_apart(tmp_path: Path) -> None:
    """F-SHOW-6, F-SHOW-8: their records may come in any order, and each may connect again."""
    path = tmp_path / "trace.jsonl"
    one, two = Recorder(path), Recorder(path)
    for number in (1, 2):
        one.begin("stdio", f"one {number}")
        two.begin("http", f"two {number}")
        one.writer.record("sent", "stdio", {"message": {"one": number}})
        two.writer.record("sent", "http-1", {"message": {"two": number}})
    with path.open(encoding="utf-8") as file:
        found = read_transcripts(file)
    assert [
        (each.header["target"], [record["message"] for record in each.records]) for each in found
    ] == [
        ("one 1", [{"one": 1}]),
        ("two 1", [{"two": 1}]),
        ("one 2", [{"one": 2}]),
        ("two 2", [{"two": 2}]),
    ]


def test_the_secrets_among_variables_are_known() -> None:
    """F-AUTH-12: all of 8 characters and more; what can be no variable is for others."""
    written = Written()
    variables: dict[Any, Any] = {
        "MY_KEY": "long-s3cret",
        "DATABASE": "db://u:other-s3cret@host",
        "MODE": "production",
        "WRONG": 5,
        6: "six",
    }
    written.recorder.learn(variables)
    written.recorder.stderr_line("long-s3cret other-s3cret production")
    text = written.records[0]["text"]
    assert re.fullmatch(r"redacted-\d+ redacted-\d+ redacted-\d+", text)


def test_a_message_of_any_depth_is_written(caplog: pytest.LogCaptureFixture) -> None:
    """F-SHOW-6, F-SHOW-8: as a note, where no reader could manage it."""
    written = Written()
    message: Any = {"password": "s3cret"}
    for _ in range(5000):
        message = [message]
    written.recorder.begin("stdio", "server?token=s3cret")
    written.recorder.writer.record("received", "stdio", {"message": {"id": 1, "result": message}})
    header, record = read_transcripts(written.lines)[0].header, written.records[1]
    assert header["target"] == "server?token=redacted-1"
    assert record["message"] == "(JSON nested too deeply to be written)"
    assert not caplog.text


def test_what_writes_is_loaded_for_the_first_target() -> None:
    """F-PACK-3: a client without a transcript does without half the package of recordings."""
    printed = run_python(
        """
        import sys
        from mcpclient.net.recorder import Recorder
        recorder = Recorder()
        recorder.learn({"MY_KEY": "long-s3cret"})
        recorder.begin("stdio", "server")
        print(Recorder.__module__.replace("net.recorder", "recording") in sys.modules)
        recorder.writer.add(print)
        recorder.stderr_line("long-s3cret")
        """
    )
    absent, header, line = filter(None, printed.splitlines())
    assert absent == "False"
    assert json.loads(header)["target"] == "server"
    assert json.loads(line)["text"] == "redacted-1"
