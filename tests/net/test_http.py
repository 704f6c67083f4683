"""The HTTP client against servers that behave, and against those that do not."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from base64 import b64encode
from typing import Any, Callable
from urllib.parse import quote

import pytest

import mcpclient
from mcpclient.errors import (
    ConnectFailed,
    ConnectionLost,
    HttpError,
    ProtocolViolation,
    UsageError,
)
from mcpclient.framing.http1 import ResponseHead, ResponseParser
from mcpclient.framing.uri import parse_url
from mcpclient.net.dialing import Dialer
from mcpclient.net.http import Exchange, HttpClient, HttpRequest
from mcpclient.net.http_connection import HttpConnection
from mcpclient.net.network_options import NetworkOptions
from tests.net.http_fetch import Recorder, compressed, fetch, hello, raw, serving
from tests.support.http_server import Answer, Handler, HttpServer, Request, answer_with, in_turn

pytestmark = pytest.mark.virtual_time

# The pool


async def test_a_request_arrives_as_it_was_meant() -> None:
    """F-WIRE-5"""
    async with serving(hello) as (server, client):
        sink = await fetch(client, server.url("/a?b=c"), "POST", b"body", (("X-One", "1"),))
        assert (sink.status, sink.body, sink.error) == (200, b"hello", None)
        (request,) = server.requests
        assert (request.method, request.target, request.body) == ("POST", "/a?b=c", b"body")
        assert request.headers == {
            "host": server.url().authority,
            "x-one": "1",
            "content-length": "4",
        }


async def test_requests_in_sequence_share_a_connection_and_parallel_ones_do_not() -> None:
    """F-WIRE-5: keep-alive."""
    async with serving(hello) as (server, client):
        for _ in range(3):
            await fetch(client, server.url())
        assert server.connections == 1
        await asyncio.gather(*(fetch(client, server.url()) for _ in range(5)))
        assert server.connections == 5
        await asyncio.gather(*(fetch(client, server.url()) for _ in range(5)))
        assert server.connections == 5


async def test_headers_that_change_every_time_do_not_pile_up() -> None:
    """F-HTTP-1"""
    async with serving(hello) as (server, client):
        request = HttpRequest("GET", server.url(), ())
        for number in range(1000):
            request = request._replace(headers=(("X-Token", str(number)),))
            assert f"X-Token: {number}\r\n".encode() in client.encode(request)
        assert client._encode_field.cache_info().currsize <= 256


@pytest.mark.parametrize("header", [("Bad\r\nName", "x"), ("X", "a\r\nInjected: yes")])
async def test_a_header_that_cannot_be_sent_is_refused_at_once(header: tuple[str, str]) -> None:
    """F-HTTP-1"""
    async with serving(hello) as (server, client):
        with pytest.raises(UsageError):
            client.request(HttpRequest("GET", server.url(), (header,)), Recorder())
        assert server.connections == 0


async def test_a_connection_the_server_closes_while_idle_is_not_used_again() -> None:
    """F-WIRE-5: also for a request that may not be repeated."""
    async with serving(hello) as (server, client):
        await fetch(client, server.url())
        server.drop_connections()
        await asyncio.sleep(1)
        sink = await fetch(client, server.url(), "POST", b"", repeatable=False)
        assert sink.body == b"hello"
        assert server.connections == 2


async def test_the_pool_forgets_what_the_server_has_closed() -> None:
    """F-WIRE-5: it is not kept until another request looks for it."""
    async with serving(hello) as (server, client):
        await fetch(client, server.url())
        server.drop_connections()
        await asyncio.sleep(1)
        assert not any(client._idle.values())


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
        assert not client._connections
        await fetch(client, server.url(), "POST", b"", repeatable=False)
        assert server.connections == 2


async def test_each_idle_connection_has_its_own_time() -> None:
    """F-HTTP-16"""

    async def handler(request: Request, answer: Answer) -> None:
        answer.full(200, {"Keep-Alive": f"timeout={request.target[1:]}"}, b"")

    async with serving(handler) as (server, client):
        await asyncio.gather(*(fetch(client, server.url(f"/{n}")) for n in (21, 11, 3)))
        for seconds, left in ((25, 0), (1, 0)):
            await asyncio.sleep(seconds)
            assert server.open_connections == left
        assert not client._connections


async def test_a_connection_that_is_too_old_is_not_used_before_its_timer_comes() -> None:
    """F-HTTP-16"""
    async with serving(hello) as (server, client):
        await fetch(client, server.url())
        (connection,) = client._connections
        connection.expires_at = asyncio.get_running_loop().time()
        await fetch(client, server.url(), "POST", b"", repeatable=False)
        assert (server.connections, server.open_connections) == (2, 1)


async def test_a_connection_is_idle_from_the_end_of_a_long_request_on() -> None:
    """F-HTTP-16: not from its beginning."""

    async def handler(request: Request, answer: Answer) -> None:
        await asyncio.sleep(float(request.target[1:]))
        answer.full(200, {}, b"")

    async with serving(handler) as (server, client):
        for seconds in (0, 8, 4, 1):
            await fetch(client, server.url(f"/{seconds}"))
            await asyncio.sleep(0.9)
        assert (server.connections, server.open_connections) == (1, 1)


async def test_a_request_of_which_nothing_was_accepted_goes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-HTTP-16: the system refuses it at once, so that no server can have seen it."""
    client, loop = HttpClient(Dialer()), asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        url = parse_url(f"http://127.0.0.1:{listening.getsockname()[1]}/")
        for number in (1, 2):
            fetching = asyncio.ensure_future(fetch(client, url, "POST", b"x", repeatable=False))
            accepted, _ = await loop.sock_accept(listening)
            with accepted:
                assert (await loop.sock_recv(accepted, 1000)).startswith(b"POST / ")
                answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d" % number
                await loop.sock_sendall(accepted, answer)
                assert (await fetching).body == b"%d" % number
                # A reset arrives at once, and nothing looks for it before the next request.
                linger = struct.pack("ii", 1, 0)
                accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            monkeypatch.setattr(HttpConnection, "is_usable", lambda self: True)
    await client.close()


