"""The transports of the library keep the contract that custom ones are held to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mcpclient.framing.uri import parse_url
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.base import Receiver, Transport
from mcpclient.transports.inprocess import InProcessTransport
from mcpclient.transports.websocket import WebSocketTransport
from tests.contract.transport_contract import TransportContract
from tests.support.mcp_server import Json, McpServer
from tests.transports.test_websocket import RealPeer


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


class Custom(Transport):
    """The README's example of an own transport, with the server of this suite.

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
