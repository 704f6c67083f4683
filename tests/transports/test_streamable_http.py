"""Streamable HTTP against servers that misbehave; what all transports keep is in tests/contract."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcpclient.errors import (
    ConnectFailed,
    ConnectionLost,
    HttpError,
    McpError,
    SessionExpired,
    UsageError,
)
from mcpclient.jsonrpc import messages
from mcpclient.protocol.eras import StatelessEra
from mcpclient.protocol.negotiation import ClientIdentity
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.base import Abandoned
from mcpclient.transports.http_transport import Post
from mcpclient.transports.streamable_http import StreamableHttpTransport
from tests.contract.transport_contract import ERA, answered, call, failed, post, said
from tests.support.http_server import Answer, Handler, HttpServer, Request, answer_with, in_turn
from tests.support.inbox import Inbox
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.support.virtual_time import run
from tests.transports.test_http_messages_authorized import Script

pytestmark = pytest.mark.virtual_time

STATELESS = StatelessEra("2026-07-28", ClientIdentity({"name": "test", "version": "1"}))

HTML = b"<html><body>502 Bad Gateway</body></html>"

Opened = tuple[StreamableHttpTransport, Inbox, HttpServer]


@asynccontextmanager
async def opened(routes: Mapping[str, Handler], **options: Any) -> AsyncIterator[Opened]:
    """An open transport to a server with these routes."""
    async with HttpServer(routes) as server:
        transport = StreamableHttpTransport(server.url(), **options)
        inbox = Inbox()
        await transport.open(inbox)
        try:
            yield transport, inbox, server
        finally:
            await transport.close()


def endpoint(**options: Any) -> dict[str, Handler]:
    return StreamableEndpoint(McpServer(), **options).routes


def initialize(request_id: int = 1) -> Outgoing:
    return ERA.opening_request(request_id)


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
    routes = {"POST /mcp": in_turn(handler, fine), "GET /mcp": answer_with(405)}

    async def main() -> McpError:
        async with opened(routes, **options) as (transport, inbox, _):
            error = await failed(transport, inbox, call(1, "echo", text="x"))
            assert await said(transport, inbox, call(2, "echo", text="x")) == "fine"
            assert not transport.posts
            return error

    return run(main())


# What is sent


async def test_a_message_is_a_post_with_the_headers_of_the_specification() -> None:
    """F-HTTP-1"""
    async with opened(endpoint()) as (transport, inbox, server):
        assert await said(transport, inbox, call(7, "echo", text="hi")) == "hi"
        (request,) = server.requests
        assert (request.method, request.target) == ("POST", "/mcp")
        assert request.message == call(7, "echo", text="hi").message
        assert request.headers["accept"] == "application/json, text/event-stream"
        assert request.headers["content-type"] == "application/json"
        assert request.headers["accept-encoding"] == "gzip, deflate"
        assert request.headers["mcp-protocol-version"] == "2025-11-25"


async def test_headers_of_the_stateless_era_are_sent() -> None:
    """F-HTTP-9"""
    async with opened(StreamableEndpoint(McpServer("stateless")).routes) as (
        transport,
        inbox,
        server,
    ):
        params = {"name": "echo", "arguments": {"text": "x"}}
        assert await said(transport, inbox, STATELESS.request(1, "tools/call", params, None)) == "x"
        headers = server.requests[0].headers
        assert headers["mcp-method"] == "tools/call"
        assert headers["mcp-name"] == "echo"


async def test_headers_of_the_caller_come_from_three_places() -> None:
    """F-HTTP-1: headers chosen per request."""
    headers = {"Authorization": "Bearer all", "X-App": "a"}
    async with opened(endpoint(), headers=headers) as (transport, inbox, server):
        outgoing = call(1, "echo", text="x")
        outgoing.caller_headers = {"Authorization": "Bearer call"}
        await post(transport, outgoing)
        await inbox.answer_to(1)
        await answered(transport, inbox, call(2, "echo", text="x"))
        first, second = server.requests
        assert (first.headers["authorization"], first.headers["x-app"]) == ("Bearer call", "a")
        assert (second.headers["authorization"], second.headers["x-app"]) == ("Bearer all", "a")


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_provider_is_asked_for_every_request(is_async: bool) -> None:
    """F-HTTP-1: POST, GET and DELETE."""
    asked = 0

    def provide() -> dict[str, str]:
        nonlocal asked
        asked += 1
        return {"X-Count": str(asked)}

    async def provide_later() -> dict[str, str]:
        await asyncio.sleep(1)
        return provide()

    headers = provide_later if is_async else provide
    async with opened(endpoint(session="s", listens=True), headers=headers, listen_wait=5) as (
        transport,
        inbox,
        server,
    ):
        await answered(transport, inbox, initialize())
        await transport.listen({})
        await post(transport, ERA.notification("notifications/initialized", None))
        await transport.close()
        counts = [(request.method, request.headers["x-count"]) for request in server.requests]
        assert counts == [("POST", "1"), ("GET", "2"), ("POST", "3"), ("DELETE", "4")]


async def test_parallel_calls_with_tokens_of_their_own_never_mix() -> None:
    """F-HTTP-1: headers chosen per request."""

    async def whoami(request: Request, answer: Answer) -> None:
        answer.json(result(request, request.headers["authorization"]))

    async with opened({"POST /mcp": whoami}) as (transport, inbox, _):
        for number in range(100):
            outgoing = call(number, "whoami")
            outgoing.caller_headers = {"Authorization": f"Bearer {number}"}
            await post(transport, outgoing)
        for number in range(100):
            assert await inbox.text_of(number) == f"Bearer {number}"


async def test_a_provider_that_fails_fails_the_call_it_was_asked_for() -> None:
    """F-HTTP-1: the exception is the caller's own."""

    def provide() -> dict[str, str]:
        raise LookupError("no token today")

    async with opened(endpoint(), headers=provide) as (transport, _, server):
        with pytest.raises(LookupError, match="no token today"):
            await post(transport, call(1, "echo", text="x"))
        await transport.listen({})
        assert server.requests == []


