"""Hearing that a loop shuts down."""

from __future__ import annotations

import asyncio

import pytest

from mcpclient import Client, ConnectionLost
from tests.support.clients import spawn
from tests.support.http_server import HttpServer
from tests.support.mcp_http import LegacyEndpoint
from tests.support.mcp_server import McpServer


def test_a_client_ends_with_its_loop() -> None:
    """F-LIFE-5, F-STD-2: not with the program; what cancelling begins is ended, too."""
    endpoint = LegacyEndpoint(McpServer())
    clients: list[Client] = []
    calls: list[asyncio.Future[object]] = []

    async def main() -> None:
        server = await HttpServer(endpoint.routes).__aenter__()
        clients.append(Client(str(server.url()), transport="sse"))
        clients.append(spawn())
        for client in clients:
            await client.connect()
            calls.append(asyncio.ensure_future(client.call_tool("never")))
        await clients[1].ping()
        server._server.close()  # type: ignore[union-attr]

    asyncio.run(main())
    assert all(call.cancelled() for call in calls)
    for client in clients:
        assert not client.is_connected
        with pytest.raises(ConnectionLost):
            asyncio.run(client.ping())