def close_when_asked_again(second: Callable[[Answer], None]) -> Handler:
    """Serve the first request of the first connection, then treat the next by ``second``."""

    async def handler(request: Request, answer: Answer) -> None:
        if request.connection == 1 and request.target == "/again":
            second(answer)
        else:
            answer.full(200, {}, b"hello")

    return handler


@pytest.mark.parametrize("ending", [Answer.cut, Answer.reset])
async def test_a_stale_connection_is_replaced_once_for_a_repeatable_request(
    ending: Callable[[Answer], None],
) -> None:
    """F-WIRE-5"""
    async with serving(close_when_asked_again(ending)) as (server, client):
        await fetch(client, server.url())
        sink = await fetch(client, server.url("/again"), "POST", b"x")
        assert (sink.body, sink.error) == (b"hello", None)
        assert [request.connection for request in server.requests] == [1, 1, 2]


async def test_a_second_idle_connection_is_not_tried() -> None:
    """F-WIRE-5: what is repeated goes over a fresh one; the others may be as stale."""

    async def handler(request: Request, answer: Answer) -> None:
        if request.connection <= 2 and request.target == "/again":
            answer.cut()
        else:
            answer.full(200, {}, b"hello")

    async with serving(handler) as (server, client):
        await asyncio.gather(*(fetch(client, server.url()) for _ in range(2)))
        sink = await fetch(client, server.url("/again"))
        assert (sink.body, sink.error) == (b"hello", None)
        assert [request.connection for request in server.requests[2:]][1:] == [3]


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


async def test_a_fresh_connection_that_fails_is_not_tried_again() -> None:
    """F-WIRE-5"""
    async with serving(raw()) as (server, client):
        sink = await fetch(client, server.url())
        assert isinstance(sink.error, ConnectionLost)
        assert len(server.requests) == 1


# Bodies


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_compressed_bodies_are_decoded(coding: str) -> None:
    """F-WIRE-5: compressed bodies."""
    body = compressed(b"hello" * 1000, coding)
    async with serving(answer_with(200, {"Content-Encoding": coding}, body)) as (server, client):
        assert (await fetch(client, server.url())).body == b"hello" * 1000


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


