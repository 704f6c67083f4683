from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcpclient.errors import ConnectFailed, ConnectionLost
from mcpclient.jsonrpc.messages import notification, request
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports import connected
from mcpclient.transports.connected import ConnectedTransport
from tests.transports.receivers import RecordingReceiver


class FakeConnection:
    """Keeps all writes, and pauses when a test says so."""

    def __init__(self) -> None:
        self.paused = False
        self.aborted = self.held = False
        self.writes: list[bytes] = []

    def write(self, data: bytes | memoryview) -> None:
        self.writes.append(bytes(data))

    def abort(self) -> None:
        self.aborted = True

    def hold(self, *, is_held: bool) -> None:
        self.held = is_held


class FakeTransport(ConnectedTransport):
    """Frames a message by its number, which shows the order of framing."""

    name = "fake"

    def __init__(self, connection: FakeConnection | None) -> None:
        super().__init__()
        self.fake = connection
        self.framed = 0
        self.disconnected = 0

    async def _connect(self) -> Any:
        if self.fake is None:
            raise ConnectFailed("fake", "there is none")
        return self.fake

    def _frame(self, message: bytes) -> bytes:
        self.framed += 1
        return b"%d:%b " % (self.framed, str(json.loads(message).get("id", "n")).encode())

    async def _disconnect(self) -> None:
        self.disconnected += 1


def call(number: int) -> Outgoing:
    return Outgoing(request(number, "ping", {}))


NOTE = Outgoing(notification("notified", None))


async def opened() -> tuple[FakeTransport, FakeConnection, RecordingReceiver]:
    connection, receiver = FakeConnection(), RecordingReceiver()
    transport = FakeTransport(connection)
    await transport.open(receiver)
    return transport, connection, receiver


async def test_a_server_that_never_reads_what_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-STD-5: few messages may be many bytes, as the ids of the server's that answers repeat."""
    size = len(NOTE.encode())
    monkeypatch.setattr(connected, "_MAX_WAITING_BYTES", 2 * size + len(call(1).encode()))
    transport, connection, _ = await opened()
    connection.paused = True
    for outgoing in (call(1), NOTE, NOTE):
        transport.send(outgoing)
    with pytest.raises(ConnectionLost, match="does not read"):
        transport.send(NOTE)
    transport.abandon(call(1))
    transport.send(NOTE)  # in its place
    transport.send(call(2))
    with pytest.raises(ConnectionLost, match="does not read"):
        transport.send(NOTE)
    connection.paused = False
    transport.writing_resumed()
    connection.paused = True
    transport.send(NOTE)  # all is written, and there is room again


async def test_a_connection_is_held_where_there_is_one() -> None:
    """F-BRIDGE-1: nothing is read from it until it is let go."""
    transport, connection, _ = await opened()
    for is_held in (True, False):
        transport.hold(is_held=is_held)
        assert connection.held is is_held


async def test_the_end_of_the_connection_is_reported_and_remembered() -> None:
    """F-LIFE-7: later messages fail with the same reason, each with a traceback of its own."""
    transport, connection, receiver = await opened()
    transport.send(call(7))
    transport.send(call(8))
    error = ConnectionLost("gone")
    transport.connection_lost(error)
    assert receiver.lost == [error]
    await asyncio.sleep(0)
    assert connection.writes == [b"1:7 "]
    with pytest.raises(ConnectionLost, match="gone") as caught:
        transport.send(call(9))
    assert caught.value is not error
    transport.abort()
    assert connection.aborted
