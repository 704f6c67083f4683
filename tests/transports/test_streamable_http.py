"""Streamable HTTP against servers that misbehave; what all transports keep is in tests/contract."""

from __future__ import annotations

import asyncio
import json
import logging
import zlib
from collections.abc import Awaitable, Mapping
from typing import Any, Callable

import pytest

from mcpclient.errors import (
    ConnectFailed,
    ConnectionLost,
    HttpError,
    McpError,
    MessageTooLarge,
    PeerError,
    ProtocolViolation,
    SessionExpired,
    UsageError,
)
from mcpclient.protocol.era import ClientIdentity
from mcpclient.protocol.era_stateless import StatelessEra
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.base import Abandoned
from mcpclient.transports.streamable_http import StreamableHttpTransport
from tests.contract.transport_contract import ERA, call, post
from tests.support.http_server import Answer, Handler, HttpServer, Request, answer_with, in_turn
from tests.support.inbox import Inbox
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.support.virtual_time import run

STATELESS = StatelessEra("2026-07-28", ClientIdentity({"name": "test", "version": "1"}))

Work = Callable[[StreamableHttpTransport, Inbox, HttpServer], Awaitable[None]]


def run_with(routes: Mapping[str, Handler], work: Work, **options: Any) -> None:
    """Run ``work`` with an open transport to a server with these routes, and close it."""

    async def main() -> None:
        async with HttpServer(routes) as server:
            transport = StreamableHttpTransport(server.url(), **options)
            inbox = Inbox()
            await transport.open(inbox)
            try:
                await work(transport, inbox, server)
            finally:
                await transport.close()

    run(main())


def endpoint(**options: Any) -> dict[str, Handler]:
    return StreamableEndpoint(McpServer(), **options).routes


def initialize(request_id: int = 1) -> Outgoing:
    return ERA.request(request_id, "initialize", ERA.initialize_params(), None)


def result(request: Request, text: str = "fine") -> dict[str, Any]:
    content = {"content": [{"type": "text", "text": text}]}
    return {"jsonrpc": "2.0", "id": request.message["id"], "result": content}


async def fine(request: Request, answer: Answer) -> None:
    """Answer a call properly."""
    answer.json(result(request))


async def failure_of(transport: StreamableHttpTransport, inbox: Inbox, handler_id: int) -> McpError:
    with pytest.raises(McpError) as caught:
        await inbox.answer_to(handler_id)
    return caught.value


def failing(handler: Handler, **options: Any) -> McpError:
    """Return what one bad answer makes of its call; the next call has to work."""
    errors: list[McpError] = []

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, call(1, "echo", text="x"))
        errors.append(await failure_of(transport, inbox, 1))
        await post(transport, call(2, "echo", text="x"))
        assert await inbox.text_of(2) == "fine"
        assert not transport._posts

    run_with({"POST /mcp": in_turn(handler, fine), "GET /mcp": answer_with(405)}, work, **options)
    return errors[0]


# What is sent


def test_a_message_is_a_post_with_the_headers_of_the_specification() -> None:
    """F-HTTP-1"""

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, call(7, "echo", text="hi"))
        assert await inbox.text_of(7) == "hi"
        (request,) = server.requests
        assert (request.method, request.target) == ("POST", "/mcp")
        assert request.message == call(7, "echo", text="hi").message
        assert request.headers["accept"] == "application/json, text/event-stream"
        assert request.headers["content-type"] == "application/json"
        assert request.headers["accept-encoding"] == "gzip, deflate"
        assert request.headers["mcp-protocol-version"] == "2025-11-25"

    run_with(endpoint(), work)


def test_headers_of_the_stateless_era_are_sent() -> None:
    """F-HTTP-9"""

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        params = {"name": "echo", "arguments": {"text": "x"}}
        await post(transport, STATELESS.request(1, "tools/call", params, None))
        assert await inbox.text_of(1) == "x"
        headers = server.requests[0].headers
        assert headers["mcp-method"] == "tools/call"
        assert headers["mcp-name"] == "echo"

    run_with(StreamableEndpoint(McpServer("stateless")).routes, work)


