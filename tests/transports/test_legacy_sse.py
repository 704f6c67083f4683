"""HTTP+SSE of 2024-11-05 against servers that misbehave."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Callable

import pytest

from mcpclient.errors import (
    ConnectFailed,
    ConnectionLost,
    HttpError,
    McpError,
    MessageTooLarge,
    ProtocolViolation,
)
from mcpclient.transports.legacy_sse import LegacySseTransport
from tests.contract.transport_contract import call, post, said
from tests.support.http_server import Answer, Handler, HttpServer, Request, answer_with, in_turn
from tests.support.inbox import Inbox
from tests.support.mcp_http import LegacyEndpoint
from tests.support.mcp_server import McpServer
from tests.support.virtual_time import run
from tests.transports.test_streamable_http import opened_over

pytestmark = pytest.mark.virtual_time

opened = partial(opened_over, LegacySseTransport)


def routes(**changes: Handler) -> dict[str, Handler]:
    return {**LegacyEndpoint(McpServer()).routes, **changes}


def failure_to_open(handler: Handler) -> McpError:
    """Return the error of opening; nothing may be reported besides."""
    errors: list[McpError] = []

    async def main() -> None:
        async with HttpServer({"GET /mcp": handler}) as server:
            transport = LegacySseTransport(server.url())
            inbox = Inbox()
            with pytest.raises(McpError) as caught:
                await asyncio.wait_for(transport.open(inbox), 10)
            errors.append(caught.value)
            await asyncio.sleep(1)
            assert server.open_connections == 0
            assert not inbox.lost and not inbox.failures

    run(main())
    return errors[0]


async def stall(request: Request, answer: Answer) -> None:
    await answer.stall()


@pytest.mark.parametrize(
    "endpoint",
    ["https://127.0.0.1/messages", "http://evil.example/messages", "//evil.example/m", "ftp://x/y"],
)
def test_an_endpoint_of_another_origin_is_refused(endpoint: str) -> None:
    """F-HTTP-10: credentials would go there."""
    error = failure_to_open(LegacyEndpoint(McpServer(), endpoint).get)
    assert isinstance(error, ProtocolViolation)


def test_a_refusal_that_never_ends_is_known_soon() -> None:
    """F-HTTP-7"""

    async def endless(request: Request, answer: Answer) -> None:
        answer.head(500)
        answer.raw(b"x" * 70_000)
        await answer.stall()

    error = failure_to_open(endless)
    assert isinstance(error, HttpError)
    assert len(error.body) == 65536


@pytest.mark.parametrize("headers", [{"Content-Type": "text/html"}, {}])
def test_what_is_no_event_stream_is_a_violation(headers: dict[str, str]) -> None:
    """F-HTTP-10"""
    body = b"event: endpoint\ndata: /messages\n\n"
    assert isinstance(failure_to_open(answer_with(200, headers, body)), ProtocolViolation)


def test_a_stream_that_ends_without_an_endpoint_is_no_connection() -> None:
    """F-HTTP-10"""
    headers = {"Content-Type": "text/event-stream"}
    error = failure_to_open(answer_with(200, headers, b": hello\n\n"))
    assert isinstance(error, ConnectFailed)


async def test_closing_ends_an_opening() -> None:
    """F-LIFE-5"""
    async with HttpServer({"GET /mcp": stall}) as server:
        transport = LegacySseTransport(server.url())
        opening = asyncio.ensure_future(transport.open(Inbox()))
        await asyncio.sleep(5)
        await transport.close()
        with pytest.raises(ConnectionLost):
            await opening
        assert asyncio.get_running_loop().time() == 5


@pytest.mark.parametrize(("ending", "words"), [(Answer.end, "ended the event stream"),
                                               (Answer.cut, ""), (Answer.reset, "")])  # fmt: skip
async def test_the_end_of_the_stream_is_the_end_of_the_connection(
    ending: Callable[[Answer], None], words: str
) -> None:
    """F-LIFE-7: once, and at once."""
    service = LegacyEndpoint(McpServer())
    async with opened(service.routes) as (transport, inbox, _):
        await post(transport, call(1, "never"))
        assert service.channel is not None
        ending(service.channel)
        await inbox.until(lambda: inbox.lost)
        assert asyncio.get_running_loop().time() == 0
        (error,) = inbox.lost
        assert isinstance(error, ConnectionLost)
        assert words in str(error)


async def test_odd_events_cost_only_themselves() -> None:
    """F-WIRE-7: unknown things are kept, and large messages."""
    service = LegacyEndpoint(McpServer())
    async with opened(service.routes, max_message_size=2000) as (transport, inbox, _):
        assert service.channel is not None
        service.channel.event("https://evil.example/", event="endpoint")
        service.channel.event("x", event="vendor")
        service.channel.event("")
        service.channel.event('{"id": 9, "result": {')
        service.channel.event("y" * 3000)
        assert await said(transport, inbox, call(1, "echo", text="fine")) == "fine"
        (_, request_id), (large, _) = inbox.rejected
        assert request_id == 9
        assert isinstance(large, MessageTooLarge)
        assert not inbox.lost


async def test_headers_are_sent_with_everything() -> None:
    """F-HTTP-1: headers chosen per request."""
    asked = 0

    async def provide() -> dict[str, str]:
        nonlocal asked
        asked += 1
        return {"X-Count": str(asked)}

    async with opened(routes(), headers=provide) as (transport, inbox, server):
        outgoing = call(1, "echo", text="x")
        outgoing.caller_headers = {"Authorization": "Bearer 1"}
        await post(transport, outgoing)
        assert await inbox.text_of(1) == "x"
        get, posted = server.requests
        assert (get.headers["x-count"], get.headers["accept"]) == ("1", "text/event-stream")
        assert (posted.headers["x-count"], posted.headers["authorization"]) == ("2", "Bearer 1")
        assert posted.headers["content-type"] == "application/json"
        assert "mcp-session-id" not in posted.headers


async def reset(request: Request, answer: Answer) -> None:
    answer.reset()


@pytest.mark.parametrize(
    ("refuse", "kind"),
    [(answer_with(503, {}, b"busy" * 30_000), HttpError), (reset, ConnectionLost)],
    ids=["refused", "reset"],
)
async def test_a_message_that_is_not_taken_fails_its_call_only(
    refuse: Handler, kind: type[McpError]
) -> None:
    """F-HTTP-7, F-LIFE-7: HTTP errors are distinguished, and kept in bounds."""
    service = LegacyEndpoint(McpServer())
    handler = in_turn(refuse, service.post)
    async with opened({**service.routes, "POST /messages": handler}) as (transport, inbox, _):
        await post(transport, call(1, "echo", text="x"))
        with pytest.raises(kind) as caught:
            await inbox.answer_to(1)
        assert len(getattr(caught.value, "body", b"x" * 65536)) == 65536
        assert await said(transport, inbox, call(2, "echo", text="x")) == "x"


async def test_receipts_that_stay_open_are_bounded() -> None:
    """F-HTTP-10: a server that never ends its 202 costs no socket for each message."""

    async def leave_open(request: Request, answer: Answer) -> None:
        answer.stream()
        await answer.stall()

    async with opened(routes(**{"POST /messages": leave_open})) as (transport, _, server):
        for number in range(1, 101):
            await post(transport, call(number, "echo"))
            await asyncio.sleep(0.01)
        await asyncio.sleep(1)  # for the server to notice the end
        assert 10 < server.open_connections <= 66
