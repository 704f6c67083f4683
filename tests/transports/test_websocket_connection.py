from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, Callable

import pytest

from mcpclient.errors import ConnectionLost, McpError, MessageTooLarge, ProtocolViolation
from mcpclient.framing.uri import parse_url
from mcpclient.transports.websocket import WebSocketTransport
from tests.net.websocket_peer import (
    BINARY,
    CLOSE,
    PING,
    PONG,
    TEXT,
    Messages,
    Peer,
    RawWebSocket,
    frame,
    websocket_server,
)
from tests.support import virtual_time

pytestmark = pytest.mark.virtual_time

Script = Callable[[Peer], Awaitable[None]]


@asynccontextmanager
async def connected(server: Script, **pings: Any) -> AsyncIterator[tuple[RawWebSocket, Messages]]:
    """A connection to a server that follows its script."""

    async def script(peer: Peer) -> None:
        await peer.accept()
        await server(peer)

    messages = Messages()
    async with websocket_server(script) as url:
        connection = RawWebSocket(parse_url(url), messages, **pings)
        await connection.connected()
        try:
            yield connection, messages
        finally:
            connection.abort()


async def hold(peer: Peer) -> None:
    """Keep the connection open and silent."""
    await peer.reader.read()


def ending(server: Script, **pings: Any) -> McpError:
    """Return why the connection ended when the server follows its script."""

    async def main() -> McpError:
        async with connected(server, **pings) as (connection, messages):
            error = await messages.error()
            assert connection.ended is error
            with pytest.raises(ConnectionLost):
                connection.frame_text(b"{}")
            await connection.close()
            assert len(messages.lost) == 1
            return error

    return virtual_time.run(main())


async def test_messages_go_both_ways() -> None:
    """F-WS-1: text and binary, in order, also when many come at once."""

    async def server(peer: Peer) -> None:
        assert await peer.receive() == (TEXT, b"one")
        assert await peer.receive() == (BINARY, b"two")
        peer.writer.write(frame(TEXT, "drei é".encode()) + frame(BINARY, b"four"))
        await hold(peer)

    async with connected(server) as (connection, messages):
        connection.write(connection.frame_text(b"one") + connection.frame_binary(b"two"))
        await messages.until(lambda: messages.taken == ["drei é", b"four"])
        assert connection.ended is None


# Closing


async def test_closing_is_a_handshake() -> None:
    """F-WIRE-6, F-LIFE-6: code 1000, the server's answer, the end; once, however often asked."""
    seen: list[Any] = []

    async def server(peer: Peer) -> None:
        seen.append(await peer.receive())
        peer.send(TEXT, b"too late")
        peer.send(CLOSE, seen[0][1])

    async with connected(server) as (connection, messages):
        await connection.close()
        await connection.close()
        assert str(connection.ended) == "the connection was closed"
        assert asyncio.get_running_loop().time() < 0.1
        assert not messages.taken
        assert not messages.lost
    assert seen == [(CLOSE, b"\x03\xe8")]


@pytest.mark.parametrize("answers", [False, True])
async def test_closing_is_bounded(answers: bool) -> None:
    """F-LIFE-6: a server that does not answer, or answers and does not close."""

    async def server(peer: Peer) -> None:
        opcode, payload = await peer.receive()
        if answers:
            peer.send(opcode, payload)
        await hold(peer)

    async with connected(server) as (connection, _):
        await connection.close()
        assert asyncio.get_running_loop().time() == pytest.approx(1.0 if answers else 2.0)


async def test_giving_up_on_closing_drops_the_connection() -> None:
    """F-LIFE-6: cancelling leaves nothing open."""
    async with connected(hold) as (connection, _):
        closing = asyncio.ensure_future(connection.close())
        await asyncio.sleep(0.1)
        closing.cancel()
        await asyncio.wait({closing})
        await connection.close()
        assert asyncio.get_running_loop().time() < 0.2


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"\x03\xe8", "closed the WebSocket connection with code 1000 (normal closure)"),
        (b"\x03\xf0no token", "with code 1008 (policy violation): no token"),
        (b"\x03\xf1", "code 1009 (message too big); a message sent to it was larger than it takes"),
        (b"", "with code 1005 (no code given)"),
    ],
)
def test_close_codes_become_reasons(payload: bytes, reason: str) -> None:
    """F-WS-2, F-LIFE-7: the code by name, and the server's own words; the close is answered."""

    answers: list[Any] = []

    async def server(peer: Peer) -> None:
        peer.send(CLOSE, payload)
        answers.append(await peer.receive())

    error = ending(server)
    assert isinstance(error, ConnectionLost)
    assert reason in str(error)
    assert str(error).startswith("ws://127.0.0.1:")
    assert answers == [(CLOSE, payload[:2])]


async def test_a_server_that_closes_but_keeps_the_connection() -> None:
    """F-WIRE-6: the client closes then, after a second."""
    closed_at: list[float] = []

    async def server(peer: Peer) -> None:
        peer.send(CLOSE, b"\x03\xe8")
        await hold(peer)
        closed_at.append(asyncio.get_running_loop().time())

    async with connected(server) as (_, messages):
        await messages.error()
        await asyncio.sleep(1.5)
        assert closed_at == [pytest.approx(1.0)]


def test_the_end_without_a_close_frame() -> None:
    """F-WS-2, F-LIFE-7: it is told from an orderly one."""

    async def server(peer: Peer) -> None:
        await asyncio.sleep(0)

    error = ending(server)
    assert isinstance(error, ConnectionLost)
    assert "was lost: closed by the server without a WebSocket close frame" in str(error)