def test_headers_of_the_caller_come_from_three_places() -> None:
    """F-HTTP-1, pain 12"""

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        outgoing = call(1, "echo", text="x")
        outgoing.caller_headers = {"Authorization": "Bearer call"}
        await post(transport, outgoing)
        await inbox.answer_to(1)
        await post(transport, call(2, "echo", text="x"))
        await inbox.answer_to(2)
        first, second = server.requests
        assert (first.headers["authorization"], first.headers["x-app"]) == ("Bearer call", "a")
        assert (second.headers["authorization"], second.headers["x-app"]) == ("Bearer all", "a")

    headers = {"Authorization": "Bearer all", "X-App": "a"}
    run_with(endpoint(), work, headers=headers)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_provider_is_asked_for_every_request(is_async: bool) -> None:
    """F-HTTP-1, pain 12: POST, GET and DELETE."""
    asked = 0

    def provide() -> dict[str, str]:
        nonlocal asked
        asked += 1
        return {"X-Count": str(asked)}

    async def provide_later() -> dict[str, str]:
        await asyncio.sleep(1)
        return provide()

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, initialize())
        await inbox.answer_to(1)
        await transport.listen({})
        await post(transport, ERA.notification("notifications/initialized", None))
        await transport.close()
        counts = [(request.method, request.headers["x-count"]) for request in server.requests]
        assert counts == [("POST", "1"), ("GET", "2"), ("POST", "3"), ("DELETE", "4")]

    headers = provide_later if is_async else provide
    run_with(endpoint(session="s", listens=True), work, headers=headers, listen_wait=5)


def test_parallel_calls_with_tokens_of_their_own_never_mix() -> None:
    """F-HTTP-1, pain 12"""

    async def whoami(request: Request, answer: Answer) -> None:
        answer.json(result(request, request.headers["authorization"]))

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        for number in range(100):
            outgoing = call(number, "whoami")
            outgoing.caller_headers = {"Authorization": f"Bearer {number}"}
            await post(transport, outgoing)
        for number in range(100):
            assert await inbox.text_of(number) == f"Bearer {number}"

    run_with({"POST /mcp": whoami}, work)


def test_a_provider_that_fails_fails_the_call_it_was_asked_for() -> None:
    """F-HTTP-1: the exception is the caller's own."""

    def provide() -> dict[str, str]:
        raise LookupError("no token today")

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        with pytest.raises(LookupError, match="no token today"):
            await post(transport, call(1, "echo", text="x"))
        await transport.listen({})
        assert server.requests == []

    run_with(endpoint(), work, headers=provide)


def test_closing_survives_a_provider_that_fails() -> None:
    """F-HTTP-2: the session is ended without it."""
    tokens = iter([{"X-Token": "first"}])

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, initialize())
        await inbox.answer_to(1)
        await transport.close()
        assert [request.method for request in server.requests] == ["POST", "DELETE"]

    run_with(endpoint(session="s"), work, headers=lambda: next(tokens))


def test_a_notification_is_sent_when_the_server_has_taken_it() -> None:
    """F-LIFE-4: a call made after ``notifications/initialized`` cannot overtake it."""

    async def slow(request: Request, answer: Answer) -> None:
        await asyncio.sleep(5)
        answer.head(202, {"Content-Length": "1"})
        await asyncio.sleep(5)
        answer.raw(b"x")

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        loop = asyncio.get_running_loop()
        await post(transport, ERA.notification("notifications/initialized", None))
        assert loop.time() == 5
        assert not inbox.failures

    run_with({"POST /mcp": slow}, work)


def test_a_notification_that_is_refused_or_never_taken_is_reported() -> None:
    """F-HTTP-13: there is no caller whose timeout would end it."""

    async def stall(request: Request, answer: Answer) -> None:
        await answer.stall()

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        note = ERA.notification("notifications/initialized", None)
        await post(transport, note)
        await post(transport, note)
        assert asyncio.get_running_loop().time() == 30
        (_, refused), (request_id, given_up) = inbox.failures
        assert isinstance(refused, HttpError) and refused.status == 500
        assert isinstance(given_up, ConnectionLost) and request_id is None
        assert not transport._posts

    run_with({"POST /mcp": in_turn(answer_with(500), stall)}, work)


