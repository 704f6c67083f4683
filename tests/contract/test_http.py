"""The transports of a copy with HTTP keep the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mcpclient.framing.uri import parse_url
from mcpclient.transports.base import Transport
from mcpclient.transports.legacy_sse import LegacySseTransport
from mcpclient.transports.line_socket import LineSocketTransport
from mcpclient.transports.streamable_http import StreamableHttpTransport
from tests.contract.transport_contract import TransportContract
from tests.net.peers import serve
from tests.support.http_server import HttpServer
from tests.support.mcp_http import LegacyEndpoint, StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.transports.test_line_socket import LineServer


class TestStreamableHttpWithEventStreams(TransportContract):
    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Transport]:
        endpoint = StreamableEndpoint(McpServer(), json=False)
        async with HttpServer(endpoint.routes) as server:
            yield StreamableHttpTransport(server.url())


class TestStreamableHttpWithJson(TransportContract):
    one_channel = False  # messages other than answers come on the stream opened by GET

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


class TestTcp(TransportContract):
    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Transport]:
        async with serve(LineServer().handle) as port:
            yield LineSocketTransport(parse_url(f"tcp://127.0.0.1:{port}"))


@pytest.mark.needs_posix
class TestUnixSocket(TransportContract):
    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Transport]:
        with TemporaryDirectory() as folder:
            path = Path(folder, "mcp")
            async with serve(LineServer().handle, path=path):
                yield LineSocketTransport(parse_url(f"unix://{path}"))