async def test_a_sink_that_has_had_enough_of_a_bomb_gets_no_more_of_it() -> None:
    """F-WIRE-5: decoding goes no further than somebody reads."""
    bomb = compressed(bytes(2**26), "gzip")
    async with serving(answer_with(200, {"Content-Encoding": "gzip"}, bomb)) as (server, client):
        sink = Recorder()
        exchange = client.request(HttpRequest("GET", server.url(), ()), sink)
        stopped = asyncio.get_running_loop().create_future()

        def stop() -> None:
            exchange.abort()
            stopped.set_result(None)

        sink.on_body = stop
        await stopped
        await asyncio.sleep(1)
        assert sink.pieces == 1
        assert len(sink.body) < 2**21


# Cookies


async def test_cookies_go_back_to_their_origin_beside_those_of_the_caller() -> None:
    """F-HTTP-14: cookies of load balancers."""
    async with serving(answer_with(200, {"Set-Cookie": "node=b7; Path=/"})) as (server, client):
        await fetch(client, server.url())
        await fetch(client, server.url())
        await fetch(client, server.url(), headers=(("Cookie", "own=1"), ("X-One", "1")))
        async with HttpServer({"GET": hello}) as other:
            await fetch(client, other.url())
            assert "cookie" not in other.requests[0].headers
        first, second, third = server.requests
        assert "cookie" not in first.headers
        assert second.headers["cookie"] == "node=b7"
        assert set(third.headers["cookie"].split("; ")) == {"own=1", "node=b7"}
        assert third.headers["x-one"] == "1"


async def test_a_cookie_of_any_answer_is_kept() -> None:
    """F-HTTP-14: the request that a redirect leads to has it already."""
    moved = answer_with(307, {"Location": "/new", "Set-Cookie": "node=b7; Path=/"})
    async with serving(
        in_turn(moved, answer_with(404, {"Set-Cookie": "node=b8; Path=/"}), hello)
    ) as (server, client):
        await fetch(client, server.url())
        await fetch(client, server.url())
        assert [request.headers.get("cookie") for request in server.requests] == [
            None,
            "node=b7",
            "node=b8",
        ]


# Redirects


@pytest.mark.parametrize("status", [307, 308])
async def test_redirects_on_the_same_origin_keep_method_body_and_headers(status: int) -> None:
    """F-HTTP-8: redirects never carry credentials elsewhere."""
    redirect = answer_with(status, {"Location": "/new?x=1"}, b"moved")
    async with serving(in_turn(redirect, hello)) as (server, client):
        headers = (("Authorization", "Bearer t"),)
        sink = Recorder()
        request = HttpRequest("POST", server.url("/old"), headers, b"body")
        exchange = client.request(request, sink)
        await sink.over
        assert sink.body == b"hello"
        assert exchange.url == server.url("/new?x=1")
        first, second = server.requests
        assert (second.method, second.target, second.body) == ("POST", "/new?x=1", b"body")
        assert second.headers == first.headers


async def test_a_redirected_request_is_sent_as_it_was_renewed() -> None:
    """F-AUTH-7: a proof that is good for one sending is not sent twice."""

    async def renew(request: HttpRequest) -> HttpRequest:
        return HttpRequest("POST", request.url, (("DPoP", "second"),), renew=renew)

    async with serving(in_turn(answer_with(307, {"Location": "/new"}), hello)) as (server, client):
        sink = Recorder()
        client.request(HttpRequest("POST", server.url(), (("DPoP", "first"),), renew=renew), sink)
        await sink.over
        sent = [(request.target, request.headers["dpop"]) for request in server.requests]
        assert sent == [("/mcp", "first"), ("/new", "second")]


