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