def test_nothing_is_reported_of_a_notification_under_way_at_the_end() -> None:
    """F-LIFE-6"""

    async def stall(request: Request, answer: Answer) -> None:
        await answer.stall()

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        sending = asyncio.ensure_future(post(transport, ERA.notification("note", None)))
        await asyncio.sleep(1)
        await transport.close()
        await sending
        await asyncio.sleep(100)
        assert not inbox.failures

    run_with({"POST /mcp": stall}, work)


def test_an_event_stream_may_answer_a_notification() -> None:
    """F-HTTP-3: some servers say something where 202 would do."""

    async def chatty(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event({"jsonrpc": "2.0", "method": "vendor/thanks"})
        answer.end()

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, ERA.notification("note", None))
        await inbox.until(lambda: inbox.notifications() == ["vendor/thanks"])
        await asyncio.sleep(1)
        assert not inbox.failures and not transport._posts

    run_with({"POST /mcp": chatty}, work)


# Answers that are none


HTML = b"<html><body>502 Bad Gateway</body></html>"


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 405, 429, 500, 502, 503])
def test_an_error_status_with_html_is_an_error_with_all_its_facts(status: int) -> None:
    """F-HTTP-7, pain 5"""
    headers = {"Content-Type": "text/html", "WWW-Authenticate": "Bearer", "Retry-After": "7"}
    error = failing(answer_with(status, headers, HTML))
    assert type(error) is HttpError
    assert (error.status, error.body) == (status, HTML)
    assert error.headers["retry-after"] == "7"
    assert error.authenticate == ("Bearer",)
    assert "?" not in error.url and error.url.endswith("/mcp")


def test_a_json_rpc_error_under_an_error_status_is_the_peers() -> None:
    """F-HTTP-7"""

    async def refuse(request: Request, answer: Answer) -> None:
        error = {"code": -32601, "message": "no such method"}
        answer.json({"jsonrpc": "2.0", "id": request.message["id"], "error": error}, status=400)

    error = failing(refuse)
    assert isinstance(error, PeerError) and error.code == -32601
    assert isinstance(error.__cause__, HttpError)


@pytest.mark.parametrize("length", [70_000, 10_000_000])
def test_the_body_of_an_error_is_bounded(length: int) -> None:
    """F-HTTP-7, pain 5"""
    error = failing(answer_with(500, {}, b"x" * length))
    assert isinstance(error, HttpError)
    assert error.body == b"x" * 65536


def test_an_error_whose_body_never_ends_is_known_soon() -> None:
    """F-HTTP-7: it is not the end that matters."""

    async def endless(request: Request, answer: Answer) -> None:
        answer.head(500)
        answer.raw(b"x" * 100_000)
        await answer.stall()

    assert isinstance(failing(endless), HttpError)


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
    """F-WIRE-7, pain 16"""
    answer = answer_with(200, {"Content-Type": "application/json"}, body)
    assert isinstance(failing(answer), ProtocolViolation)


@pytest.mark.parametrize("status", [200, 202, 204])
def test_no_body_is_no_response(status: int) -> None:
    """F-HTTP-3, pain 1"""
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


def test_a_batch_in_a_body_is_taken_apart() -> None:
    """F-HTTP-3: revision 2025-03-26."""

    async def batch(request: Request, answer: Answer) -> None:
        answer.json([{"jsonrpc": "2.0", "method": "vendor/note"}, result(request)])

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, call(1, "echo"))
        assert await inbox.text_of(1) == "fine"
        assert inbox.notifications() == ["vendor/note"]

    run_with({"POST /mcp": batch}, work)


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "APPLICATION/JSON; charset=x"])
def test_a_message_counts_whatever_its_content_type_says(kind: str) -> None:
    """F-HTTP-3, pain 16: also with a byte order mark, and an id that became a string."""
    body = b'\xef\xbb\xbf\r\n{"jsonrpc": "2.0", "id": "1", "result": {}}'

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, call(1, "echo"))
        assert await inbox.answer_to("1") == {"jsonrpc": "2.0", "id": "1", "result": {}}
        assert not inbox.failures

    run_with({"POST /mcp": answer_with(200, {"Content-Type": kind}, body)}, work)