@pytest.mark.parametrize(
    ("status", "location"),
    [
        (301, "/new"),
        (302, "/new"),
        (303, "/new"),
        (307, "http://other.example/mcp"),
        (308, "//127.0.0.2/mcp"),
        (307, "https://127.0.0.1/mcp"),
        (307, "gopher://x"),
        (307, None),
    ],
)
async def test_other_redirects_are_the_answer(status: int, location: str | None) -> None:
    """F-HTTP-8: nobody else is told anything."""
    headers = {"Location": location} if location is not None else {}
    async with serving(answer_with(status, headers)) as (server, client):
        sink = await fetch(client, server.url(), "POST", b"body")
        assert sink.status == status
        assert len(server.requests) == 1


@pytest.mark.parametrize("location", ["http://host.example/a", "http://host.example:443/a"])
def test_a_redirect_from_https_to_http_is_the_answer(location: str) -> None:
    """F-HTTP-8: the origin is another one, whatever the host and the port."""
    client = HttpClient(Dialer())
    request = HttpRequest("GET", parse_url("https://host.example/a"), ())
    exchange = object.__new__(Exchange)
    exchange._request, exchange._redirects = request, 0
    from_server = f"HTTP/1.1 307 Moved\r\nLocation: {location}\r\n\r\n"
    parser = ResponseParser()
    parser.start("GET")
    (head,) = parser.feed(from_server.encode())
    assert isinstance(head, ResponseHead)
    assert exchange._redirect_target(head) is None
    client.abort()


async def test_a_redirect_loop_ends() -> None:
    """F-HTTP-8"""
    async with serving(answer_with(307, {"Location": "/mcp"})) as (server, client):
        sink = await fetch(client, server.url(), "POST", b"body")
        assert sink.status == 307
        assert len(server.requests) == 6


async def test_a_redirect_cut_short_is_a_lost_connection() -> None:
    """F-HTTP-8"""
    answer = b"HTTP/1.1 307 Moved\r\nLocation: /x\r\nContent-Length: 9\r\n\r\nx"
    async with serving(raw(answer)) as (server, client):
        sink = await fetch(client, server.url())
        assert isinstance(sink.error, ConnectionLost)
        assert sink.head is None


# Giving up


async def test_no_server_is_a_failure_to_connect() -> None:
    """F-LIFE-7"""
    async with serving(hello) as (_, client):
        async with HttpServer() as other:
            nowhere = other.url()
        sink = await fetch(client, nowhere)
        assert isinstance(sink.error, ConnectFailed)


async def test_an_option_of_a_wrong_type_is_told_and_not_waited_for() -> None:
    """F-HTTP-12: whatever goes wrong while connecting, the request ends."""
    client = HttpClient(Dialer(NetworkOptions(ca_file=5)))  # type: ignore[arg-type]
    sink = await fetch(client, parse_url("https://localhost:1/"))
    await client.close()
    assert isinstance(sink.error, ConnectFailed)
    assert "TypeError" in sink.error.reason


