"""Servers that a URL names: F-HTTP-11, F-WS-1 and F-AUTH-13."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient import OAuth
from mcpclient.client.answers.inbound_requests import Handlers
from mcpclient.client.connection.limits import DEFAULT, Timeouts
from mcpclient.client.connection.options import Options, Route
from mcpclient.client.connection.url_routes import route_to_url
from mcpclient.client.events.callbacks import Events
from mcpclient.errors import UsageError
from mcpclient.net.network_options import NetworkOptions
from mcpclient.transports.legacy_sse import LegacySseTransport
from mcpclient.transports.streamable_http import StreamableHttpTransport
from mcpclient.transports.websocket import WebSocketTransport


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


# Options


NETWORK = NetworkOptions(verify=False)
GIVEN: dict[str, Any] = {
    "headers": {"X-Own": "1"},
    "auth": "token",
    "max_message_size": 1000,
    "network": NETWORK,
}


def test_what_http_is_given() -> None:
    """F-HTTP-1, F-HTTP-12, F-HTTP-13, F-WIRE-3: each option of the caller reaches both ways."""
    found = url_route("http://h/mcp", **GIVEN, listen_wait=3.0, liveness=60.0)
    assert found.open_legacy is not None
    made, legacy = found.open(), found.open_legacy()
    assert isinstance(made, StreamableHttpTransport) and isinstance(legacy, LegacySseTransport)
    for each in (made, legacy):
        headers = each._headers.fixed_for(None)
        assert headers == [("X-Own", "1"), ("Authorization", "Bearer token")]
        assert each._dialer._options is NETWORK
        assert each.max_message_size == 1000
    assert (made._listen_wait, made.liveness) == (3.0, 60.0)


def test_what_a_websocket_is_given() -> None:
    """F-WS-1, F-WS-2, F-HTTP-12, F-WIRE-3: headers for its opening, limits, and the network."""
    made = url_route("wss://h/mcp", **GIVEN, ping_interval=7.0, ping_timeout=8.0).open()
    assert isinstance(made, WebSocketTransport)
    headers = made._headers.fixed_for(None)
    assert headers == [("X-Own", "1"), ("Authorization", "Bearer token")]
    assert made._dialer._options is NETWORK
    assert (made.max_message_size, made._ping_interval, made._ping_timeout) == (1000, 7.0, 8.0)


# Authorization


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
