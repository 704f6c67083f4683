"""The HTTP client against servers that behave, and against those that do not."""

from __future__ import annotations

import asyncio
from typing import Callable

import pytest

from mcpclient.errors import ConnectFailed, ConnectionLost, ProtocolViolation
from mcpclient.framing.uri import parse_url
from mcpclient.net.dialing import Dialer
from mcpclient.net.http import HttpClient
from mcpclient.net.network_options import NetworkOptions
from tests.net.http_fetch import compressed, fetch, hello, raw, serving
from tests.support.http_server import Answer, Handler, Request, answer_with, in_turn

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize(
    ("keep_alive", "seconds"),
    [
        (None, 5),
        ("timeout=20, max=100", 19),
        ("max=100, Timeout=3", 2),
        ("timeout=1", 0.5),
        ("timeout=3600", 200),
        ("idletimeout=60", 5),
        ("timeout=" + "9" * 5000, 5),
    ],
)
async def test_an_idle_connection_is_dropped_in_time(
    keep_alive: str | None, seconds: float
) -> None:
    """F-HTTP-16: a second before the server closes it, after five where it does not say when."""
    headers = {} if keep_alive is None else {"Keep-Alive": keep_alive}
    async with serving(answer_with(200, headers, b"hello")) as (server, client):
        await fetch(client, server.url())
        await asyncio.sleep(seconds * 0.9)
        await fetch(client, server.url(), "POST", b"", repeatable=False)
        await asyncio.sleep(seconds * 0.9)
        assert (server.connections, server.open_connections) == (1, 1)
        await asyncio.sleep(seconds * 0.2 + 1)
        assert server.open_connections == 0
        await fetch(client, server.url(), "POST", b"", repeatable=False)
        assert server.connections == 2


async def test_a_connection_that_is_too_old_is_not_used_before_its_timer_comes() -> None:
    """F-HTTP-16"""
    async with serving(hello) as (server, client):
        await fetch(client, server.url())
        connection = client.idle_connection(server.url())
        assert connection is not None
        client.release(connection)
        connection.expires_at = asyncio.get_running_loop().time()
        await fetch(client, server.url(), "POST", b"", repeatable=False)
        assert (server.connections, server.open_connections) == (2, 1)


def close_when_asked_again(second: Callable[[Answer], None]) -> Handler:
    """Serve the first request of the first connection, then treat the next by ``second``."""

    async def handler(request: Request, answer: Answer) -> None:
        if request.connection == 1 and request.target == "/again":
            second(answer)
        else:
            answer.full(200, {}, b"hello")

    return handler


async def test_a_stale_connection_is_never_replaced_where_repeating_is_not_safe() -> None:
    """F-WIRE-5"""
    async with serving(close_when_asked_again(Answer.cut)) as (server, client):
        await fetch(client, server.url())
        sink = await fetch(client, server.url("/again"), "POST", b"x", repeatable=False)
        assert isinstance(sink.error, ConnectionLost)
        assert len(server.requests) == 2


async def test_nothing_is_repeated_once_a_byte_of_the_answer_has_come() -> None:
    """F-WIRE-5"""

    def half(answer: Answer) -> None:
        answer.raw(b"HTTP/1.1 2")
        answer.cut()

    async with serving(close_when_asked_again(half)) as (server, client):
        await fetch(client, server.url())
        sink = await fetch(client, server.url("/again"))
        assert isinstance(sink.error, ConnectionLost)
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    "body", [compressed(b"hello" * 1000, "gzip")[:-9], b"this is not gzip"], ids=["cut", "wrong"]
)
async def test_a_broken_coding_fails_its_request_only(body: bytes) -> None:
    """F-WIRE-5: compressed bodies."""
    bad = answer_with(200, {"Content-Encoding": "gzip"}, body)
    async with serving(in_turn(bad, hello)) as (server, client):
        assert isinstance((await fetch(client, server.url())).error, ProtocolViolation)
        assert (await fetch(client, server.url())).body == b"hello"


async def test_a_body_that_breaks_its_coding_midway_ends_its_connection() -> None:
    """F-WIRE-5: nothing is read any more of a body that has no meaning."""

    async def handler(request: Request, answer: Answer) -> None:
        answer.head(200, {"Content-Encoding": "gzip", "Content-Length": "1000"})
        answer.raw(b"this is not gzip")
        await answer.stall()

    async with serving(handler) as (server, client):
        assert isinstance((await fetch(client, server.url())).error, ProtocolViolation)
        await asyncio.sleep(1)
        assert server.open_connections == 0


async def test_a_redirect_cut_short_is_a_lost_connection() -> None:
    """F-HTTP-8"""
    answer = b"HTTP/1.1 307 Moved\r\nLocation: /x\r\nContent-Length: 9\r\n\r\nx"
    async with serving(raw(answer)) as (server, client):
        sink = await fetch(client, server.url())
        assert isinstance(sink.error, ConnectionLost)
        assert sink.head is None


async def test_an_option_of_a_wrong_type_is_told_and_not_waited_for() -> None:
    """F-HTTP-12: whatever goes wrong while connecting, the request ends."""
    client = HttpClient(Dialer(NetworkOptions(ca_file=5)))  # type: ignore[arg-type]
    sink = await fetch(client, parse_url("https://localhost:1/"))
    await client.close()
    assert isinstance(sink.error, ConnectFailed)
    assert "TypeError" in sink.error.reason


async def test_a_connection_that_ends_while_a_login_has_it_is_not_kept() -> None:
    """F-HTTP-16: it comes back to the pool closed, and would stay there."""
    async with serving(hello) as (server, client):
        connection = await client.new_connection(server.url())
        await asyncio.sleep(1)
        server.drop_connections()
        await asyncio.sleep(1)
        client.release(connection)
        assert not client.claim(connection)