# Event streams


def test_an_event_stream_is_handled_while_it_comes() -> None:
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

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, call(1, "echo"))
        await inbox.until(lambda: inbox.notifications() == ["vendor/first", "ping"])
        assert asyncio.get_running_loop().time() == 0
        assert await inbox.text_of(1) == "fine"

    run_with({"POST /mcp": stream}, work)


@pytest.mark.parametrize("ending", [Answer.end, Answer.cut, Answer.reset])
def test_a_stream_that_ends_without_the_answer_fails_its_call(
    ending: Callable[[Answer], None],
) -> None:
    """F-HTTP-3, F-LIFE-7, pain 1: within a second, whichever way it ends."""
    times: list[float] = []

    async def stream(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event({"jsonrpc": "2.0", "method": "vendor/first"})
        await asyncio.sleep(1)
        times.append(asyncio.get_running_loop().time())
        ending(answer)

    error = failing(stream)
    assert isinstance(error, ConnectionLost)
    if ending is Answer.end:
        assert str(error) == "No response received for request 1 (tools/call)"


def test_an_event_over_the_limit_fails_its_call_at_once() -> None:
    """Pain 19"""

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


def test_the_rest_of_a_stream_is_drained_but_not_for_ever() -> None:
    """F-HTTP-3: the answer counts at once; the connection is given 30 s to end by itself."""

    async def stream(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event(result(request))
        await asyncio.sleep(5)
        answer.event({"jsonrpc": "2.0", "method": "vendor/late"})
        await answer.stall()

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, call(1, "echo"))
        assert await inbox.text_of(1) == "fine"
        assert asyncio.get_running_loop().time() == 0
        await inbox.until(lambda: inbox.notifications() == ["vendor/late"])
        await asyncio.sleep(24)
        assert server.open_connections == 1
        await asyncio.sleep(2)
        assert server.open_connections == 0
        assert not inbox.failures

    run_with({"POST /mcp": stream}, work)


def test_a_drained_connection_is_used_again() -> None:
    """F-HTTP-3, F-WIRE-5"""

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        for number in range(1, 6):
            await post(transport, call(number, "echo", text="x"))
            await inbox.answer_to(number)
            await asyncio.sleep(1)
        assert server.connections == 1

    run_with(endpoint(json=False), work)


# Resuming


def broken_stream(*events: tuple[str, str], retry: int | None = None) -> Handler:
    """Begin a stream with an event id, send these events, and drop the connection."""

    async def handler(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event(id="start", event="priming", message="", retry=retry)
        for event_id, method in events:
            answer.event({"jsonrpc": "2.0", "method": method}, id=event_id)
        answer.cut()

    return handler


def test_a_broken_stream_is_resumed_and_each_event_comes_once() -> None:
    """F-HTTP-5, pain 37"""
    call_id = 1

    async def resumed(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event({"jsonrpc": "2.0", "method": "vendor/two"}, id="2")  # came before
        answer.event({"jsonrpc": "2.0", "method": "vendor/three"}, id="3")
        answer.event({"jsonrpc": "2.0", "id": call_id, "result": {"ok": True}}, id="4")
        await answer.stall()

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, call(call_id, "echo"))
        assert (await inbox.answer_to(call_id))["result"] == {"ok": True}
        assert inbox.notifications() == ["vendor/one", "vendor/two", "vendor/three"]
        (get,) = server.requests_of("GET")
        assert get.headers["last-event-id"] == "2"
        assert get.headers["accept"] == "text/event-stream"
        assert asyncio.get_running_loop().time() == 4
        await asyncio.sleep(1)
        assert server.open_connections == 0 and not transport._posts

    first = broken_stream(("1", "vendor/one"), ("2", "vendor/two"), retry=4000)
    run_with({"POST /mcp": first, "GET /mcp": resumed}, work)


def test_resuming_goes_on_over_several_breaks() -> None:
    """F-HTTP-5: progress resets the count of tries."""
    left = list(range(1, 12))

    async def step(request: Request, answer: Answer) -> None:
        number = left.pop(0)
        assert request.headers["last-event-id"] == (f"e{number - 1}" if number > 1 else "start")
        answer.stream()
        if left:
            answer.event({"jsonrpc": "2.0", "method": f"vendor/{number}"}, id=f"e{number}")
            answer.cut()
        else:
            answer.event({"jsonrpc": "2.0", "id": 1, "result": {}}, id="end")

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, call(1, "echo"))
        await inbox.answer_to(1)
        assert len(inbox.notifications()) == 10

    run_with({"POST /mcp": broken_stream(retry=10), "GET /mcp": step}, work)


@pytest.mark.parametrize(
    ("handler", "tries", "cause"),
    [(answer_with(405), 1, HttpError), (answer_with(404), 1, HttpError),
     (answer_with(503), 5, HttpError), (broken_stream(), 5, ConnectionLost)],
)  # fmt: skip
def test_resuming_is_given_up_and_the_call_fails(
    handler: Handler, tries: int, cause: type[McpError]
) -> None:
    """F-HTTP-5, F-HTTP-4: at most five tries without progress."""

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, call(1, "echo"))
        error = await failure_of(transport, inbox, 1)
        assert isinstance(error, ConnectionLost)
        assert "No response received for request 1" in str(error)
        assert isinstance(error.__cause__, cause)
        assert len(server.requests_of("GET")) == tries
        assert len(server.requests_of("POST")) == 1
        assert not transport._posts

    run_with({"POST /mcp": broken_stream(), "GET /mcp": handler}, work)