async def test_an_aborted_request_closes_its_connection_and_is_silent() -> None:
    """F-API-8"""

    async def handler(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event("x")
        await answer.stall()

    async with serving(handler) as (server, client):
        sink = Recorder()
        exchange = client.request(HttpRequest("GET", server.url(), ()), sink)
        await asyncio.sleep(1)
        assert sink.pieces == 1
        exchange.abort()
        exchange.abort()
        await asyncio.sleep(1)
        assert server.open_connections == 0
        assert not sink.over.done()


@pytest.mark.parametrize("turns", range(12))
async def test_a_request_aborted_while_it_connects_leaves_nothing(turns: int) -> None:
    """F-API-8: at whichever turn of the loop that happens."""
    async with serving(hello) as (server, client):
        sink = Recorder()
        exchange = client.request(HttpRequest("GET", server.url(), ()), sink)
        for _ in range(turns):
            await asyncio.sleep(0)
        exchange.abort()
        await asyncio.sleep(1)
        assert not sink.over.done() or sink.body == b"hello"
        assert server.open_connections == len(client._connections)
        assert not client.tasks._tasks


async def test_a_sink_may_abort_at_the_head() -> None:
    """F-API-8: whatever else came with it is dropped."""

    class Impatient(Recorder):
        exchange: Exchange

        def head_received(self, head: ResponseHead) -> None:
            super().head_received(head)
            self.exchange.abort()

    async with serving(hello) as (server, client):
        sink = Impatient()
        sink.exchange = client.request(HttpRequest("GET", server.url(), ()), sink)
        await asyncio.sleep(1)
        assert sink.head is not None and sink.body == b""
        assert not client._connections


async def test_closing_ends_everything_and_is_silent() -> None:
    """F-LIFE-6"""

    async def stall(request: Request, answer: Answer) -> None:
        await answer.stall()

    async with serving(stall) as (server, client):
        running, connecting = Recorder(), Recorder()
        client.request(HttpRequest("GET", server.url(), ()), running)
        await asyncio.sleep(1)
        client.request(HttpRequest("GET", server.url(), ()), connecting)
        await asyncio.sleep(0)
        await client.close()
        await client.close()
        await asyncio.sleep(1)
        assert not running.over.done() and not connecting.over.done()
        assert server.open_connections == 0
        assert not client._connections and not client.tasks._tasks


async def test_a_connection_that_ends_while_a_login_has_it_is_not_kept() -> None:
    """F-HTTP-16: it comes back to the pool closed, and would stay there."""
    async with serving(hello) as (server, client):
        connection = await client.new_connection(server.url())
        await asyncio.sleep(1)
        server.drop_connections()
        await asyncio.sleep(1)
        assert not client._connections
        client.release(connection)
        assert not any(client._idle.values())


def test_sockets_are_closed_even_when_the_loop_is_gone() -> None:
    """F-LIFE-5: the guard of the test suite looks for what is left."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = parse_url(f"http://127.0.0.1:{listening.getsockname()[1]}/")

        async def main() -> HttpClient:
            client = HttpClient(Dialer())
            client.request(HttpRequest("GET", url, ()), Recorder())
            client.release(await client.new_connection(url))
            await client.tasks.wait()
            return client

        loop = asyncio.new_event_loop()
        client = loop.run_until_complete(main())
        loop.close()
        assert len(client._connections) == 2
        client.abort()
        assert not client._connections


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Refuse a request, and repeat all of it: as it is, in other spellings, in a challenge."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    words = [each.partition(": ")[2] for each in head.split("\r\n") if ": " in each]
    encoded = [b64encode(word.encode()).decode() for word in words]
    body = json.dumps({"head": head, "quoted": quote(head, safe=""), "encoded": encoded})
    challenge = " ".join(word for word in words if "Bearer" in word) or "Basic"
    writer.write(
        f"HTTP/1.1 403 No\r\nWWW-Authenticate: {challenge}\r\nContent-Length: {len(body)}\r\n"
        f"Connection: close\r\n\r\n{body}".encode()
    )
    writer.close()


SENT = {
    "a header": {"headers": {"X-Api-Key": "SECRET-key-1"}},
    "a header of no known name": {"headers": {"X-Corp": "SECRET-key-1"}},
    "a token": {"auth": "SECRET-token-1"},
    "a cookie": {"headers": {"Cookie": "session=SECRET-cookie"}},
    "a query": {"query": "?api_key=SECRET-query"},
    "a password": {"headers": {"Authorization": "Basic " + b64encode(b"me:SECRET-pw").decode()}},
}


@pytest.mark.parametrize("given", SENT.values(), ids=SENT)
@pytest.mark.parametrize("scheme", ["http", "ws"])
def test_credentials_that_a_server_repeats_are_not_shown(
    given: dict[str, Any], scheme: str
) -> None:
    """F-SAFE-6: not in the text of the error, nor in that of its causes."""

    async def refused() -> BaseException:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        options = {**given}
        url = f"{scheme}://127.0.0.1:{port}/mcp{options.pop('query', '')}"
        try:
            with pytest.raises(mcpclient.McpError) as caught:
                async with mcpclient.connect(url, **options):
                    pass
            return caught.value
        finally:
            server.close()

    error: BaseException | None = asyncio.run(refused())
    found = False
    while error is not None:
        assert "SECRET" not in str(error)
        found = found or isinstance(error, HttpError)
        error = error.__cause__ or error.__context__
    assert found
