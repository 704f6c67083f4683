from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

import mcpclient
from mcpclient.errors import ConnectFailed, ConnectionLost, MessageTooLarge
from mcpclient.framing.uri import parse_url
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.line_socket import LineSocketTransport
from tests.net.peers import serve
from tests.support.inbox import Inbox
from tests.support.mcp_server import Json, McpServer


class LineServer:
    """An MCP server on a socket. ``last_words`` are sent before it closes."""

    def __init__(self, era: str = "handshake") -> None:
        self.server = McpServer(era)
        self.last_words = b""
        self.calls_before_end = 10**9

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def send(message: Json) -> None:
            writer.write(json.dumps(message).encode() + b"\n")

        while len(self.server.messages("tools/call")) < self.calls_before_end:
            line = await reader.readline()
            if not line:
                return
            self.server.receive(json.loads(line), send)
        writer.write(self.last_words)
        await writer.drain()


@pytest.mark.parametrize("era", ["handshake", "stateless"])
@pytest.mark.needs_posix
async def test_a_session(era: str, tmp_path: Path) -> None:
    """F-STD-8: both eras, over TCP and over a Unix-domain socket, by nothing but the URL."""

    async def session(url: str) -> None:
        async with mcpclient.connect(url) as client:
            assert client.transport_name == "socket"
            results = await asyncio.gather(
                *(client.call_tool("echo", {"text": f"{number} \u2028 é"}) for number in range(20))
            )
            assert [result.text for result in results] == [f"{n} \u2028 é" for n in range(20)]
            big = "x" * 1_000_000
            assert (await client.call_tool("echo", {"text": big})).text == big

    path = tmp_path / "mcp server.sock"
    async with serve(LineServer(era).handle) as port:
        await session(f"tcp://127.0.0.1:{port}")
    async with serve(LineServer(era).handle, path=path):
        await session(f"unix://{str(path).replace(' ', '%20')}")


async def test_calls_in_flight_fail_when_the_server_closes() -> None:
    """F-STD-8, F-LIFE-7: with the reason; a last line without its end still counts."""
    server = LineServer()
    server.calls_before_end = 1
    server.last_words = b'{"jsonrpc":"2.0","method":"notifications/last"}'
    heard = []
    async with serve(server.handle) as port:
        client = await mcpclient.connect(
            f"tcp://127.0.0.1:{port}", on_notification=lambda method, params: heard.append(method)
        )
        with pytest.raises(ConnectionLost, match="was lost: closed by the server"):
            await client.call_tool("never", {})
        assert not client.is_connected
        await client.close()
    assert heard == ["notifications/last"]


# Windows' event loops cannot even look for it.
NO_SOCKET = (
    r"there is no socket '/nonexistent/mcp\.sock'"
    if os.name == "posix"
    else "this system's event loop has no Unix-domain sockets"
)


async def test_nothing_listens() -> None:
    """F-STD-8: one clear error, and nothing to close."""
    transport = LineSocketTransport(parse_url("unix:///nonexistent/mcp.sock"))
    with pytest.raises(ConnectFailed, match=NO_SOCKET):
        await transport.open(Inbox())
    assert transport.description == "unix:///nonexistent/mcp.sock"
    await transport.close()
    transport.abort()


async def test_messages_over_the_limit() -> None:
    """F-WIRE-3, F-STD-8: a line costs one message; a flood without a line end, the connection."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'{"x":"' + b"x" * 2000 + b'"}\n{"method":"ok"}\n')
        await reader.readline()
        writer.write(b"x" * 10_000)
        await reader.read()

    receiver = Inbox()
    async with serve(talk) as port:
        url = parse_url(f"tcp://127.0.0.1:{port}")
        transport = LineSocketTransport(url, max_message_size=1000)
        await transport.open(receiver)
        await receiver.until(lambda: receiver.messages)
        assert receiver.messages == [{"method": "ok"}]
        assert isinstance(receiver.rejected[0][0], MessageTooLarge)
        assert not receiver.lost
        transport.send(Outgoing({"method": "go on"}))
        await receiver.until(lambda: receiver.lost)
        assert [type(error) for error in receiver.lost] == [MessageTooLarge]
        await transport.close()


@pytest.mark.virtual_time
async def test_closing_is_bounded() -> None:
    """F-LIFE-6: a server that does not read what is still to be written."""

    async def never_read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.Event().wait()

    async with serve(never_read) as port:
        transport = LineSocketTransport(parse_url(f"tcp://127.0.0.1:{port}"))
        await transport.open(Inbox())
        assert transport._stream is not None
        transport._stream.write(b"x" * 64_000_000)
        await transport.close()
        assert asyncio.get_running_loop().time() == pytest.approx(2.0)
        await transport.close()
