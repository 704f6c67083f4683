"""The transports of the library keep the contract that custom ones are held to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mcpclient.framing.uri import parse_url
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.base import Receiver, Transport
from mcpclient.transports.inprocess import InProcessTransport
from mcpclient.transports.legacy_sse import LegacySseTransport
from mcpclient.transports.line_socket import LineSocketTransport
from mcpclient.transports.stdio import StdioTransport
from mcpclient.transports.streamable_http import StreamableHttpTransport
from mcpclient.transports.websocket import WebSocketTransport
from tests.contract.transport_contract import TransportContract
from tests.net.peers import serve
from tests.support.clients import STDIO
from tests.support.http_server import HttpServer
from tests.support.mcp_http import LegacyEndpoint, StreamableEndpoint
from tests.support.mcp_server import Json, McpServer
from tests.transports.test_line_socket import LineServer
from tests.transports.test_websocket import RealPeer


class TestStdio(TransportContract):
    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Transport]:
        yield StdioTransport(STDIO)


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
        yield InProcessTransport(McpServer().serve)


@pytest.mark.needs_websockets
class TestWebSocket(TransportContract):
    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Transport]:
        async with RealPeer().serve() as port:
            yield WebSocketTransport(parse_url(f"ws://127.0.0.1:{port}/"))


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


class Custom(Transport):
    """What the README shows of a transport of one's own, with the server of this suite.

    Nothing of the library is used but `Transport`.
    """

    name = "custom"

    async def open(self, receiver: Receiver) -> None:
        self._loop = asyncio.get_running_loop()
        self._server = McpServer()
        self._receiver: Receiver | None = receiver

    def send(self, outgoing: Outgoing) -> None:
        message: Json = json.loads(outgoing.encode())
        self._server.receive(message, self._answer)

    def _answer(self, answer: Json) -> None:
        self._loop.call_soon(self._deliver, answer)

    def _deliver(self, answer: Json) -> None:
        if self._receiver is not None:
            self._receiver.message_received(answer)

    async def close(self) -> None:
        self._receiver = None


class TestCustom(TransportContract):
    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Transport]:
        yield Custom()
