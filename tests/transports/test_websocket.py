from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

import pytest

import mcpclient
from mcpclient.errors import ConnectionLost, HttpError
from mcpclient.framing.http1 import ResponseHead
from mcpclient.framing.uri import parse_url
from mcpclient.transports.websocket import WebSocketTransport
from tests.net.websocket_peer import Peer, websocket_server
from tests.support.inbox import Inbox
from tests.support.mcp_server import Json, McpServer


class RealPeer:
    """The ``websockets`` library as the server. ``requests`` are the opening requests it got."""

    def __init__(self, era: str = "handshake", binary: bool = False) -> None:
        self.mcp = McpServer(era)
        self.binary = binary
        self.max_size: int | None = None
        self.requests: list[Any] = []
        self.connections: list[Any] = []

    async def handle(self, connection: Any) -> None:
        self.requests.append(connection.request)
        self.connections.append(connection)
        waiting: asyncio.Queue[Json] = asyncio.Queue()
        sender = asyncio.ensure_future(self._send(connection, waiting))
        try:
            async for message in connection:
                assert isinstance(message, str)
                self.mcp.receive(json.loads(message), waiting.put_nowait)
        finally:
            sender.cancel()
            await asyncio.wait({sender})

    async def _send(self, connection: Any, waiting: asyncio.Queue[Json]) -> None:
        while True:
            text = json.dumps(await waiting.get())
            await connection.send(text.encode() if self.binary else text)

    @asynccontextmanager
    async def serve(
        self, *, tls: ssl.SSLContext | None = None, path: str | None = None
    ) -> AsyncIterator[int]:
        server = import_module("websockets.asyncio.server")
        options: dict[str, Any] = {"subprotocols": ["mcp"], "ssl": tls, "max_size": self.max_size}
        if path is not None:
            serving = server.unix_serve(self.handle, path, **options)
        else:
            serving = server.serve(self.handle, "127.0.0.1", 0, **options)
        async with serving as running:
            yield 0 if path is not None else running.sockets[0].getsockname()[1]


async def session(url: str, text: str = "Grüße 👋", **options: Any) -> None:
    """Connect as a user would, and call a tool."""
    async with mcpclient.connect(url, **options) as client:
        assert client.transport_name == "ws"
        assert (await client.call_tool("echo", {"text": text})).text == text


@pytest.mark.needs_websockets
async def test_a_message_that_is_too_large_for_the_server() -> None:
    """F-WS-2: 1009 names the fault, in the server's words and in ours."""
    peer = RealPeer()
    peer.max_size = 10_000
    async with peer.serve() as port:
        with pytest.raises(ConnectionLost, match="a message sent to it was larger than it"):
            await session(f"ws://127.0.0.1:{port}", text="x" * 20_000)


async def open_to(url: str, receiver: Inbox, **options: Any) -> WebSocketTransport:
    transport = WebSocketTransport(parse_url(url), **options)
    assert transport.description == url
    await transport.open(receiver)
    return transport


class Authorization:
    """Credentials that are renewed so many times."""

    clocks = None

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.asked_for: list[tuple[str, str]] = []
        self.refusals: list[ResponseHead] = []

    def request(self, method: str, url: str, *, passive: bool = False) -> Authorization:
        self.asked_for.append((method, url))
        return self

    async def headers(self, url: str | None = None) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.tokens[0]}"}

    def note(self, head: ResponseHead) -> None:
        raise AssertionError("nothing is noted of a handshake")

    async def recover(self, head: ResponseHead) -> bool:
        self.refusals.append(head)
        self.tokens.pop(0)
        return bool(self.tokens)

    async def close(self) -> None:
        pass

    def abort(self) -> None:
        pass


def refusing(heads: list[str], status: str = "401 No") -> Any:
    async def script(peer: Peer) -> None:
        await peer.read_request()
        heads.append(peer.request)
        answer = f"HTTP/1.1 {status}\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n"
        peer.writer.write(answer.encode())
        await peer.reader.read()

    return script


@pytest.mark.parametrize("status", [401, 403])
async def test_authorization_is_renewed_until_it_cannot_be(status: int) -> None:
    """F-AUTH-5, F-WS-1: 401 and 403 ask for another token; its end is the server's refusal."""
    heads: list[str] = []
    authorization = Authorization(["one", "two"])
    async with websocket_server(refusing(heads, f"{status} No")) as url:
        with pytest.raises(HttpError) as caught:
            await open_to(
                url, Inbox(), headers={"authorization": "mine"}, credentials=authorization
            )
        assert authorization.asked_for == [("GET", url.replace("ws:", "http:"))]
    assert caught.value.status == status
    assert ["Bearer one" in heads[0], "Bearer two" in heads[1]] == [True, True]
    assert "mine" not in "".join(heads)
    assert authorization.refusals[0].headers["www-authenticate"] == "Bearer"