@pytest.mark.parametrize("failure", [LookupError, asyncio.CancelledError])
async def test_closing_survives_a_provider_that_fails(failure: type[BaseException]) -> None:
    """F-HTTP-2: the session is ended without it."""
    tokens: list[dict[str, str]] = [{"X-Token": "first"}]

    async def provide() -> dict[str, str]:
        if not tokens:
            raise failure
        return tokens.pop()

    async with opened(endpoint(session="s"), headers=provide) as (transport, inbox, server):
        await answered(transport, inbox, initialize())
        await transport.close()
        assert [request.method for request in server.requests] == ["POST", "DELETE"]


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


async def test_a_broken_stream_is_resumed_and_each_event_comes_once() -> None:
    """F-HTTP-5: resumed streams, each event once."""
    call_id = 1

    async def resumed(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event({"jsonrpc": "2.0", "method": "vendor/two"}, id="2")  # came before
        answer.event({"jsonrpc": "2.0", "method": "vendor/three"}, id="3")
        answer.event({"jsonrpc": "2.0", "id": call_id, "result": {"ok": True}}, id="4")
        await answer.stall()

    first = broken_stream(("1", "vendor/one"), ("2", "vendor/two"), retry=4000)
    async with opened({"POST /mcp": first, "GET /mcp": resumed}) as (transport, inbox, server):
        assert (await answered(transport, inbox, call(call_id, "echo")))["result"] == {"ok": True}
        assert inbox.notifications() == ["vendor/one", "vendor/two", "vendor/three"]
        (get,) = server.requests_of("GET")
        assert get.headers["last-event-id"] == "2"
        assert get.headers["accept"] == "text/event-stream"
        assert asyncio.get_running_loop().time() == 4
        await asyncio.sleep(1)
        assert server.open_connections == 0 and not transport.posts


@pytest.mark.parametrize(
    ("handler", "tries", "cause"),
    [(answer_with(405), 1, HttpError), (answer_with(404), 1, HttpError),
     (answer_with(503), 5, HttpError), (broken_stream(), 5, ConnectionLost)],
)  # fmt: skip
async def test_resuming_is_given_up_and_the_call_fails(
    handler: Handler, tries: int, cause: type[McpError]
) -> None:
    """F-HTTP-5, F-HTTP-4: at most five tries without progress."""
    async with opened({"POST /mcp": broken_stream(), "GET /mcp": handler}) as (
        transport,
        inbox,
        server,
    ):
        error = await failed(transport, inbox, call(1, "echo"))
        assert isinstance(error, ConnectionLost)
        assert isinstance(error.__cause__, cause)
        assert str(error) == f"No response received for request 1 (tools/call): {error.__cause__}"
        assert len(server.requests_of("GET")) == tries
        assert len(server.requests_of("POST")) == 1
        assert not transport.posts


async def test_a_resumed_stream_that_falls_silent_is_asked_for_again() -> None:
    """F-HTTP-13, F-HTTP-5: after as many seconds as ``liveness`` says."""

    async def silent(request: Request, answer: Answer) -> None:
        answer.stream()
        await answer.stall()

    async def rest(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event({"jsonrpc": "2.0", "id": 1, "result": {"ok": True}})
        answer.end()

    routes = {"POST /mcp": broken_stream(retry=1000), "GET /mcp": in_turn(silent, rest)}
    async with opened(routes, liveness=10) as (transport, inbox, server):
        assert (await answered(transport, inbox, call(1, "echo")))["result"] == {"ok": True}
        assert len(server.requests_of("GET")) == 2
        assert asyncio.get_running_loop().time() == 12  # a second before each GET, and ten of none


async def test_a_call_given_up_while_it_is_being_resumed_ends_that() -> None:
    """F-API-8"""

    async def stall(request: Request, answer: Answer) -> None:
        answer.stream()
        await answer.stall()

    async with opened({"POST /mcp": broken_stream(), "GET /mcp": stall}) as (
        transport,
        inbox,
        server,
    ):
        outgoing = call(1, "echo")
        await post(transport, outgoing)
        await asyncio.sleep(10)
        assert server.open_connections == 1
        assert transport.abandon(outgoing) is Abandoned.STREAM_CLOSED
        await asyncio.sleep(1)
        assert server.open_connections == 0
        assert not inbox.failures


async def test_a_request_of_the_stateless_era_is_never_resumed() -> None:
    """F-LIFE-2"""
    async with opened({"POST /mcp": broken_stream(), "GET /mcp": answer_with(405)}) as (
        transport,
        inbox,
        server,
    ):
        assert isinstance(
            await failed(transport, inbox, STATELESS.request(1, "tools/call", {"name": "x"}, None)),
            ConnectionLost,
        )
        assert server.requests_of("GET") == []


# Sessions


async def test_a_session_is_echoed_and_ended() -> None:
    """F-HTTP-2, F-LIFE-4"""
    async with opened(endpoint(session="abc", listens=True)) as (transport, inbox, server):
        await answered(transport, inbox, initialize())
        await transport.listen({"MCP-Protocol-Version": "2025-06-18"})
        await answered(transport, inbox, call(2, "echo", text="x"))
        await transport.close()
        await transport.close()
        assert [request.method for request in server.requests] == ["POST", "GET", "POST", "DELETE"]
        opening, get, later, delete = server.requests
        assert "mcp-session-id" not in opening.headers
        for request in (get, later, delete):
            assert request.headers["mcp-session-id"] == "abc"
        for request in (get, delete):
            assert request.headers["mcp-protocol-version"] == "2025-06-18"


async def test_a_session_that_is_gone_is_told_apart_and_another_can_begin() -> None:
    """F-HTTP-6: a restarted server is recovered."""
    service = StreamableEndpoint(McpServer(), session="one")
    async with opened(service.routes) as (transport, inbox, server):
        await answered(transport, inbox, initialize())
        service.session = "two"
        error = await failed(transport, inbox, call(2, "echo", text="x"))
        assert isinstance(error, SessionExpired) and error.status == 404
        await answered(transport, inbox, initialize(3))
        assert "mcp-session-id" not in server.requests[-1].headers
        assert await said(transport, inbox, call(4, "echo", text="x")) == "x"
        assert server.requests[-1].headers["mcp-session-id"] == "two"
        service.session = None  # as of a server that has none
        await answered(transport, inbox, initialize(5))
        assert await said(transport, inbox, call(6, "echo", text="x")) == "x"
        assert "mcp-session-id" not in server.requests[-1].headers


async def test_a_server_without_sessions_gets_no_delete() -> None:
    """F-HTTP-2"""
    async with opened(endpoint()) as (transport, inbox, server):
        await answered(transport, inbox, initialize())
        await transport.close()
        assert server.requests_of("DELETE") == []


async def test_a_session_id_that_no_header_can_carry_is_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """F-HTTP-2"""
    caplog.set_level(logging.WARNING)

    async def odd(request: Request, answer: Answer) -> None:
        answer.json(result(request), headers={"Mcp-Session-Id": "a b\x80"})

    async with opened({"POST /mcp": odd}) as (transport, inbox, server):
        await answered(transport, inbox, initialize())
        await answered(transport, inbox, call(2, "echo", text="x"))
        assert "mcp-session-id" not in server.requests[-1].headers
        assert "ignored a session id" in caplog.text


async def _stall(request: Request, answer: Answer) -> None:
    await answer.stall()


@pytest.mark.parametrize(
    ("farewell", "seconds"),
    [(answer_with(204), 0), (answer_with(404), 0), (answer_with(405), 0), (answer_with(500), 0),
     (_stall, 2)],
)  # fmt: skip
async def test_ending_a_session_is_quiet_and_bounded(
    farewell: Handler, seconds: float, caplog: pytest.LogCaptureFixture
) -> None:
    """F-HTTP-2, F-LIFE-6: closing quietly and in time."""
    async with opened({**endpoint(session="s"), "DELETE /mcp": farewell}) as (
        transport,
        inbox,
        server,
    ):
        await answered(transport, inbox, initialize())
        await post(transport, call(2, "never"))
        loop = asyncio.get_running_loop()
        began = loop.time()
        await transport.close()
        assert loop.time() - began == seconds
        assert len(server.requests_of("DELETE")) == 1
        await asyncio.sleep(1)
        assert server.open_connections == 0
        assert not inbox.failures
    assert caplog.records == []


async def test_a_server_that_is_gone_needs_no_farewell() -> None:
    """F-LIFE-6: closing quietly and in time."""
    async with HttpServer(endpoint(session="s")) as server:
        transport = StreamableHttpTransport(server.url())
        inbox = Inbox()
        await transport.open(inbox)
        await answered(transport, inbox, initialize())
    await transport.close()
    assert not inbox.failures


# The server's own channel


@pytest.mark.parametrize(
    "refusal",
    [answer_with(405), answer_with(404), answer_with(406), answer_with(200, {}, HTML),
     answer_with(204), answer_with(302, {"Location": "/"})],
)  # fmt: skip
async def test_a_channel_that_is_not_offered_is_asked_for_once(
    refusal: Handler, caplog: pytest.LogCaptureFixture
) -> None:
    """F-HTTP-4: one GET where no stream is offered."""
    caplog.set_level(logging.INFO)
    async with opened({"GET /mcp": refusal}) as (transport, inbox, server):
        await transport.listen({})
        assert asyncio.get_running_loop().time() == 0
        await asyncio.sleep(3600)
        assert len(server.requests_of("GET")) == 1
        assert not inbox.failures and not inbox.lost
    assert caplog.records == []


@pytest.mark.parametrize("wait", [0.0, 1.0, 3.0])
async def test_the_wait_for_the_channel_is_bounded(wait: float) -> None:
    """F-LIFE-4"""
    async with opened({"GET /mcp": _stall}, listen_wait=wait) as (transport, _, _):
        await transport.listen({})
        assert asyncio.get_running_loop().time() == wait


@pytest.mark.parametrize(
    ("opening", "wait"), [(0, 0.05), (0.01, 0.05), (0.1, 0.3), (0.3, 0.9), (5, 1)]
)
async def test_a_channel_that_is_withheld_costs_a_few_times_what_the_opening_took(
    opening: float, wait: float
) -> None:
    """F-LIFE-4: one that is offered opens in less, and what the server says at once is heard."""
    service = StreamableEndpoint(McpServer(), session="s")

    async def open_late(request: Request, answer: Answer) -> None:
        await asyncio.sleep(opening)
        await service.post(request, answer)

    async with opened({"POST /mcp": open_late, "GET /mcp": _stall}) as (transport, inbox, _):
        await answered(transport, inbox, initialize())
        began = asyncio.get_running_loop().time()
        await transport.listen({})
        assert round(asyncio.get_running_loop().time() - began, 6) == wait


async def test_a_channel_that_breaks_is_opened_again_where_it_stopped() -> None:
    """F-HTTP-4: resumed streams, each event once."""

    async def second(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event({"jsonrpc": "2.0", "method": "vendor/one"}, id="1")
        answer.event({"jsonrpc": "2.0", "method": "vendor/two"}, id="2")
        await answer.stall()

    first = broken_stream(("1", "vendor/one"), retry=2500)
    async with opened({"GET /mcp": in_turn(first, second)}) as (transport, inbox, server):
        await transport.listen({})
        await inbox.until(lambda: len(inbox.messages) == 2)
        assert inbox.notifications() == ["vendor/one", "vendor/two"]
        assert server.requests[1].headers["last-event-id"] == "1"
        assert asyncio.get_running_loop().time() == 2.5


async def test_a_channel_that_is_never_answered_is_given_up() -> None:
    """F-HTTP-4, F-HTTP-13: it may not be offered at all, so nobody is told."""
    async with opened({"GET /mcp": _stall}, liveness=60) as (transport, inbox, server):
        await transport.listen({})
        await asyncio.sleep(3600)
        assert len(server.requests_of("GET")) == 6
        assert not inbox.failures and not inbox.lost


async def test_a_channel_that_is_lost_for_good_is_reported() -> None:
    """F-HTTP-4, F-API-20: from then on nobody hears the server's own messages."""

    async def nothing(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.cut()

    first = broken_stream(("1", "vendor/one"))
    async with opened({"GET /mcp": in_turn(first, nothing)}) as (transport, inbox, server):
        await transport.listen({})
        await asyncio.sleep(3600)
        assert len(server.requests_of("GET")) == 6  # one that brought news, and five without
        ((request_id, error),) = inbox.failures
        assert request_id is None
        assert isinstance(error, ConnectionLost)


@pytest.mark.parametrize("failure", [LookupError, asyncio.CancelledError])
async def test_the_channel_carries_the_providers_headers_even_when_it_fails_once(
    failure: type[BaseException],
) -> None:
    """F-HTTP-1, F-HTTP-4: also when something that it waits for was cancelled."""
    calls = 0

    async def provide() -> dict[str, str]:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise failure
        return {"X-Call": str(calls)}

    async with opened(endpoint(listens=True), headers=provide) as (transport, _, server):
        await transport.listen({})
        await asyncio.sleep(2)
        (get,) = server.requests
        assert get.headers["x-call"] == "2"


async def test_a_second_channel_replaces_the_first() -> None:
    """F-HTTP-6: a renewed session has a channel of its own."""
    async with opened(endpoint(listens=True)) as (transport, _, server):
        await transport.listen({})
        await transport.listen({})
        await asyncio.sleep(1)
        assert len(server.requests) == 2
        assert server.open_connections == 1


async def test_nobody_logs_in_for_a_channel_or_a_farewell() -> None:
    """F-HTTP-2, F-HTTP-4: but for a channel that the server has offered before."""
    script = Script([{} for _ in range(4)])
    channel = in_turn(broken_stream(retry=10), _stall)
    routes = {**endpoint(session="s"), "GET /mcp": channel}
    async with opened(routes, credentials=script) as (transport, inbox, _):
        await answered(transport, inbox, initialize())
        await transport.listen({})
        await asyncio.sleep(1)
        await transport.close()
    assert [(method, passive) for method, _, passive in script.asked] == [
        ("POST", False),
        ("GET", True),
        ("GET", False),
        ("DELETE", True),
    ]


# Redirects and stale connections


async def test_a_redirect_to_another_origin_is_an_error_and_tells_nobody_anything() -> None:
    """F-HTTP-8: redirects never carry credentials elsewhere."""
    async with HttpServer({"POST /mcp": fine}) as other:
        redirect = answer_with(307, {"Location": str(other.url())})
        async with HttpServer({"POST /mcp": redirect}) as server:
            headers = {"Authorization": "Bearer secret"}
            transport = StreamableHttpTransport(server.url(), headers=headers)
            inbox = Inbox()
            await transport.open(inbox)
            error = await failed(transport, inbox, call(1, "echo"))
            assert isinstance(error, HttpError) and error.status == 307
            assert "redirect" in str(error)
            assert other.connections == 0
            await transport.close()


async def test_a_redirect_on_the_same_origin_is_followed_and_named_in_errors() -> None:
    """F-HTTP-8"""
    redirect = answer_with(308, {"Location": "/new/mcp"})
    async with opened(
        {"POST /mcp": redirect, "POST /new/mcp": in_turn(fine, answer_with(500))}
    ) as (transport, inbox, _):
        assert await said(transport, inbox, call(1, "echo")) == "fine"
        error = await failed(transport, inbox, call(2, "echo"))
        assert isinstance(error, HttpError)
        assert error.url.endswith("/new/mcp")


@pytest.mark.parametrize(("method", "attempts"), [("tools/list", 2), ("tools/call", 1)])
async def test_only_what_is_repeatable_is_repeated_on_a_fresh_connection(
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

    async with opened({"POST /mcp": handler}) as (transport, inbox, _):
        await answered(transport, inbox, ERA.request(1, "ping", None, None))
        await post(transport, ERA.request(2, method, {"name": "echo"}, None))
        if attempts == 2:
            await inbox.answer_to(2)
        else:
            assert isinstance(await failure_of(transport, inbox, 2), ConnectionLost)
        assert seen == ["ping"] + [method] * attempts


async def test_no_server_fails_the_call() -> None:
    """F-LIFE-7"""
    async with HttpServer() as server:
        transport = StreamableHttpTransport(server.url())
    inbox = Inbox()
    await transport.open(inbox)
    assert isinstance(await failed(transport, inbox, call(1, "echo")), ConnectFailed)
    await transport.close()


# Answers to the server


def ping_answer(number: int) -> Outgoing:
    return ERA.answer(messages.response(number, {}))


async def _promise(request: Request, answer: Answer) -> None:
    """Take the message, and never come to the end of saying so."""
    answer.head(202, {"Content-Length": "1"})
    await answer.stall()


@pytest.mark.parametrize("headers", [{}, lambda: {}], ids=["fixed", "provided"])
@pytest.mark.parametrize("reluctant", [_stall, _promise])
async def test_answers_take_so_many_connections_and_no_more(
    reluctant: Handler, headers: Any
) -> None:
    """F-API-10: the server decides how many, and how soon; calls are made meanwhile."""
    taken: list[Any] = []

    async def handler(request: Request, answer: Answer) -> None:
        if "method" in request.message:
            await fine(request, answer)
        elif len(taken) < 60:
            taken.append(request.message["id"])
            await reluctant(request, answer)
        else:
            taken.append(request.message["id"])
            answer.full(202)

    async with opened({"POST /mcp": handler}, headers=headers) as (transport, inbox, server):
        sending = [asyncio.ensure_future(post(transport, ping_answer(each))) for each in range(200)]
        await asyncio.sleep(1)
        assert server.open_connections == len(taken) == 50
        assert await said(transport, inbox, call(1, "echo")) == "fine"
        assert asyncio.get_running_loop().time() == 1
        await asyncio.wait(sending)
        assert sorted(taken) == list(range(200))
        assert asyncio.get_running_loop().time() == 60  # those after the first 50 waited, too
        assert not transport.posts


async def test_an_answer_nobody_wants_any_more_frees_its_connection() -> None:
    """F-API-10: else a server that withdraws its questions gets any number of connections."""
    async with opened({"POST /mcp": _stall}) as (transport, inbox, server):
        for number in range(3):
            sending = asyncio.ensure_future(post(transport, ping_answer(number)))
            await asyncio.sleep(1)
            assert server.open_connections == 1
            sending.cancel()
            await asyncio.sleep(1)
        assert server.open_connections == 0
        assert not inbox.failures and not transport.posts


# Giving up


async def test_a_request_given_up_closes_its_stream() -> None:
    """F-API-8, F-HTTP-9: in the stateless era this is what cancels it."""
    async with opened(endpoint(json=False)) as (transport, inbox, server):
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


async def test_a_header_that_cannot_be_sent_fails_its_call_only() -> None:
    """F-HTTP-1"""
    async with opened(endpoint()) as (transport, inbox, _):
        outgoing = call(1, "echo", text="x")
        outgoing.caller_headers = {"X-Bad": "a\r\nb"}
        with pytest.raises(UsageError):
            await post(transport, outgoing)
        assert await said(transport, inbox, call(2, "echo", text="x")) == "x"
        assert not transport.posts


def test_it_can_be_dropped_when_its_loop_is_gone() -> None:
    """F-LIFE-5: also from a finalizer."""

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


@pytest.mark.parametrize("notifications", [False, True])
async def test_few_streams_are_read_on_after_their_answers(notifications: bool) -> None:
    """F-HTTP-3: a server that leaves each of them open costs no socket for each message."""

    async def leave_open(request: Request, answer: Answer) -> None:
        answer.stream()
        if "id" in request.message:
            answer.event(result(request))
        await answer.stall()

    async with opened({"POST /mcp": leave_open}) as (transport, inbox, server):
        for number in range(1, 31):
            if notifications:
                await post(transport, ERA.notification("vendor/note", {}))
            else:
                await answered(transport, inbox, call(number, "echo"))
            await asyncio.sleep(0.1)
            assert server.open_connections <= 5
        await asyncio.sleep(31)
        assert server.open_connections == 0 and not transport.posts


async def test_an_event_id_goes_back_as_utf_8() -> None:
    """F-HTTP-5: as the HTML standard has it, whatever the id is made of."""

    async def resumed(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event({"jsonrpc": "2.0", "id": 1, "result": {"ok": True}})
        answer.end()

    first = broken_stream(("h\u00e9-\u2713-\U0001f600", "vendor/one"), retry=1000)
    async with opened({"POST /mcp": first, "GET /mcp": resumed}) as (transport, inbox, server):
        assert (await answered(transport, inbox, call(1, "echo")))["result"] == {"ok": True}
        (get,) = server.requests_of("GET")
        assert (
            get.headers["last-event-id"].encode("latin-1").decode() == "h\u00e9-\u2713-\U0001f600"
        )


async def test_an_exchange_that_is_over_needs_no_garbage_collector() -> None:
    """F-HTTP-3: a response that has ended is freed at once, not by a collector that holds it up."""
    async with opened({"POST /mcp": fine}) as (transport, inbox, _):
        gc.collect()
        gc.disable()
        try:
            assert await said(transport, inbox, call(1, "echo", text="x")) == "fine"
            await asyncio.sleep(0)
            alive = [each for each in gc.get_objects() if isinstance(each, Post)]
        finally:
            gc.enable()
        assert not alive
