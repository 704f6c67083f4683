"""Writing transcripts: headers, records, the channels of HTTP, and a disk that is full."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient import __version__
from mcpclient.cli.parsing import check_logs
from mcpclient.errors import ConnectionLost
from mcpclient.net.recorder import Recorder
from mcpclient.recording.transcript import read_transcripts
from mcpclient.transports.replaying import read_recording
from tests.recording.written import Written
from tests.support.subprocesses import run_python


def test_a_connection_begins_with_a_header() -> None:
    """F-SHOW-8"""
    written = Written()
    written.recorder.begin("stdio", "server")
    header = json.loads(written.lines[0])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", header.pop("recorded"))
    assert header == {
        "transcript": 1,
        "transport": "stdio",
        "target": "server",
        "by": f"mcpclient {__version__}",
    }


def test_records_are_redacted() -> None:
    """F-AUTH-12, F-SHOW-6"""
    written = Written()
    written.recorder.record("sent", "stdio", {"message": {"password": "s3cret"}})
    written.recorder.note_failure("stdio", ConnectionLost("lost ?token=s3cret"), answers=1)
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


def test_a_file_is_appended_to_and_read(tmp_path: Path) -> None:
    """F-SHOW-8: each line is there at once, whatever becomes of the program."""
    path = tmp_path / "s.jsonl"
    for name in ("a", "b"):
        recorder = Recorder(path)
        recorder.begin("stdio", name)
        recorder.record("received", "stdio", {"message": {"text": "\ud800 é"}})
        assert path.read_bytes().endswith(b'\\ud800 \xc3\xa9"}}\n')
    transcripts = read_recording(str(path))
    assert [transcript.header["target"] for transcript in transcripts] == ["a", "b"]
    assert transcripts[1].records[0]["message"] == {"text": "\ud800 é"}


def test_a_trace_that_cannot_be_written_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """F-SHOW-6: and harms nothing."""

    def full(line: str) -> None:
        raise OSError("no space left on device")

    recorder = Recorder(full)
    loop: list[Any] = []
    loop.append(loop)
    for message in ({}, {"a": {1}}, {"a": loop}):
        recorder.record("sent", "stdio", {"message": message})
    recorder.begin("stdio", "server")
    assert caplog.text.count("the trace could not be written") == 1


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
    written.recorder.record("received", "stdio", {"message": {"id": 1, "result": message}})
    header, record = read_transcripts(written.lines)[0].header, written.records[1]
    assert header["target"] == "server?token=redacted-1"
    assert record["message"] == "(JSON nested too deeply to be written)"
    assert not caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes")
def test_a_trace_is_for_its_owner_only(tmp_path: Path) -> None:
    """F-AUTH-12: also one that others could read before, and the one that `--trace` tries out."""
    new, old, tried = tmp_path / "new", tmp_path / "old", tmp_path / "tried"
    old.write_text("")
    old.chmod(0o644)
    for path in (new, old):
        Recorder(path).stderr_line("x")
    check_logs(str(tried))
    assert [path.stat().st_mode & 0o777 for path in (new, old, tried)] == [0o600] * 3
    assert len(old.read_text().splitlines()) == 1


def test_a_recorder_without_a_target_does_nothing() -> None:
    """F-SHOW-10: no record is made, and no secret looked for."""
    recorder = Recorder()
    recorder.begin("stdio", "server")
    recorder.record("sent", "stdio", {"message": object()})
    recorder.note_failure("stdio", ConnectionLost("lost"))
    assert not recorder.is_on


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
        recorder.add(print)
        recorder.stderr_line("long-s3cret")
        """
    )
    absent, header, line = filter(None, printed.splitlines())
    assert absent == "False"
    assert json.loads(header)["target"] == "server"
    assert json.loads(line)["text"] == "redacted-1"


def test_targets_come_and_go() -> None:
    """F-SHOW-10: each begins with the header, and hears what comes after it."""
    first = Written()
    second: list[str] = []
    recorder = first.recorder
    recorder.begin("stdio", "server")
    recorder.stderr_line("one")
    opening = ({"id": 1, "method": "initialize"}, {"id": 1, "result": {"token": "s3cret"}})
    end = recorder.add(second.append, opening, ["zero"])
    recorder.stderr_line("two")
    end()
    recorder.stderr_line("three")
    assert len(first.lines) == 4
    header, request, answer, before, line = map(json.loads, second)
    assert header == json.loads(first.lines[0])
    assert (request["direction"], request["channel"]) == ("sent", "recalled")
    assert answer["message"]["result"] == {"token": "redacted-1"}
    assert (before["channel"], before["text"], before["recalled"]) == ("stderr", "zero", True)
    assert line["text"] == "two"
    assert "recalled" not in line


def test_a_target_that_fails_does_not_silence_the_others() -> None:
    """F-SHOW-10"""

    def fail(line: str) -> None:
        raise OSError("disk full")

    written = Written()
    end = written.recorder.add(fail)
    written.recorder.stderr_line("a line")
    end()
    assert [record["text"] for record in written.records] == ["a line"]
