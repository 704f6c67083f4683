from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient.errors import ConnectFailed, ConnectionLost, HttpError, ProtocolViolation
from mcpclient.framing.http1 import ResponseHead
from mcpclient.framing.uri import parse_url
from mcpclient.transports.websocket import WebSocketTransport
from tests.net.certificates import Authority
from tests.net.peers import Proxy, serve
from tests.net.websocket_peer import BINARY, TEXT, Peer, frame, websocket_server
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
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_a_session_with_a_real_server(era: str, binary: bool) -> None:
    """F-WS-1, F-WIRE-6: both eras, many calls at once, and large messages, which are compressed."""
    peer = RealPeer(era, binary)
    async with peer.serve() as port, mcpclient.connect(f"ws://127.0.0.1:{port}/mcp") as client:
        assert client.protocol_version == ("2026-07-28" if era == "stateless" else "2025-11-25")
        calls = [client.call_tool("echo", {"text": f"number {n}"}) for n in range(100)]
        results = await asyncio.gather(*calls)
        assert [result.text for result in results] == [f"number {n}" for n in range(100)]
        big = "a large message é " * 100_000
        assert (await client.call_tool("echo", {"text": big})).text == big
        with pytest.raises(mcpclient.CallTimeout):
            await client.call_tool("never", {}, timeout=0.01)
        await client.ping()
        (cancelled,) = peer.mcp.messages("notifications/cancelled")
        (never,) = [m for m in peer.mcp.messages("tools/call") if m["params"]["name"] == "never"]
        assert cancelled["params"]["requestId"] == never["id"]
    (connection,) = peer.connections
    assert (connection.close_code, connection.subprotocol) == (1000, "mcp")


@pytest.mark.needs_websockets
async def test_requests_of_the_server() -> None:
    """F-WS-1, F-API-10: the connection goes both ways."""
    peer = RealPeer()
    async with (
        peer.serve() as port,
        mcpclient.connect(f"ws://127.0.0.1:{port}", roots=["file:///home/user"]) as client,
    ):
        result = await client.call_tool("ask", {"method": "roots/list"})
        assert "file:///home/user" in result.text


@pytest.mark.needs_websockets
async def test_transport_ws_pins_an_http_url() -> None:
    """F-HTTP-11: the scheme of the URL follows."""
    async with RealPeer().serve() as port:
        await session(f"http://127.0.0.1:{port}/mcp", transport="ws")


@pytest.mark.needs_websockets
async def test_tls_with_an_own_authority_and_a_client_certificate(tmp_path: Path) -> None:
    """F-HTTP-12, F-WS-1: options, SSL_CERT_FILE's rule, a context of the caller's, and none."""
    authority = Authority(tmp_path)
    own = ssl.create_default_context(cafile=authority.file)
    own.load_cert_chain(authority.client_file())
    tls = authority.server_context(client_authority=authority)
    async with RealPeer().serve(tls=tls) as port:
        url = f"wss://localhost:{port}/mcp"
        certificate = authority.client_file()
        await session(url, ca_file=authority.file, client_cert=certificate)
        await session(url, ssl_context=own)
        await session(url, verify=False, client_cert=certificate)
        with pytest.raises(ConnectFailed, match="not trusted here"):
            await session(url, client_cert=certificate)


