"""Servers that a URL names: F-HTTP-11, F-WS-1 and F-AUTH-13."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mcpclient
from mcpclient import OAuth
from mcpclient.client.answers.inbound_requests import Handlers
from mcpclient.client.connection.limits import DEFAULT, Timeouts
from mcpclient.client.connection.options import Options, Route
from mcpclient.client.connection.url_routes import route_to_url
from mcpclient.client.events.callbacks import Events
from mcpclient.errors import ConnectionLost, HttpError, UsageError
from mcpclient.transports.legacy_sse import LegacySseTransport
from mcpclient.transports.streamable_http import StreamableHttpTransport
from mcpclient.transports.websocket import WebSocketTransport
from tests.net.websocket_peer import Peer, websocket_server
from tests.support.clients import now
from tests.support.http_server import HttpServer

pytestmark = pytest.mark.virtual_time


def url_route(url: str, **fields: Any) -> Route:
    timeouts = Timeouts.of(DEFAULT, DEFAULT, DEFAULT, 5.0, {})
    return route_to_url(url, Options(timeouts, {}, Handlers(), Events(), **fields))


def test_http() -> None:
    """F-HTTP-11: Streamable HTTP first, legacy HTTP+SSE in reserve, unless one is pinned."""
    found = url_route("HTTPS://user:pass@Example.com/mcp?token=s3cret")
    assert isinstance(found.open(), StreamableHttpTransport)
    assert found.open_legacy is not None
    assert isinstance(found.open_legacy(), LegacySseTransport)
    assert found.shown == "https://example.com/mcp"
    assert "s3cret" not in str(found.key)
    pinned = url_route("http://h/mcp", transport="http")
    assert isinstance(pinned.open(), StreamableHttpTransport)
    assert pinned.open_legacy is None
    legacy = url_route("http://h/mcp", transport="sse")
    assert isinstance(legacy.open(), LegacySseTransport)
    assert legacy.open_legacy is None
    assert legacy.key != pinned.key


VERSION = "2025-11-25"
GIVEN: dict[str, Any] = {"headers": {"X-Own": "1"}, "auth": "token"}


def test_limits_reach_the_transport() -> None:
    """F-HTTP-13, F-WIRE-3, F-WS-2"""
    limits: dict[str, Any] = {"max_message_size": 1000, "liveness": 60.0}
    found = url_route("http://h/mcp", **limits)
    assert found.open_legacy is not None
    made, legacy, websocket = (
        found.open(),
        found.open_legacy(),
        url_route("ws://h", **limits).open(),
    )
    assert isinstance(made, StreamableHttpTransport) and isinstance(legacy, LegacySseTransport)
    assert isinstance(websocket, WebSocketTransport)
    assert {each.max_message_size for each in (made, legacy, websocket)} == {1000}
    assert made.liveness == 60.0


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_headers_and_the_proxy_of_http(transport: Any) -> None:
    """F-HTTP-1, F-HTTP-12"""
    async with HttpServer() as proxy:
        client = mcpclient.connect(
            "http://h.invalid/mcp", transport=transport, proxy=str(proxy.url("")), **GIVEN
        )
        with pytest.raises(HttpError):
            await client.connect()
        headers = proxy.requests[0].headers
        assert (headers["x-own"], headers["authorization"]) == ("1", "Bearer token")


async def test_headers_pings_and_the_proxy_of_a_websocket() -> None:
    """F-WS-1, F-WS-2, F-HTTP-12"""
    requests: list[str] = []

    async def tunnel(peer: Peer) -> None:
        await peer.read_request()
        peer.writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await peer.accept("Sec-WebSocket-Protocol: mcp")
        requests.append(peer.request)
        await asyncio.Event().wait()

    async with websocket_server(tunnel) as url:
        more: dict[str, Any] = {"proxy": f"http{url[2:-4]}", "ping_interval": 7, "ping_timeout": 8}
        client = mcpclient.connect("ws://h.invalid/", protocol_version=VERSION, **more, **GIVEN)
        with pytest.raises(ConnectionLost, match="ping"):
            await client.connect()
        assert now() == 7 + 8
    assert "\r\nX-Own: 1\r\nAuthorization: Bearer token\r\n" in requests[0]


@pytest.mark.parametrize("value", ["Bearer Bearer x", "Bearer ", "bearer"])
def test_an_authorization_header_that_no_server_accepts(value: str) -> None:
    """F-AUTH-13: as wrong variables produce it."""
    with pytest.raises(UsageError, match="Bearer"):
        url_route("https://h/mcp", headers={"X-Other": "y", "Authorization": value})
    with pytest.raises(UsageError, match="begins with Bearer"):
        url_route("https://h/mcp", auth="Bearer x")


def test_a_url_with_credentials_uses_no_login() -> None:
    """F-SAFE-7: a stored one may be of another account."""
    with pytest.raises(UsageError, match="the URL has a user name"):
        url_route("http://bob:x@h/mcp", auth=OAuth())


@pytest.mark.parametrize(
    ("auth", "given"), [(OAuth, "the class OAuth"), (b"s3cret", "bytes"), ({"a": "s3cret"}, "dict")]
)
def test_what_cannot_authorize_is_a_mistake(auth: Any, given: str) -> None:
    """F-AUTH-13: a forgotten call, or a token of the wrong type, which stays unsaid."""
    with pytest.raises(UsageError, match=f"auth is a token .*, not {given}") as refused:
        url_route("http://h/", auth=auth)
    assert "s3cret" not in str(refused.value)
