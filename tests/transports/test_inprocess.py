"""The in-process transport: a server that is a coroutine, and what becomes of its end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

import mcpclient
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.inprocess import InProcessTransport, ServerEnd, serve_function
from tests.transports.receivers import RecordingReceiver

pytestmark = pytest.mark.virtual_time

INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "inside", "version": "1"},
}


async def answer(method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if method == "initialize":
        return INITIALIZED
    if method == "tools/call" and params["name"] == "echo":
        return {"content": [{"type": "text", "text": params["arguments"]["message"]}]}
    if method == "tools/call" and params["name"] == "crash":
        raise RuntimeError("no")
    if method.startswith("notifications/") or method == "ping":
        return None
    raise mcpclient.PeerError(-32601, f"Method not found: {method}")


async def test_a_function_is_a_server() -> None:
    """F-MEM-1, F-API-1: the handshake, a call and a ping, without a process or a socket."""
    async with mcpclient.connect(InProcessTransport(serve_function(answer))) as client:
        assert client.protocol_version == "2025-11-25"
        assert client.server_info.name == "inside"
        assert client.transport_name == "in-process"
        assert (await client.call_tool("echo", {"message": "hi"})).text == "hi"
        await client.ping()


async def test_a_plain_function_is_a_server_too() -> None:
    """F-MEM-1."""

    def plain(method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        if method == "server/discover":
            raise mcpclient.PeerError(-32601, "Method not found")
        listed: Mapping[str, Any] = {"tools": [{"name": "one"}]}
        return INITIALIZED if method == "initialize" else listed

    async with mcpclient.connect(InProcessTransport(serve_function(plain))) as client:
        assert [tool.name for tool in await client.list_tools()] == ["one"]


async def test_exceptions_of_the_server_function_are_error_answers() -> None:
    """F-MEM-1: and the connection goes on."""
    async with mcpclient.connect(InProcessTransport(serve_function(answer))) as client:
        with pytest.raises(mcpclient.PeerError, match="RuntimeError: no") as internal:
            await client.call_tool("crash")
        assert internal.value.code == mcpclient.ErrorCode.INTERNAL_ERROR
        with pytest.raises(mcpclient.PeerError) as unknown:
            await client.request("no/such")
        assert unknown.value.code == mcpclient.ErrorCode.METHOD_NOT_FOUND
        assert (await client.call_tool("echo", {"message": "on"})).text == "on"


async def test_messages_are_copies_as_json_has_them() -> None:
    """F-MEM-1: what one side changes later, the other does not see."""
    sent: dict[str, Any] = {"message": "before", "list": [1, (2, 3)]}
    received: list[Any] = []

    async def serve(end: ServerEnd) -> None:
        async for message in end:
            received.append(message)

    transport = InProcessTransport(serve)
    await transport.open(RecordingReceiver())
    transport.send(Outgoing({"method": "x", "params": sent}))
    sent["message"] = "after"
    await transport.close()
    assert received == [{"method": "x", "params": {"message": "before", "list": [1, [2, 3]]}}]


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ("fails", "RuntimeError: out of luck"),
        ("returns", "returned"),
        ("is cancelled", "was cancelled"),
    ],
)
async def test_a_server_that_ends_takes_its_calls_with_it(way: str, expected: str) -> None:
    """F-LIFE-7: with the reason."""

    async def serve(end: ServerEnd) -> None:
        async for message in end:
            if message.get("method") == "initialize":
                end.send({"jsonrpc": "2.0", "id": message["id"], "result": INITIALIZED})
            elif message.get("method") == "tools/call":
                if way == "fails":
                    raise RuntimeError("out of luck")
                if way == "is cancelled":  # something it waits for was
                    raise asyncio.CancelledError
                return

    async with mcpclient.connect(
        InProcessTransport(serve), protocol_version="2025-11-25"
    ) as client:
        with pytest.raises(mcpclient.ConnectionLost, match=expected):
            await client.call_tool("echo")
        assert not client.is_connected
        with pytest.raises(mcpclient.ConnectionLost, match=expected):
            await client.call_tool("echo")


async def test_a_server_that_does_not_return_is_cancelled() -> None:
    """F-LIFE-6: closing is bounded."""
    cancelled = False

    async def serve(end: ServerEnd) -> None:
        nonlocal cancelled
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled = True
            raise

    transport = InProcessTransport(serve)
    await transport.open(RecordingReceiver())
    await asyncio.sleep(0)
    await transport.close()
    await transport.close()
    assert cancelled
    with pytest.raises(mcpclient.ConnectionLost, match="not running"):
        transport.send(Outgoing({"method": "x"}))


async def test_nothing_is_delivered_after_the_end() -> None:
    """F-LIFE-5: a message on its way when the client closes is dropped; abort needs no waiting."""
    silent = RecordingReceiver()
    end = ServerEnd(silent)
    end.send({"method": "late"})
    end.close()
    await asyncio.sleep(0)
    assert silent.messages == []
    transport = InProcessTransport(serve_function(answer))
    transport.abort()
    await transport.open(silent)
    transport.abort()
    await asyncio.sleep(0)
