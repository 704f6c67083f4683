"""F-SHOW-6, F-SHOW-8: what passes through a transport is written down, secrets replaced."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.errors import ConnectFailed, ConnectionLost, ProtocolViolation, UsageError
from mcpclient.net.recorder import Recorder
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.base import Abandoned, Receiver, Transport
from mcpclient.transports.recording import RecordingTransport, recorded
from tests.support.virtual_time import run
from tests.transports.receivers import RecordingReceiver


class Scripted(Transport):
    """Keeps what is sent; opens and sends as it is told."""

    name = "ws"
    carries_headers = True

    def __init__(self, fails: Exception | None = None) -> None:
        self.sent: list[Outgoing] = []
        self.listening: Mapping[str, str] | None = None
        self.ended: list[str] = []
        self._fails = fails

    @property
    def description(self) -> str:
        return "wss://host/mcp"

    @property
    def has_unread(self) -> bool:
        return bool(self.sent)

    async def open(self, receiver: Receiver) -> None:
        if isinstance(self._fails, ConnectFailed):
            raise self._fails

    def send(self, outgoing: Outgoing) -> None:
        if self._fails is not None:
            raise self._fails
        self.sent.append(outgoing)

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        return Abandoned.STREAM_CLOSED

    async def listen(self, headers: Mapping[str, str]) -> None:
        self.listening = headers

    async def close(self) -> None:
        self.ended.append("closed")

    def abort(self) -> None:
        self.ended.append("aborted")


class Taped:
    """A scripted transport, recorded."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.lines: list[str] = []
        self.inner = Scripted(fails)
        self.receiver = RecordingReceiver()
        recording = recorded(self.inner, Recorder(self.lines.append))
        assert isinstance(recording, RecordingTransport)
        self.transport = recording

    @property
    def records(self) -> list[dict[str, Any]]:
        records = [json.loads(line) for line in self.lines]
        assert records.pop(0)["target"] == "wss://host/mcp"
        for record in records:
            assert record.pop("channel") == "websocket"
            del record["time"]
        return records


def test_what_is_not_recorded_is_left_alone() -> None:
    inner = Scripted()
    lines: list[str] = []
    assert recorded(inner, None) is inner
    inner.records_itself = True
    assert recorded(inner, Recorder(lines.append)) is inner
    assert json.loads(lines[0])["transport"] == "ws"


def test_messages_pass_both_ways_and_are_written_down() -> None:
    """F-SHOW-6, F-AUTH-12"""
    taped = Taped()

    async def main() -> None:
        await taped.transport.open(taped.receiver)
        await taped.transport.listen({"a": "b"})
        outgoing = Outgoing({"id": 1, "method": "login", "params": {"password": "s3cret"}})
        assert taped.transport.send(outgoing) is None
        assert taped.inner.sent == [outgoing] and taped.transport.has_unread
        answer = {"id": 1, "result": {"api_key": "other"}}
        taped.transport.message_received(answer)
        assert taped.receiver.messages == [answer]
        assert taped.transport.abandon(outgoing) is Abandoned.STREAM_CLOSED
        await taped.transport.close()
        await taped.transport.close()
        taped.transport.abort()

    run(main())
    assert taped.inner.listening == {"a": "b"}
    assert taped.inner.ended == ["closed", "closed", "aborted"]
    assert (taped.transport.name, taped.transport.description) == ("ws", "wss://host/mcp")
    assert taped.transport.carries_headers
    assert taped.records == [
        {
            "direction": "sent",
            "message": {"id": 1, "method": "login", "params": {"password": "redacted-1"}},
        },
        {"direction": "received", "message": {"id": 1, "result": {"api_key": "redacted-2"}}},
        {"direction": "note", "abandoned": 1},
        {"direction": "sent", "end": "closed"},
    ]


def test_failures_are_notes() -> None:
    """F-SHOW-8"""
    taped = Taped()
    violation, lost = ProtocolViolation("bad"), ConnectionLost("gone")

    async def main() -> None:
        await taped.transport.open(taped.receiver)
        taped.transport.message_rejected(violation, None)
        taped.transport.request_failed(2, lost)
        taped.transport.channel_lost(lost)
        taped.transport.connection_lost(lost)
        await taped.transport.close()

    run(main())
    assert taped.receiver.rejected == [(violation, None)]
    assert taped.receiver.failed == [(2, lost)]
    assert (taped.receiver.deaf, taped.receiver.lost) == ([lost], [lost])
    bad = {"type": "ProtocolViolation", "text": "bad"}
    gone = {"type": "ConnectionLost", "text": "gone"}
    assert taped.records == [
        {"direction": "note", "error": bad},
        {"direction": "note", "answers": 2, "error": gone},
        {"direction": "note", "end": "lost", "error": gone},
    ]


def test_the_end_after_closing_is_no_news() -> None:
    taped = Taped()

    async def main() -> None:
        await taped.transport.open(taped.receiver)
        await taped.transport.close()
        taped.transport.connection_lost(ConnectionLost("it was closed"))

    run(main())
    assert taped.records == [{"direction": "sent", "end": "closed"}]


def test_a_transport_that_cannot_be_opened() -> None:
    """F-SHOW-8"""
    taped = Taped(ConnectFailed("wss://host/mcp", "refused"))

    async def main() -> None:
        with pytest.raises(ConnectFailed):
            await taped.transport.open(taped.receiver)
        await taped.transport.close()

    run(main())
    (record,) = taped.records
    assert (record["end"], record["error"]["reason"]) == ("never opened", "refused")


def test_a_message_that_cannot_be_sent() -> None:
    """F-SHOW-8: it is written down, and that it was refused."""
    taped = Taped(UsageError("no JSON"))
    with pytest.raises(UsageError):
        taped.transport.send(Outgoing({"id": 1, "method": "x"}))
    first, second = taped.records
    assert (first["direction"], second["answers"]) == ("sent", 1)
    assert second["error"] == {"type": "UsageError", "text": "no JSON"}


def test_a_recorder_that_is_off_is_not_put_in_between() -> None:
    """F-SHOW-10: watching a client costs nothing before anybody does."""
    transport = Scripted()
    recorder = Recorder()
    assert recorded(transport, recorder) is transport
    lines: list[str] = []
    recorder.add(lines.append)
    assert [json.loads(line)["target"] for line in lines] == ["wss://host/mcp"]
    assert isinstance(recorded(transport, recorder), RecordingTransport)
