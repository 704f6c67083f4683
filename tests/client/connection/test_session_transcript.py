"""F-SHOW-6, F-SHOW-8: what passes through a session is written down, secrets replaced."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcpclient.client.answers.inbound_requests import Handlers
from mcpclient.client.connection.limits import RequestOptions
from mcpclient.client.connection.session import Session
from mcpclient.client.events.callbacks import EventCallbacks, Events
from mcpclient.errors import ConnectFailed, ConnectionLost, ProtocolViolation, UsageError
from mcpclient.net.futures import BackgroundTasks
from mcpclient.net.recorder import Recorder
from mcpclient.protocol.eras import HandshakeEra
from mcpclient.protocol.negotiation import ClientIdentity
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.base import Abandoned, Receiver, Transport

pytestmark = pytest.mark.virtual_time


class Scripted(Transport):
    """Keeps sent messages; opens and sends as a test sets it up."""

    name = "ws"

    def __init__(self, fails: Exception | None = None) -> None:
        self.sent: list[Outgoing] = []
        self.ended: list[str] = []
        self._fails = fails

    @property
    def description(self) -> str:
        return "wss://host/mcp"

    async def open(self, receiver: Receiver) -> None:
        if isinstance(self._fails, ConnectFailed):
            raise self._fails

    def send(self, outgoing: Outgoing) -> None:
        if self._fails is not None:
            raise self._fails
        self.sent.append(outgoing)

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        return Abandoned.STREAM_CLOSED

    async def close(self) -> None:
        self.ended.append("closed")

    def abort(self) -> None:
        self.ended.append("aborted")


class Taped:
    """A session over a scripted transport, recorded."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.lines: list[str] = []
        self.inner = Scripted(fails)
        tasks = BackgroundTasks()
        events = EventCallbacks("server", [], Events(), tasks)
        recorder = Recorder(self.lines.append)
        self.session = Session(self.inner, Handlers(), events, tasks, recorder)

    @property
    def records(self) -> list[dict[str, Any]]:
        records = [json.loads(line) for line in self.lines]
        assert records.pop(0)["target"] == "wss://host/mcp"
        for record in records:
            assert record.pop("channel") == "websocket"
            del record["time"]
        return records

    async def open(self) -> None:
        await self.session.open_transport()
        self.session.agreed(HandshakeEra("2025-11-25", ClientIdentity({})))

    async def call(self, params: dict[str, Any]) -> Any:
        return await self.session.request("login", params, RequestOptions())


async def test_messages_of_both_sides_are_written_down() -> None:
    """F-SHOW-6, F-AUTH-12"""
    taped = Taped()
    await taped.open()
    call = asyncio.ensure_future(taped.call({"password": "s3cret"}))
    await asyncio.sleep(0)
    taped.session.message_received({"id": 1, "result": {"api_key": "other"}})
    assert await call == {"api_key": "other"}
    given_up = asyncio.ensure_future(taped.call({}))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait({given_up})
    await taped.session.close(5)
    await taped.session.close(5)
    taped.session.abort()
    assert taped.inner.ended == ["closed", "closed", "aborted"]
    assert [outgoing.request_id for outgoing in taped.inner.sent] == [1, 2, None]
    (sent, received, *rest) = taped.records
    assert sent["direction"] == "sent"
    assert sent["message"]["params"] == {"password": "redacted-1"}
    assert received == {
        "direction": "received",
        "message": {"id": 1, "result": {"api_key": "redacted-2"}},
    }
    assert [record for record in rest if "message" not in record] == [
        {"direction": "note", "abandoned": 2},
        {"direction": "sent", "end": "closed"},
    ]


async def test_failures_are_notes() -> None:
    """F-SHOW-8"""
    violation, lost = ProtocolViolation("bad"), ConnectionLost("gone")
    taped = Taped()
    await taped.open()
    taped.session.message_rejected(violation, 7)
    taped.session.message_rejected(violation, None)
    taped.session.request_failed(2, lost)
    taped.session.channel_lost(lost)
    taped.session.connection_lost(lost)
    await taped.session.close(5)
    bad = {"type": "ProtocolViolation", "text": "bad"}
    gone = {"type": "ConnectionLost", "text": "gone"}
    assert taped.records == [
        {"direction": "note", "answers": 7, "error": bad},
        {"direction": "note", "error": bad},
        {"direction": "note", "answers": 2, "error": gone},
        {"direction": "note", "end": "lost", "error": gone},
    ]


async def test_a_message_that_cannot_be_sent() -> None:
    """F-SHOW-8: it is written down, and that it was refused."""
    taped = Taped(UsageError("no JSON"))
    await taped.open()
    with pytest.raises(UsageError):
        await taped.call({})
    first, second = taped.records
    assert (first["direction"], second["answers"]) == ("sent", 1)
    assert second["error"] == {"type": "UsageError", "text": "no JSON"}


async def test_another_transport_begins_another_transcript() -> None:
    """F-SHOW-6: as where a server is started again after the probe."""
    taped = Taped()
    await taped.open()
    taped.session.connection_lost(ConnectionLost("gone"))
    await taped.session.close_transport()
    taped.session.use_transport(Scripted())
    await taped.session.open_transport()
    last = json.loads(taped.lines[-1])
    assert (last["transcript"], last["target"]) == (1, "wss://host/mcp")
    assert json.loads(taped.lines[-2])["end"] == "lost"
    assert taped.session.log is not None


async def test_output_that_is_not_a_message_is_recorded_with_its_bytes() -> None:
    """F-SHOW-14: a banner, and bytes that are not UTF-8."""
    tape = Taped()
    await tape.open()
    tape.session.output_skipped(b"Server started")
    tape.session.output_skipped(b"caf\xe9")
    assert tape.records == [
        {"direction": "received", "text": "Server started"},
        {"direction": "received", "base64": "Y2Fm6Q=="},
    ]
