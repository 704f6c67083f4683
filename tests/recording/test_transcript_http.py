"""The records of one HTTP request and its response."""

from __future__ import annotations

from mcpclient.framing.headers import Headers
from mcpclient.framing.http1 import ResponseHead
from mcpclient.recording.transcript import HttpChannel
from tests.recording.written import Written


def head(status: int = 200, kind: str = "application/json") -> ResponseHead:
    fields = [("Content-Type", kind), ("Set-Cookie", "a=s3cret"), ("Set-Cookie", "b=other")]
    return ResponseHead(status, "Fine", Headers(fields), "1.1")


class Channels(Written):
    """The channels of HTTP of a recorder."""

    def channel(self) -> HttpChannel:
        channel = self.recorder.writer.http_channel()
        channel.sent(b"GET /mcp?key=v HTTP/1.1\r\nHost: h\r\nX-Mine: s3cret\r\n\r\n")
        self.lines.clear()
        return channel


def test_events_are_written_as_they_come() -> None:
    """F-SHOW-8"""
    written = Channels()
    channel = written.channel()
    channel.head_received(head(kind="text/event-stream"))
    channel.body_received(b'data: {"id":1}\n')
    assert [record.get("event") for record in written.records] == [None]
    channel.body_received(b"\n: ping\n\ndata: ha")
    channel.end("closed")
    facts = [{**record, "http": None} for record in written.records[1:]]
    base = {"direction": "received", "channel": "http-1", "http": None}
    assert facts == [
        {**base, "event": {"data": {"id": 1}}},
        {**base, "event": {"": "ping"}},
        {**base, "text": "data: ha"},
        {**base, "direction": "sent", "end": "closed"},
    ]