@pytest.mark.parametrize(
    ("data", "reason", "code"),
    [(b"\x81\x81abcde", "masked a frame", 1002), (b"\x81\x01\xff", "not UTF-8", 1007)],
)
def test_a_server_that_breaks_the_protocol_is_told_so(data: bytes, reason: str, code: int) -> None:
    """F-WIRE-6: one clear error, the right code to the server, and the end."""
    seen: list[Any] = []

    async def server(peer: Peer) -> None:
        peer.writer.write(data)
        seen.append(await peer.receive())
        assert await peer.reader.read() == b""

    error = ending(server)
    assert isinstance(error, ProtocolViolation)
    assert reason in str(error)
    assert seen[0][1][:2] == code.to_bytes(2, "big")


def test_a_message_over_the_limit() -> None:
    """F-WIRE-6: known by its announced size, before it has come; it says which option to raise."""

    told: list[Any] = []

    async def server(peer: Peer) -> None:
        peer.writer.write(frame(TEXT, b"x" * 1001)[:10])
        told.append(await peer.receive())

    error = ending(server, max_message_size=1000)
    assert isinstance(error, MessageTooLarge)
    assert error.limit == 1000
    assert "max_message_size" in error.hint
    ((opcode, payload),) = told
    assert (opcode, payload[:2]) == (CLOSE, b"\x03\xf1")


# Signs of life


def test_the_usual_limits() -> None:
    """F-WS-2, F-WIRE-3: a ping every 20 seconds, 20 to answer it, and 64 MiB for a message."""
    usual = WebSocketTransport(parse_url("ws://h/"))
    assert usual.max_message_size == 64 * 1024 * 1024
    assert (usual._ping_interval, usual._ping_timeout) == (20.0, 20.0)


async def test_a_connection_without_signs_of_life_is_given_up() -> None:
    """F-WS-2: after ping_interval and ping_timeout, naming the option."""
    seen: list[Any] = []

    async def server(peer: Peer) -> None:
        seen.append(await peer.receive())
        await hold(peer)

    async with connected(server, ping_interval=30.0, ping_timeout=10.0) as (_, messages):
        error = await messages.error()
        assert isinstance(error, ConnectionLost)
        assert "no answer to a ping within 10 s (ping_timeout)" in str(error)
        assert asyncio.get_running_loop().time() == pytest.approx(40.0)
    assert seen == [(PING, b"")]


@pytest.mark.parametrize("opcode", [PONG, TEXT])
async def test_any_sign_of_life_will_do(opcode: int) -> None:
    """F-WS-2: a pong, or a message that is under way instead of it; pings keep their interval."""
    times: list[float] = []

    async def server(peer: Peer) -> None:
        while len(times) < 3:
            assert (await peer.receive())[0] == PING
            times.append(asyncio.get_running_loop().time())
            peer.send(opcode)
        peer.send(CLOSE, b"\x03\xe8")
        await hold(peer)

    async with connected(server, ping_interval=30.0, ping_timeout=10.0) as (_, messages):
        await messages.error()
    assert times == pytest.approx([30.0, 60.0, 90.0])


async def test_pings_without_a_limit() -> None:
    """F-WS-2: ping_timeout None keeps the connection busy and never gives it up."""
    times: list[float] = []

    async def server(peer: Peer) -> None:
        while True:
            await peer.receive()
            times.append(asyncio.get_running_loop().time())

    async with connected(server, ping_interval=10.0, ping_timeout=None) as (connection, _):
        await asyncio.sleep(35.0)
        assert connection.ended is None
    assert times == pytest.approx([10.0, 20.0, 30.0])


@pytest.mark.parametrize("interval", [0.0, None])
async def test_no_pings_when_they_are_switched_off(interval: float | None) -> None:
    """F-WS-2: ping_interval 0 or None."""
    heard: list[bytes] = []

    async def server(peer: Peer) -> None:
        heard.append(await peer.reader.read(1))

    async with connected(server, ping_interval=interval) as (connection, _):
        await asyncio.sleep(1000.0)
        assert connection.ended is None
        assert heard == []


async def test_a_server_that_does_not_read() -> None:
    """F-STD-5: what is written waits in memory, which is told, and goes on when it reads."""
    may_read = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.accept()
        await may_read.wait()
        while await peer.reader.read(1 << 20):
            pass

    messages = Messages()
    async with websocket_server(script) as url:
        connection = await RawWebSocket(parse_url(url), messages).connected()
        while not connection.paused:
            connection.write(connection.frame_binary(b"x" * 4_000_000))
        may_read.set()
        await messages.until(lambda: messages.resumed > 0)
        assert not connection.paused
        connection.abort()


async def test_of_the_pongs_that_wait_only_the_latest_is_written() -> None:
    """F-WIRE-6, RFC 6455 section 5.5.3: pings of a server that does not read cost no memory."""
    may_ping, may_read = asyncio.Event(), asyncio.Event()
    pongs: list[bytes] = []

    async def script(peer: Peer) -> None:
        await peer.accept()
        await may_ping.wait()
        for number in range(100):
            peer.send(PING, b"%d" % number)
        peer.send(TEXT, b"that was all")
        await may_read.wait()
        while not pongs:
            opcode, payload = await peer.receive()
            if opcode == PONG:
                pongs.append(payload)
        peer.send(TEXT, b"thanks")

    messages = Messages()
    async with websocket_server(script) as url:
        connection = await RawWebSocket(parse_url(url), messages).connected()
        while not connection.paused:
            connection.write(connection.frame_binary(b"x" * 4_000_000))
        may_ping.set()
        await messages.until(lambda: messages.taken == ["that was all"])
        may_read.set()
        await messages.until(lambda: len(messages.taken) == 2)
        connection.abort()
    assert pongs == [b"99"]