@pytest.mark.needs_websockets
@pytest.mark.parametrize("scheme", ["ws", "wss"])
async def test_through_a_proxy(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-HTTP-12: by option and by environment, with credentials, and not where NO_PROXY says so."""
    authority = Authority(tmp_path)
    tls = authority.server_context("server.test", "127.0.0.1") if scheme == "wss" else None
    ca_file = authority.file if tls else None
    proxy = Proxy(credentials="Basic dXNlcjpzZWNyZXQ=")
    async with RealPeer().serve(tls=tls) as port, serve(proxy.handle) as proxy_port:
        url = f"{scheme}://server.test:{port}/mcp"
        through = f"http://user:secret@127.0.0.1:{proxy_port}"
        await session(url, proxy=through, ca_file=ca_file)
        monkeypatch.setenv("HTTPS_PROXY" if tls else "HTTP_PROXY", through)
        await session(url, ca_file=ca_file)
        assert proxy.requests == [f"CONNECT server.test:{port} HTTP/1.1"] * 2
        monkeypatch.setenv("NO_PROXY", "127.0.0.0/8")
        await session(f"{scheme}://127.0.0.1:{port}/mcp", ca_file=ca_file)
        monkeypatch.delenv("NO_PROXY")
        await session(f"{scheme}://127.0.0.1:{port}/mcp", ca_file=ca_file, proxy=False)
        assert len(proxy.requests) == 2


@pytest.mark.needs_websockets
@pytest.mark.needs_posix
async def test_over_a_unix_socket(tmp_path: Path) -> None:
    """F-HTTP-12: the URL still says what is asked for."""
    peer, path = RealPeer(), str(tmp_path / "mcp.sock")
    async with peer.serve(path=path):
        await session("ws://server.test/mcp", unix_socket=path)
    assert peer.requests[0].headers["Host"] == "server.test"
    assert peer.requests[0].path == "/mcp"


@pytest.mark.needs_websockets
async def test_headers_of_the_caller() -> None:
    """F-WS-1: fixed ones, those of a function, and the credentials of the URL."""

    async def provide() -> Mapping[str, str]:
        return {"X-Own": "2"}

    peer = RealPeer()
    async with peer.serve() as port:
        await session(f"ws://127.0.0.1:{port}/mcp", headers={"X-Own": "1"})
        await session(f"ws://user:pass@127.0.0.1:{port}/mcp", headers=provide)
    assert [request.headers["X-Own"] for request in peer.requests] == ["1", "2"]
    assert peer.requests[1].headers["Authorization"] == "Basic dXNlcjpwYXNz"


@pytest.mark.needs_websockets
async def test_the_reason_of_a_close_reaches_every_call() -> None:
    """F-WS-2, F-LIFE-7: calls in flight, later calls, and the event."""
    peer = RealPeer()
    closed: list[Any] = []
    async with peer.serve() as port:
        client = await mcpclient.connect(f"ws://127.0.0.1:{port}", on_close=closed.append)
        calls = [asyncio.ensure_future(client.call_tool("never", {})) for _ in range(3)]
        await client.ping()  # the answer comes after the calls were read
        await peer.connections[0].close(1012, "back soon")
        for result in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(result, ConnectionLost)
            assert "code 1012 (service restart): back soon" in str(result)
        with pytest.raises(ConnectionLost, match="service restart"):
            await client.call_tool("echo", {"text": "late"})
        assert not client.is_connected
        await client.close()
    assert [str(error) for error in closed] == [str(result)]


@pytest.mark.needs_websockets
async def test_a_message_that_is_too_large_for_the_server() -> None:
    """F-WS-2: 1009 says what was wrong, in the server's words and in ours."""
    peer = RealPeer()
    peer.max_size = 10_000
    async with peer.serve() as port:
        with pytest.raises(ConnectionLost, match="a message sent to it was larger than it"):
            await session(f"ws://127.0.0.1:{port}", text="x" * 20_000)


# A server that a test tells what to do


async def open_to(url: str, receiver: Inbox, **options: Any) -> WebSocketTransport:
    transport = WebSocketTransport(parse_url(url), **options)
    assert transport.description == url
    await transport.open(receiver)
    return transport


async def test_what_is_no_message_costs_itself_only() -> None:
    """F-WIRE-7, F-WS-1: text that is no JSON is rejected; the connection goes on."""

    async def script(peer: Peer) -> None:
        await peer.accept()
        answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
        peer.writer.write(frame(TEXT, b'{"id":7,') + frame(BINARY, b"\xff"))
        peer.writer.write(frame(BINARY, json.dumps(answer).encode()))
        await peer.reader.read()

    receiver = Inbox()
    async with websocket_server(script) as url:
        transport = await open_to(url, receiver)
        await receiver.until(lambda: receiver.messages)
        transport.abort()
    assert receiver.messages[0]["result"] == {}
    assert [request_id for _, request_id in receiver.rejected] == [7, None]
    assert isinstance(receiver.rejected[0][0], ProtocolViolation)


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


async def test_other_refusals_are_not_about_authorization() -> None:
    """F-HTTP-7: 404 stays 404."""
    authorization = Authorization(["one", "two"])
    async with websocket_server(refusing([], "404 No")) as url:
        with pytest.raises(HttpError) as caught:
            await open_to(url, Inbox(), credentials=authorization)
    assert caught.value.status == 404
    assert not authorization.refusals
