"""One posted message and what becomes of it: answers, errors, event streams, and none of these."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
import zlib
from typing import Callable

import pytest

from mcpclient.errors import (
    ConnectFailed,
    ConnectionLost,
    HttpError,
    MessageTooLarge,
    ProtocolViolation,
)
from mcpclient.framing.headers import Headers
from mcpclient.framing.http1 import ResponseHead
from mcpclient.framing.uri import parse_url
from mcpclient.transports.http_transport import Post
from mcpclient.transports.streamable_http import StreamableHttpTransport
from tests.contract.transport_contract import ERA, answered, call, failed, post, said
from tests.support.http_server import Answer, Request, answer_with, in_turn
from tests.transports.test_streamable_http import (
    HTML,
    STATELESS,
    endpoint,
    failing,
    opened,
    result,
)

pytestmark = pytest.mark.virtual_time

# Answers that are none


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 405, 429, 500, 502, 503])
def test_an_error_status_with_html_is_an_error_with_all_its_facts(status: int) -> None:
    """F-HTTP-7: HTTP errors are told apart."""
    headers = {"Content-Type": "text/html", "WWW-Authenticate": "Bearer", "Retry-After": "7"}
    error = failing(answer_with(status, headers, HTML))
    assert type(error) is HttpError
    assert (error.status, error.body) == (status, HTML)
    assert error.headers["retry-after"] == "7"
    assert error.authenticate == ("Bearer",)
    assert "?" not in error.url and error.url.endswith("/mcp")


def test_a_result_under_a_status_that_is_no_success_is_none() -> None:
    """F-HTTP-7: 300 is the first of them."""

    async def choices(request: Request, answer: Answer) -> None:
        answer.json(result(request), status=300)

    error = failing(choices)
    assert type(error) is HttpError
    assert error.status == 300


def test_an_error_whose_body_never_ends_is_known_soon() -> None:
    """F-HTTP-7: it is not the end that matters."""

    async def endless(request: Request, answer: Answer) -> None:
        answer.head(500)
        answer.raw(b"x" * 100_000)
        await answer.stall()

    error = failing(endless)
    assert isinstance(error, HttpError)
    assert error.body == b"x" * 65536


def test_an_error_cut_short_is_that_error_still() -> None:
    """F-HTTP-7"""

    async def cut(request: Request, answer: Answer) -> None:
        answer.head(503, {"Content-Length": "100"})
        answer.raw(b"busy")
        answer.cut()

    error = failing(cut)
    assert isinstance(error, HttpError)
    assert (error.status, error.body) == (503, b"busy")


@pytest.mark.parametrize("body", [HTML, b"null", b'"text"', b"  "])
def test_what_is_no_message_says_so_and_shows_its_beginning(body: bytes) -> None:
    """F-HTTP-3"""
    error = failing(answer_with(200, {"Content-Type": "text/html; charset=utf-8"}, body))
    assert isinstance(error, ProtocolViolation)
    assert "text/html" in str(error) and body.decode() in str(error)


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc": "2.0", "id": 1, "result": {',
        b'{"jsonrpc": "2.0", "id": 1, "result": "\xff"}',
        b"[]",
        b"[1]",
        b"[" * 100_000 + b"]" * 100_000,
    ],
    ids=["half", "not utf-8", "empty batch", "no messages", "nested"],
)
def test_a_broken_message_fails_the_call_it_answers(body: bytes) -> None:
    """F-WIRE-7: unknown things are kept."""
    answer = answer_with(200, {"Content-Type": "application/json"}, body)
    assert isinstance(failing(answer), ProtocolViolation)


@pytest.mark.parametrize("status", [200, 202, 204])
def test_no_body_is_no_response(status: int) -> None:
    """F-HTTP-3: calls never hang when a server dies."""
    headers = {"Content-Length": "0"} if status != 204 else {}
    error = failing(answer_with(status, headers))
    assert isinstance(error, ConnectionLost)
    assert str(error) == "No response received for request 1 (tools/call)"


def test_an_answer_to_another_request_is_no_response() -> None:
    """F-HTTP-3"""
    other = b'{"jsonrpc": "2.0", "id": 99, "result": {}}'
    error = failing(answer_with(200, {"Content-Type": "application/json"}, other))
    assert isinstance(error, ConnectionLost)
    assert "No response received for request 1" in str(error)


@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 999\r\n\r\n{",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{",
    ],
    ids=["truncated", "bad chunk", "cut chunk", "bad coding", "two lengths"],
)
def test_a_broken_body_fails_its_call(body: bytes) -> None:
    """F-WIRE-5"""

    async def broken(request: Request, answer: Answer) -> None:
        answer.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + body)
        answer.cut()

    assert isinstance(failing(broken), (ConnectionLost, ProtocolViolation))


@pytest.mark.parametrize("encoded", [False, True])
def test_a_body_over_the_limit_fails_its_call(encoded: bool) -> None:
    """Pain 19, F-WIRE-5: what counts is the size after decompression."""

    async def long(request: Request, answer: Answer) -> None:
        body = json.dumps(result(request, "x" * 5000)).encode()
        headers = {"Content-Encoding": "deflate"} if encoded else {}
        answer.full(200, headers, zlib.compress(body) if encoded else body)

    error = failing(long, max_message_size=4000)
    assert isinstance(error, MessageTooLarge)
    assert error.limit == 4000


async def test_a_batch_in_a_body_is_taken_apart() -> None:
    """F-HTTP-3: revision 2025-03-26."""

    async def batch(request: Request, answer: Answer) -> None:
        answer.json([{"jsonrpc": "2.0", "method": "vendor/note"}, result(request)])

    async with opened({"POST /mcp": batch}) as (transport, inbox, _):
        assert await said(transport, inbox, call(1, "echo")) == "fine"
        assert inbox.notifications() == ["vendor/note"]


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "APPLICATION/JSON; charset=x"])
async def test_a_message_counts_whatever_its_content_type_says(kind: str) -> None:
    """F-HTTP-3: also with a byte order mark, and an id that became a string."""
    body = b'\xef\xbb\xbf\r\n{"jsonrpc": "2.0", "id": "1", "result": {}}'
    async with opened({"POST /mcp": answer_with(200, {"Content-Type": kind}, body)}) as (
        transport,
        inbox,
        _,
    ):
        await post(transport, call(1, "echo"))
        assert await inbox.answer_to("1") == {"jsonrpc": "2.0", "id": "1", "result": {}}
        assert not inbox.failures


# Event streams


async def test_an_event_stream_is_handled_while_it_comes() -> None:
    """F-HTTP-3: banners, comments and blank events are nothing; order is kept."""

    async def stream(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.chunk(b": hello\n\n\nevent: other\ndata: ignored\n\n")
        answer.event({"jsonrpc": "2.0", "method": "vendor/first"})
        answer.event("not JSON at all" * 10, event="ping")
        answer.event({"jsonrpc": "2.0", "id": 5, "method": "ping"})
        await asyncio.sleep(3)
        answer.event(result(request))
        answer.end()

    async with opened({"POST /mcp": stream}) as (transport, inbox, _):
        await post(transport, call(1, "echo"))
        await inbox.until(lambda: inbox.notifications() == ["vendor/first", "ping"])
        assert asyncio.get_running_loop().time() == 0
        assert await inbox.text_of(1) == "fine"


@pytest.mark.parametrize("ending", [Answer.end, Answer.cut, Answer.reset])
async def test_a_stream_that_ends_without_the_answer_fails_its_call(
    ending: Callable[[Answer], None],
) -> None:
    """F-HTTP-3, F-LIFE-7: within a second, whichever way it ends."""
    ended_at: list[float] = []

    async def stream(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event({"jsonrpc": "2.0", "method": "vendor/first"})
        await asyncio.sleep(1)
        ended_at.append(asyncio.get_running_loop().time())
        ending(answer)

    async with opened({"POST /mcp": stream}) as (transport, inbox, server):
        error = await failed(transport, inbox, call(1, "echo"))
        assert asyncio.get_running_loop().time() - ended_at[0] < 1
        assert isinstance(error, ConnectionLost)
        assert server.requests_of("GET") == []  # there is no event id to go on from
        if ending is Answer.end:
            assert str(error) == "No response received for request 1 (tools/call)"


async def test_a_server_that_answers_can_be_reached() -> None:
    """F-HTTP-7: what an earlier attempt found out is over."""
    async with opened({"POST /mcp": answer_with(500)}) as (transport, inbox, _):
        transport.unreachable = ConnectFailed("the server", "refused")
        await failed(transport, inbox, call(1, "echo"))
        assert transport.unreachable is None


def test_an_event_over_the_limit_fails_its_call_at_once() -> None:
    """F-HTTP-3: an answer that was dropped for its size has come all the same."""

    async def long(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event(result(request, "x" * 5000))
        answer.end()

    assert isinstance(failing(long, max_message_size=4000), MessageTooLarge)


def test_a_broken_event_fails_its_call_only() -> None:
    """F-WIRE-7"""

    async def broken(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event("{" * 50)
        answer.end()

    assert isinstance(failing(broken), ProtocolViolation)


async def test_the_rest_of_a_stream_is_drained_but_not_for_ever() -> None:
    """F-HTTP-3: the answer counts at once; the connection is given 30 s to end by itself."""

    async def stream(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event(result(request))
        await asyncio.sleep(5)
        answer.event({"jsonrpc": "2.0", "method": "vendor/late"})
        await answer.stall()

    async with opened({"POST /mcp": stream}) as (transport, inbox, server):
        assert await said(transport, inbox, call(1, "echo")) == "fine"
        assert asyncio.get_running_loop().time() == 0
        await inbox.until(lambda: inbox.notifications() == ["vendor/late"])
        await asyncio.sleep(24)
        assert server.open_connections == 1
        await asyncio.sleep(2)
        assert server.open_connections == 0
        assert not inbox.failures


async def test_nothing_is_read_while_it_is_held() -> None:
    """F-BRIDGE-1: else what a slow host does not read would pile up here."""

    async def stream(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event({"jsonrpc": "2.0", "method": "vendor/first"})
        await asyncio.sleep(2)
        answer.event(result(request))
        answer.end()

    async with opened({"POST /mcp": stream}) as (transport, inbox, _):
        await post(transport, call(1, "echo"))
        await inbox.until(lambda: inbox.messages)
        transport.hold(is_held=True)
        await asyncio.sleep(10)
        assert inbox.notifications() == ["vendor/first"] and len(inbox.messages) == 1
        transport.hold(is_held=False)
        assert await inbox.text_of(1) == "fine"


async def test_a_drained_connection_is_used_again() -> None:
    """F-HTTP-3, F-WIRE-5"""
    async with opened(endpoint(json=False)) as (transport, inbox, server):
        for number in range(1, 6):
            await answered(transport, inbox, call(number, "echo", text="x"))
            await asyncio.sleep(1)
        assert server.connections == 1


# Notifications


async def test_a_notification_is_sent_when_the_server_has_taken_it() -> None:
    """F-LIFE-4: a call made after ``notifications/initialized`` cannot overtake it."""

    async def slow(request: Request, answer: Answer) -> None:
        await asyncio.sleep(5)
        answer.head(202, {"Content-Length": "1"})
        await asyncio.sleep(5)
        answer.raw(b"x")

    async with opened({"POST /mcp": slow}) as (transport, inbox, _):
        loop = asyncio.get_running_loop()
        await post(transport, ERA.notification("notifications/initialized", None))
        assert loop.time() == 5
        assert not inbox.failures


async def test_a_notification_that_is_refused_or_never_taken_is_reported() -> None:
    """F-HTTP-13: there is no caller whose timeout would end it."""

    async def stall(request: Request, answer: Answer) -> None:
        await answer.stall()

    async with opened({"POST /mcp": in_turn(answer_with(500), stall)}) as (transport, inbox, _):
        note = ERA.notification("notifications/initialized", None)
        await post(transport, note)
        await post(transport, note)
        assert asyncio.get_running_loop().time() == 30
        (_, refused), (request_id, given_up) = inbox.failures
        assert isinstance(refused, HttpError) and refused.status == 500
        assert isinstance(given_up, ConnectionLost) and request_id is None
        assert not transport.posts


async def test_nothing_is_reported_of_a_notification_under_way_at_the_end() -> None:
    """F-LIFE-5"""

    async def stall(request: Request, answer: Answer) -> None:
        await answer.stall()

    async with opened({"POST /mcp": stall}) as (transport, inbox, _):
        sending = asyncio.ensure_future(post(transport, ERA.notification("note", None)))
        await asyncio.sleep(1)
        await transport.close()
        await sending
        await asyncio.sleep(100)
        assert not inbox.failures


async def test_an_event_stream_may_answer_a_notification() -> None:
    """F-HTTP-3: some servers say something where 202 would do."""

    async def chatty(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event({"jsonrpc": "2.0", "method": "vendor/thanks"})
        answer.end()

    async with opened({"POST /mcp": chatty}) as (transport, inbox, _):
        await post(transport, ERA.notification("note", None))
        await inbox.until(lambda: inbox.notifications() == ["vendor/thanks"])
        await asyncio.sleep(1)
        assert not inbox.failures and not transport.posts


# Silence


@pytest.mark.parametrize(("liveness", "dies_at"), [(10, 23), (None, None)])
async def test_a_subscription_that_falls_silent_is_dead_where_that_was_asked_for(
    liveness: float | None, dies_at: float | None
) -> None:
    """F-HTTP-13, F-API-14"""

    async def stream(request: Request, answer: Answer) -> None:
        answer.stream()
        for _ in range(2):
            await asyncio.sleep(6.5)
            answer.chunk(b": alive\n\n")
        await answer.stall()

    async with opened({"POST /mcp": stream}, liveness=liveness) as (transport, inbox, server):
        await post(transport, STATELESS.request(1, "subscriptions/listen", {}, None))
        if dies_at is None:
            await asyncio.sleep(3600)
            assert not inbox.failures
        else:
            await inbox.until(lambda: inbox.failures)
            assert asyncio.get_running_loop().time() == dies_at
            assert isinstance(inbox.failures[0][1], ConnectionLost)
            await asyncio.sleep(1)
            assert server.open_connections == 0


# Without a network

TRANSPORT_URL = parse_url("http://server.example/mcp")


def test_the_end_of_the_transport_ends_a_resumption() -> None:
    """F-LIFE-5: also where its loop has ended before."""

    async def main(loop: asyncio.AbstractEventLoop) -> Post:
        begun = Post(StreamableHttpTransport(TRANSPORT_URL), call(1, "echo"), "s")
        begun.resumption = loop.create_task(asyncio.sleep(1000))
        return begun

    loop = asyncio.new_event_loop()
    begun = loop.run_until_complete(main(loop))
    assert begun.resumption is not None
    begun.abort()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(begun.resumption)
    loop.close()
    begun.abort()


async def test_a_body_in_tiny_pieces_takes_no_more_memory_than_its_size() -> None:
    """F-WIRE-5: a list of them took 26 times as much."""
    pieces = 50_000
    answered = Post(StreamableHttpTransport(TRANSPORT_URL), call(1, "echo"), "s")
    headers = Headers([("Content-Type", "application/json")])
    answered.head_received(ResponseHead(200, "", headers, "1.1"))
    tracemalloc.start()
    try:
        for _ in range(pieces):
            answered.body_received(bytes(2))
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < 5 * pieces