def test_a_call_given_up_while_it_is_being_resumed_ends_that() -> None:
    """F-API-8"""

    async def stall(request: Request, answer: Answer) -> None:
        answer.stream()
        await answer.stall()

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        outgoing = call(1, "echo")
        await post(transport, outgoing)
        await asyncio.sleep(10)
        assert server.open_connections == 1
        assert transport.abandon(outgoing) is Abandoned.STREAM_CLOSED
        await asyncio.sleep(1)
        assert server.open_connections == 0
        assert not inbox.failures

    run_with({"POST /mcp": broken_stream(), "GET /mcp": stall}, work)


def test_a_request_of_the_stateless_era_is_never_resumed() -> None:
    """F-LIFE-2"""

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, STATELESS.request(1, "tools/call", {"name": "x"}, None))
        assert isinstance(await failure_of(transport, inbox, 1), ConnectionLost)
        assert server.requests_of("GET") == []

    run_with({"POST /mcp": broken_stream(), "GET /mcp": answer_with(405)}, work)


# Sessions


def test_a_session_is_echoed_and_ended() -> None:
    """F-HTTP-2, F-LIFE-4"""

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, initialize())
        await inbox.answer_to(1)
        await transport.listen({"MCP-Protocol-Version": "2025-06-18"})
        await post(transport, call(2, "echo", text="x"))
        await inbox.answer_to(2)
        await transport.close()
        await transport.close()
        assert [request.method for request in server.requests] == ["POST", "GET", "POST", "DELETE"]
        opening, get, later, delete = server.requests
        assert "mcp-session-id" not in opening.headers
        for request in (get, later, delete):
            assert request.headers["mcp-session-id"] == "abc"
        for request in (get, delete):
            assert request.headers["mcp-protocol-version"] == "2025-06-18"

    run_with(endpoint(session="abc", listens=True), work)


