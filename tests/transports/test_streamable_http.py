"""Streamable HTTP against servers that misbehave; what all transports keep is in tests/contract."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from mcpclient.errors import ConnectionLost, HttpError, McpError
from mcpclient.net.exchange import Authorizer
from mcpclient.protocol.eras import StatelessEra
from mcpclient.protocol.negotiation import LATEST_STATELESS, ClientIdentity
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.legacy_sse import LegacySseTransport
from mcpclient.transports.streamable_http import StreamableHttpTransport
from tests.contract.transport_contract import ERA, answered, call, failed, said
from tests.support.http_server import Answer, Handler, HttpServer, Request, answer_with, in_turn
from tests.support.inbox import Inbox
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time

Opened = tuple[Any, Inbox, HttpServer]


@asynccontextmanager
async def opened_over(
    kind: type[StreamableHttpTransport | LegacySseTransport],
    routes: Mapping[str, Handler],
    **options: Any,
) -> AsyncIterator[Opened]:
    """An open transport to a server with these routes; nothing of it is left afterwards."""
    async with HttpServer(routes) as server:
        transport = kind(server.url(), **options)
        inbox = Inbox()
        await transport.open(inbox)
        try:
            yield transport, inbox, server
        finally:
            await transport.close()
        await asyncio.sleep(100)
        assert server.open_connections == 0


opened = partial(opened_over, StreamableHttpTransport)


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


def broken_stream(*events: tuple[str, str], retry: int | None = None) -> Handler:
    """Begin a stream with an event id, send these events, and drop the connection."""

    async def handler(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event(id="start", event="priming", message="", retry=retry)
        for event_id, method in events:
            answer.event({"jsonrpc": "2.0", "method": method}, id=event_id)
        answer.cut()

    return handler


async def test_a_request_of_the_stateless_era_is_never_resumed() -> None:
    """F-LIFE-2"""
    asked = StatelessEra(LATEST_STATELESS, ClientIdentity({})).request(1, "tools/call", {}, None)
    routes = {"POST /mcp": broken_stream(), "GET /mcp": answer_with(405)}
    async with opened(routes) as (transport, inbox, server):
        assert isinstance(await failed(transport, inbox, asked), ConnectionLost)
        assert server.requests_of("GET") == []


async def test_neither_a_channel_nor_a_farewell_asks_for_a_login() -> None:
    """F-HTTP-2, F-HTTP-4: no user logs in for a channel that may not exist, or for the end."""
    asked: list[tuple[str, bool]] = []

    class Asked(Authorizer):
        def request(self, method: str, url: str, *, passive: bool = False) -> Any:
            asked.append((method, passive))

    async with opened(endpoint(session="s"), credentials=Asked()) as (transport, inbox, _):
        await answered(transport, inbox, initialize())
        await transport.listen({})
        await transport.close()
    assert asked == [("POST", False), ("GET", True), ("DELETE", True)]


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
