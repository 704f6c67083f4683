"""Transcripts read from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpclient.errors import UsageError
from mcpclient.net.recorder import Recorder
from mcpclient.transports.replaying import read_recording


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """F-SHOW-8"""
    path = tmp_path / "s.jsonl"
    recorder = Recorder(path)
    recorder.begin("stdio", "server")
    recorder.stderr_line("a line")
    (transcript,) = read_recording(path)
    assert (transcript.transport, transcript.records[0]["text"]) == ("stdio", "a line")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """F-SHOW-8"""
    with pytest.raises(UsageError, match="cannot read the recording"):
        read_recording(tmp_path / "none")
    (tmp_path / "image").write_bytes(b"\x89PNG\xff")
    with pytest.raises(UsageError, match="cannot read the recording"):
        read_recording(tmp_path / "image")
