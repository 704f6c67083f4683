"""The transports of the library keep the contract that custom ones are held to."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mcpclient.transports.base import Transport
from mcpclient.transports.inprocess import InProcessTransport, ServerEnd
from mcpclient.transports.legacy_sse import LegacySseTransport
from mcpclient.transports.stdio import StdioTransport
from mcpclient.transports.streamable_http import StreamableHttpTransport
from tests.contract.transport_contract import TransportContract
from tests.support.http_server import HttpServer
from tests.support.mcp_http import LegacyEndpoint, StreamableEndpoint
from tests.support.mcp_server import McpServer

STDIO_SERVER = Path(__file__).parent.parent / "servers" / "mcp_stdio.py"


class TestStdio(TransportContract):
    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Transport]:
        yield StdioTransport([sys.executable, "-S", "-E", str(STDIO_SERVER)])


class TestStreamableHttpWithEventStreams(TransportContract):
    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Transport]:
        endpoint = StreamableEndpoint(McpServer(), json=False)
        async with HttpServer(endpoint.routes) as server:
            yield StreamableHttpTransport(server.url())


class TestStreamableHttpWithJson(TransportContract):
    one_channel = False  # what is no answer comes on the stream opened by GET

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Transport]:
        endpoint = StreamableEndpoint(McpServer(), json=True, listens=True)
        async with HttpServer(endpoint.routes) as server:
            yield StreamableHttpTransport(server.url())


class TestLegacySse(TransportContract):
    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Transport]:
        async with HttpServer(LegacyEndpoint(McpServer()).routes) as server:
            yield LegacySseTransport(server.url())


class TestInProcess(TransportContract):
    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Transport]:
        server = McpServer()

        async def serve(end: ServerEnd) -> None:
            async for message in end:
                server.receive(message, end.send)

        yield InProcessTransport(serve)
