"""Servers that talk more than anybody listens: memory stays bounded, and calls go on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import mcpclient
from mcpclient.client.answers import inbound_requests as answering
from mcpclient.client.events import callbacks
from mcpclient.client.requests import connection_of
from mcpclient.errors import CallTimeout, ConnectionLost, McpError, MessageTooLarge
from mcpclient.transports import connected
from mcpclient.transports.inprocess import InProcessTransport, ServerEnd
from tests.net.peers import serve
from tests.net.websocket_peer import PING, Peer, frame, websocket_server
from tests.support.clients import client_of
from tests.support.mcp_server import McpServer

pytestmark = pytest.mark.virtual_time

VERSION = "2025-11-25"
NOISE = {"jsonrpc": "2.0", "method": "vendor/noise"}
PING_REQUEST = {"jsonrpc": "2.0", "method": "ping"}


async def test_a_slow_handler_misses_the_oldest_notifications(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-API-20: so many wait, in order; no more memory is taken, and calls are answered."""
    monkeypatch.setattr(callbacks, "_MAX_WAITING", 1000)
    heard: list[int] = []

    async def slow(method: str, params: Any) -> None:
        await asyncio.sleep(0.001)
        heard.append(params["number"])

    async def flood(end: ServerEnd) -> None:
        mcp = McpServer()
        async for message in end:
            mcp.receive(message, end.send)
            if message["method"] == "notifications/initialized":
                for number in range(2500):
                    end.send({**NOISE, "params": {"number": number}})

    transport = InProcessTransport(flood)
    async with mcpclient.connect(
        transport, protocol_version=VERSION, on_notification=slow
    ) as client:
        assert (await client.call_tool("echo", {"text": "beside"})).text == "beside"
        await asyncio.sleep(60)
    assert heard == [0, *range(1500, 2500)]
    assert caplog.text.count("is too slow") == 1


async def test_slow_progress_does_not_hold_up_the_answer_for_ever() -> None:
    """F-API-7: a callback that never returns costs the call its limit, and nothing more."""

    async def stuck(progress: Any) -> None:
        await asyncio.sleep(1e6)

    async with client_of(protocol_version=VERSION) as client:
        result = await client.call_tool("progress", {"steps": 2000}, on_progress=stuck, timeout=3)
        assert result.text == "done"
        assert asyncio.get_running_loop().time() <= 3


async def test_so_many_questions_are_answered_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-10: those over the limit are reported, and cost neither memory nor the connection."""
    monkeypatch.setattr(answering, "_MAX_ANSWERING", 100)
    asked: list[Any] = []
    errors: list[McpError] = []

    async def ask(request: Any) -> bool:
        asked.append(request)
        await asyncio.sleep(1)
        return False

    async def flood(end: ServerEnd) -> None:
        mcp = McpServer()
        form = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
        async for message in end:
            if "method" in message:
                mcp.receive(message, end.send)
            if message.get("method") == "notifications/initialized":
                for number in range(300):
                    request = {"jsonrpc": "2.0", "id": number, "method": "elicitation/create"}
                    end.send({**request, "params": form})

    async with mcpclient.connect(
        InProcessTransport(flood), protocol_version=VERSION, elicitation=ask, on_error=errors.append
    ) as client:
        assert (await client.call_tool("echo", {"text": "beside"})).text == "beside"
    assert len(asked) == 100
    assert len(errors) == 200


async def test_a_server_that_asks_and_never_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-STD-5, F-STD-8: the answers pile up to a limit; closing is quick."""
    monkeypatch.setattr(connected, "_MAX_WAITING", 100)
    errors: list[McpError] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mcp = McpServer()
        while len(mcp.received) < 2:
            message = json.loads(await reader.readline())
            mcp.receive(message, lambda reply: writer.write(json.dumps(reply).encode() + b"\n"))
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        padding = "x" * 10_000
        for number in range(2000):
            request = {**PING_REQUEST, "id": f"{number} {padding}"}
            writer.write(json.dumps(request).encode() + b"\n")
            await writer.drain()
        await asyncio.Event().wait()

    async with serve(talk) as port:
        client = await mcpclient.connect(
            f"tcp://127.0.0.1:{port}", protocol_version=VERSION, on_error=errors.append
        )
        with pytest.raises(CallTimeout):
            await client.call_tool("echo", {"text": "x"}, timeout=5)
        began = asyncio.get_running_loop().time()
        await client.close()
        assert asyncio.get_running_loop().time() - began <= 5
    assert {str(error) for error in errors} == {"the server does not read its input"}
    assert all(type(error) is ConnectionLost for error in errors)


@pytest.mark.slow
async def test_a_flood_of_pings_by_a_server_that_never_reads() -> None:
    """F-WS-2, F-STD-5: of the pongs that cannot be written, only the latest is kept."""
    held: list[int] = []

    async def script(peer: Peer) -> None:
        await peer.accept("Sec-WebSocket-Protocol: mcp")
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        pings = frame(PING, b"x" * 125) * 1000
        for _ in range(100):
            peer.writer.write(pings)
            await peer.writer.drain()
        await asyncio.Event().wait()

    async with websocket_server(script) as url:
        client = mcpclient.connect(url, protocol_version=VERSION, timeout=5)
        connecting = asyncio.ensure_future(client.connect())
        await asyncio.sleep(4)
        connected = connection_of(client)._connecting
        assert connected is not None
        websocket = connected.transport
        held.append(websocket._stream._transport.get_write_buffer_size())  # type: ignore[attr-defined]
        with pytest.raises(CallTimeout):
            await connecting
    # 100 000 pongs have 13 MB. What the kernel takes does not count.
    assert held[0] < 1_000_000


@pytest.mark.parametrize("size", [30_000_000])
async def test_a_line_without_an_end(size: int) -> None:
    """F-WIRE-3: it is thrown away as it comes; the call it answers fails at its end."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mcp = McpServer()
        while line := await reader.readline():
            message = json.loads(line)
            if message["method"] != "tools/list":
                mcp.receive(message, lambda reply: writer.write(json.dumps(reply).encode() + b"\n"))
                continue
            writer.write(b'{"jsonrpc": "2.0", "id": %d, "result": {"x": "' % message["id"])
            block = b"x" * 1_000_000
            for _ in range(size // len(block)):
                writer.write(block)
                await writer.drain()
            writer.write(b'"}}\n')

    async with serve(talk) as port:
        url = f"tcp://127.0.0.1:{port}"
        async with mcpclient.connect(
            url, protocol_version=VERSION, max_message_size=100_000
        ) as client:
            with pytest.raises(MessageTooLarge):
                await client.list_tools()
            assert (await client.call_tool("echo", {"text": "x"})).text == "x"


async def test_a_batch_of_nothing() -> None:
    """F-WIRE-7: a million invalid messages are reported once."""
    errors: list[McpError] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mcp = McpServer()
        writer.write(b"[" + b"0," * 1_000_000 + b"0]\n")
        while line := await reader.readline():
            mcp.receive(
                json.loads(line), lambda reply: writer.write(json.dumps(reply).encode() + b"\n")
            )

    async with serve(talk) as port:
        url = f"tcp://127.0.0.1:{port}"
        async with mcpclient.connect(
            url, protocol_version=VERSION, on_error=errors.append
        ) as client:
            await client.ping()
    assert [str(error) for error in errors] == ["the server sent JSON that is not a message"]