def test_a_session_that_is_gone_is_told_apart_and_another_can_begin() -> None:
    """F-HTTP-6, pain 3"""
    service = StreamableEndpoint(McpServer(), session="one")

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, initialize())
        await inbox.answer_to(1)
        service.session = "two"
        await post(transport, call(2, "echo", text="x"))
        error = await failure_of(transport, inbox, 2)
        assert isinstance(error, SessionExpired) and error.status == 404
        await post(transport, initialize(3))
        await inbox.answer_to(3)
        assert "mcp-session-id" not in server.requests[-1].headers
        await post(transport, call(4, "echo", text="x"))
        assert await inbox.text_of(4) == "x"

    run_with(service.routes, work)


def test_404_without_a_session_is_no_expiry() -> None:
    """F-HTTP-6"""
    assert type(failing(answer_with(404))) is HttpError


def test_a_server_without_sessions_gets_no_delete() -> None:
    """F-HTTP-2"""

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, initialize())
        await inbox.answer_to(1)
        await transport.close()
        assert server.requests_of("DELETE") == []

    run_with(endpoint(), work)


def test_a_session_id_that_no_header_can_carry_is_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """F-HTTP-2"""
    caplog.set_level(logging.WARNING)

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, initialize())
        await inbox.answer_to(1)
        await post(transport, call(2, "echo", text="x"))
        await inbox.answer_to(2)
        assert "mcp-session-id" not in server.requests[-1].headers
        assert "ignored a session id" in caplog.text

    async def odd(request: Request, answer: Answer) -> None:
        answer.json(result(request), headers={"Mcp-Session-Id": "a b\x80"})

    run_with({"POST /mcp": odd}, work)


async def _stall(request: Request, answer: Answer) -> None:
    await answer.stall()


@pytest.mark.parametrize(
    ("farewell", "seconds"),
    [(answer_with(204), 0), (answer_with(404), 0), (answer_with(405), 0), (answer_with(500), 0),
     (_stall, 2)],
)  # fmt: skip
def test_ending_a_session_is_quiet_and_bounded(
    farewell: Handler, seconds: float, caplog: pytest.LogCaptureFixture
) -> None:
    """F-HTTP-2, F-LIFE-6, pain 41"""

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, initialize())
        await inbox.answer_to(1)
        await post(transport, call(2, "never"))
        loop = asyncio.get_running_loop()
        began = loop.time()
        await transport.close()
        assert loop.time() - began == seconds
        assert len(server.requests_of("DELETE")) == 1
        await asyncio.sleep(1)
        assert server.open_connections == 0
        assert not inbox.failures

    run_with({**endpoint(session="s"), "DELETE /mcp": farewell}, work)
    assert caplog.records == []


def test_a_server_that_is_gone_needs_no_farewell() -> None:
    """F-LIFE-6, pain 41"""

    async def main() -> None:
        async with HttpServer(endpoint(session="s")) as server:
            transport = StreamableHttpTransport(server.url())
            inbox = Inbox()
            await transport.open(inbox)
            await post(transport, initialize())
            await inbox.answer_to(1)
        await transport.close()
        assert not inbox.failures

    run(main())


# The server's own channel


@pytest.mark.parametrize(
    "refusal",
    [answer_with(405), answer_with(404), answer_with(406), answer_with(200, {}, HTML),
     answer_with(204), answer_with(302, {"Location": "/"})],
)  # fmt: skip
def test_a_channel_that_is_not_offered_is_asked_for_once(
    refusal: Handler, caplog: pytest.LogCaptureFixture
) -> None:
    """F-HTTP-4, pain 36"""
    caplog.set_level(logging.INFO)

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await transport.listen({})
        assert asyncio.get_running_loop().time() == 0
        await asyncio.sleep(3600)
        assert len(server.requests_of("GET")) == 1
        assert not inbox.failures and not inbox.lost

    run_with({"GET /mcp": refusal}, work)
    assert caplog.records == []


@pytest.mark.parametrize("wait", [0.0, 1.0, 3.0])
def test_the_wait_for_the_channel_is_bounded(wait: float) -> None:
    """F-LIFE-4"""

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await transport.listen({})
        assert asyncio.get_running_loop().time() == wait

    run_with({"GET /mcp": _stall}, work, listen_wait=wait)


