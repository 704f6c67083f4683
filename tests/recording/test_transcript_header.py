"""Records to lines, secrets replaced."""

from __future__ import annotations

import json

from mcpclient import __version__
from mcpclient.errors import ConnectionLost
from mcpclient.recording.redaction import Redactor
from mcpclient.recording.transcript import HttpChannel, error_facts, header, write_line


def test_a_secret_once_seen_is_replaced_in_all_that_follows() -> None:
    """F-SHOW-8, F-AUTH-12: in records, and in the texts of exceptions."""
    redactor = Redactor()
    redactor.learn({"MY_KEY": "long-s3cret"})
    begun = header("stdio", "server", "2026-01-01T00:00:00Z")
    assert (begun["transcript"], begun["by"]) == (1, f"mcpclient {__version__}")
    line = write_line(redactor.record({**begun, "target": "long-s3cret"}))
    assert line.endswith("\n")
    assert json.loads(line)["target"] == "redacted-1"
    facts = error_facts(ConnectionLost("lost long-s3cret"), redactor)
    assert "s3cret" not in write_line(redactor.record({"error": facts}))


def test_a_channel_writes_to_the_records_it_was_given() -> None:
    """F-SHOW-8"""
    records = Records()
    channel = HttpChannel(records, "http-1")
    assert channel.name == "http-1"
    channel.sent(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    channel.end("lost", ConnectionLost("gone"))
    assert records.written == ["sent http-1", "note http-1"]


class Records:
    def __init__(self) -> None:
        self.written: list[str] = []

    def record(self, direction: str, channel: str, facts: object) -> None:
        self.written.append(f"{direction} {channel}")

    def note_failure(self, channel: str, error: BaseException, **facts: object) -> None:
        self.written.append(f"note {channel}")
