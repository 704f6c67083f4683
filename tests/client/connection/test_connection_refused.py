"""Servers over HTTP that restart: sessions that are refused with 400, and connections."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcpclient.client.client import Client
from mcpclient.errors import McpError, SessionExpired
from tests.client.connection.test_connection import http, methods
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer

pytestmark = [pytest.mark.usefixtures("fresh_eras"), pytest.mark.virtual_time]


def refusal(message: str, code: int = -32000, request_id: Any = None) -> bytes:
    error = {"code": code, "message": message}
    return json.dumps({"jsonrpc": "2.0", "error": error, "id": request_id}).encode()


async def use(client: Client) -> None:
    assert (await client.call_tool("echo", {"text": "x"})).text == "x"


LOST = [
    refusal("Bad Request: No valid session ID provided"),
    refusal("Bad Request: No valid session ID"),
    refusal("Session not found", -32001),
    refusal("Invalid session", -32600),
    refusal("Unknown sessionId: one", -32603),
    refusal("Bad Request: Mcp-Session-Id header is invalid"),
    refusal("Bad Request: Server not initialized"),
    b"Invalid or expired session",
    b'{"message": "session expired"}',
]


async def test_a_refusal_on_the_channel_begins_another_session() -> None:
    """F-HTTP-6, F-HTTP-4: with the next call."""
    service = StreamableEndpoint(McpServer(), session="one", listens=True)
    service.refusal = (400, LOST[0])
    errors: list[McpError] = []
    options: dict[str, Any] = {"on_error": errors.append, "protocol_version": "2025-11-25"}
    async with http(service.routes) as web, Client(str(web.url()), **options) as client:
        service.session = "two"
        web.drop_connections()
        await asyncio.sleep(10)
        assert [type(error) for error in errors] == [SessionExpired]
        await use(client)
        assert methods(web).count("initialize") == 2