def test_a_channel_that_breaks_is_opened_again_where_it_stopped() -> None:
    """F-HTTP-4, pain 37"""

    async def second(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event({"jsonrpc": "2.0", "method": "vendor/one"}, id="1")
        answer.event({"jsonrpc": "2.0", "method": "vendor/two"}, id="2")
        await answer.stall()

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await transport.listen({})
        await inbox.until(lambda: len(inbox.messages) == 2)
        assert inbox.notifications() == ["vendor/one", "vendor/two"]
        assert server.requests[1].headers["last-event-id"] == "1"
        assert asyncio.get_running_loop().time() == 2.5

    first = broken_stream(("1", "vendor/one"), retry=2500)
    run_with({"GET /mcp": in_turn(first, second)}, work)


def test_a_channel_that_is_never_answered_is_given_up() -> None:
    """F-HTTP-4, F-HTTP-13: it may not be offered at all, so nobody is told."""

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await transport.listen({})
        await asyncio.sleep(3600)
        assert len(server.requests_of("GET")) == 6
        assert not inbox.failures and not inbox.lost

    run_with({"GET /mcp": _stall}, work, liveness=60)


def test_a_channel_that_is_lost_for_good_is_reported() -> None:
    """F-HTTP-4, F-API-20: from then on nobody hears the server's own messages."""

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await transport.listen({})
        await asyncio.sleep(3600)
        assert len(server.requests_of("GET")) == 6  # one that brought news, and five without
        ((request_id, error),) = inbox.failures
        assert request_id is None
        assert isinstance(error, ConnectionLost)

    async def nothing(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.cut()

    first = broken_stream(("1", "vendor/one"))
    run_with({"GET /mcp": in_turn(first, nothing)}, work)


def test_the_channel_carries_the_providers_headers_even_when_it_fails_once() -> None:
    """F-HTTP-1, F-HTTP-4"""
    calls = 0

    def provide() -> dict[str, str]:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise LookupError("not yet")
        return {"X-Call": str(calls)}

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await transport.listen({})
        await asyncio.sleep(2)
        (get,) = server.requests
        assert get.headers["x-call"] == "2"

    run_with(endpoint(listens=True), work, headers=provide)


def test_a_second_channel_replaces_the_first() -> None:
    """F-HTTP-6: a renewed session has a channel of its own."""

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await transport.listen({})
        await transport.listen({})
        await asyncio.sleep(1)
        assert len(server.requests) == 2
        assert server.open_connections == 1

    run_with(endpoint(listens=True), work)


# Redirects and stale connections


def test_a_redirect_to_another_origin_is_an_error_and_tells_nobody_anything() -> None:
    """F-HTTP-8, pain 38"""

    async def main() -> None:
        async with HttpServer({"POST /mcp": fine}) as other:
            redirect = answer_with(307, {"Location": str(other.url())})
            async with HttpServer({"POST /mcp": redirect}) as server:
                headers = {"Authorization": "Bearer secret"}
                transport = StreamableHttpTransport(server.url(), headers=headers)
                inbox = Inbox()
                await transport.open(inbox)
                await post(transport, call(1, "echo"))
                error = await failure_of(transport, inbox, 1)
                assert isinstance(error, HttpError) and error.status == 307
                assert "redirect" in str(error)
                assert other.connections == 0
                await transport.close()

    run(main())


def test_a_redirect_on_the_same_origin_is_followed_and_named_in_errors() -> None:
    """F-HTTP-8"""
    redirect = answer_with(308, {"Location": "/new/mcp"})

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, call(1, "echo"))
        assert await inbox.text_of(1) == "fine"
        await post(transport, call(2, "echo"))
        error = await failure_of(transport, inbox, 2)
        assert isinstance(error, HttpError)
        assert error.url.endswith("/new/mcp")

    run_with({"POST /mcp": redirect, "POST /new/mcp": in_turn(fine, answer_with(500))}, work)


@pytest.mark.parametrize(("method", "attempts"), [("tools/list", 2), ("tools/call", 1)])
def test_only_what_is_repeatable_is_repeated_on_a_fresh_connection(
    method: str, attempts: int
) -> None:
    """F-WIRE-5: a call that may have run is never sent again."""
    seen: list[str] = []

    async def handler(request: Request, answer: Answer) -> None:
        seen.append(request.message["method"])
        if len(seen) == 2:
            answer.reset()
        else:
            answer.json(result(request))

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        await post(transport, ERA.request(1, "ping", None, None))
        await inbox.answer_to(1)
        await post(transport, ERA.request(2, method, {"name": "echo"}, None))
        if attempts == 2:
            await inbox.answer_to(2)
        else:
            assert isinstance(await failure_of(transport, inbox, 2), ConnectionLost)
        assert seen == ["ping"] + [method] * attempts

    run_with({"POST /mcp": handler}, work)


def test_no_server_fails_the_call() -> None:
    """F-LIFE-7"""

    async def main() -> None:
        async with HttpServer() as server:
            transport = StreamableHttpTransport(server.url())
        inbox = Inbox()
        await transport.open(inbox)
        await post(transport, call(1, "echo"))
        assert isinstance(await failure_of(transport, inbox, 1), ConnectFailed)
        await transport.close()

    run(main())


# Giving up


def test_a_request_given_up_closes_its_stream() -> None:
    """F-API-8, F-HTTP-9: in the stateless era this is what cancels it."""

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        outgoing = call(1, "never")
        await post(transport, outgoing)
        await asyncio.sleep(1)
        assert server.open_connections == 1
        assert transport.abandon(outgoing) is Abandoned.STREAM_CLOSED
        assert transport.abandon(outgoing) is Abandoned.NEVER_SENT
        assert transport.abandon(ERA.notification("note", None)) is Abandoned.NEVER_SENT
        await asyncio.sleep(1)
        assert server.open_connections == 0
        assert not inbox.failures

    run_with(endpoint(json=False), work)


def test_a_header_that_cannot_be_sent_fails_its_call_only() -> None:
    """F-HTTP-1"""

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
        outgoing = call(1, "echo", text="x")
        outgoing.caller_headers = {"X-Bad": "a\r\nb"}
        with pytest.raises(UsageError):
            await post(transport, outgoing)
        await post(transport, call(2, "echo", text="x"))
        assert await inbox.text_of(2) == "x"
        assert not transport._posts

    run_with(endpoint(), work)


def test_it_can_be_dropped_when_its_loop_is_gone() -> None:
    """F-LIFE-5, pain 2"""

    async def main(server: HttpServer) -> StreamableHttpTransport:
        transport = StreamableHttpTransport(server.url("/mcp?key=secret"))
        inbox = Inbox()
        await transport.open(inbox)
        await transport.listen({})
        await post(transport, call(1, "never"))
        await asyncio.sleep(0.01)
        return transport

    async def serve() -> tuple[HttpServer, StreamableHttpTransport]:
        server = await HttpServer(endpoint(json=False, listens=True)).__aenter__()
        return server, await main(server)

    loop = asyncio.new_event_loop()
    server, transport = loop.run_until_complete(serve())
    assert transport.description == str(server.url())
    channel = transport._channel
    loop.run_until_complete(server.__aexit__(None, None, None))
    assert channel is not None
    channel.cancel()
    loop.run_until_complete(asyncio.wait({channel}))
    loop.close()
    transport.abort()
    transport.abort()


@pytest.mark.parametrize(("liveness", "dies_at"), [(10, 23), (None, None)])
def test_a_subscription_that_falls_silent_is_dead_where_that_was_asked_for(
    liveness: float | None, dies_at: float | None
) -> None:
    """F-HTTP-13, F-API-14"""

    async def stream(request: Request, answer: Answer) -> None:
        answer.stream()
        for _ in range(2):
            await asyncio.sleep(6.5)
            answer.chunk(b": alive\n\n")
        await answer.stall()

    async def work(transport: StreamableHttpTransport, inbox: Inbox, server: HttpServer) -> None:
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

    run_with({"POST /mcp": stream}, work, liveness=liveness)
