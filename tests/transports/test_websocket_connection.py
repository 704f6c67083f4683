from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, Callable

import pytest

from mcpclient.errors import ConnectionLost, McpError
from mcpclient.framing.uri import parse_url
from mcpclient.protocol.outgoing import Outgoing
from tests.net.websocket_peer import (
    CLOSE,
    PING,
    PONG,
    TEXT,
    Messages,
    Peer,
    RawWebSocket,
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
            with pytest.raises(type(error)):
                connection.send(Outgoing({}))
            await connection.close()
            assert len(messages.lost) == 1
            return error

    return virtual_time.run(main())


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


def test_the_end_without_a_close_frame() -> None:
    """F-WS-2, F-LIFE-7: it is distinguished from an orderly one."""

    async def server(peer: Peer) -> None:
        await asyncio.sleep(0)

    error = ending(server)
    assert isinstance(error, ConnectionLost)
    assert "was lost: closed by the server without a WebSocket close frame" in str(error)


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
