"""Calls that need more than one request, each repeated only as often as is safe."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcpclient.client.client import Client
from mcpclient.errors import HttpError
from tests.support.clients import now
from tests.support.http_server import Answer, Handler, HttpServer, Request, answer_with, in_turn
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer

pytestmark = pytest.mark.virtual_time


@asynccontextmanager
async def over_http(
    *calls: Handler, era: str = "handshake", **options: Any
) -> AsyncIterator[tuple[Client, HttpServer]]:
    """Connect a client whose calls are answered by ``calls`` in turn, then properly."""
    service = StreamableEndpoint(McpServer(era))
    answer_call = in_turn(*calls, service.post)

    async def serve(request: Request, answer: Answer) -> None:
        if request.message.get("method") == "tools/call":
            await answer_call(request, answer)
        else:
            await service.post(request, answer)

    routes = {**service.routes, "POST /mcp": serve}
    async with HttpServer(routes) as server, Client(str(server.url()), **options) as client:
        server.requests.clear()
        yield client, server


def methods(server: HttpServer) -> list[str]:
    return [request.message["method"] for request in server.requests]


async def echo(client: Client, **options: Any) -> str:
    text: str = (await client.call_tool("echo", {"text": "x"}, **options)).text
    return text


@pytest.mark.parametrize(
    ("statuses", "is_repeated"),
    [
        ([429], False),
        ([503], False),
        ([503, 500], True),
        *(([status], True) for status in (400, 403, 500, 502)),
    ],
)
async def test_only_a_busy_server_is_asked_again_and_only_on_request(
    statuses: list[int], is_repeated: bool
) -> None:
    """F-HTTP-7: 429 and 503; the last status is the error, and no other is repeated."""
    answers = [answer_with(status, {"Retry-After": "1"}) for status in statuses]
    async with over_http(*answers, retry_busy=is_repeated) as (client, server):
        with pytest.raises(HttpError) as caught:
            await echo(client)
        assert caught.value.status == statuses[-1]
        assert len(server.requests) == len(statuses)


@pytest.mark.parametrize(("headers", "seconds"), [({"Retry-After": "7"}, 14), ({}, 2)])
async def test_a_busy_server_is_asked_again_when_it_says(
    headers: Mapping[str, str], seconds: float
) -> None:
    """F-HTTP-7: 429 and 503 are retried on request."""
    busy = answer_with(503, headers)
    async with over_http(busy, busy, retry_busy=True) as (client, server):
        began = now()
        assert await echo(client) == "x"
        assert now() - began == seconds
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("limits", "tries"),
    [({"timeout": 5}, 1), ({"max_timeout": 5}, 1), ({"timeout": 25}, 3), ({"timeout": None}, 31)],
)
async def test_a_busy_server_is_asked_within_the_limit_of_the_call(
    limits: dict[str, Any], tries: int
) -> None:
    """F-HTTP-7: a longer wait is useless."""
    busy = answer_with(429, {"Retry-After": "10"})
    async with over_http(*[busy] * 30, retry_busy=True) as (client, server):
        if tries == 31:
            assert await echo(client, max_timeout=None, **limits) == "x"
        else:
            with pytest.raises(HttpError):
                await echo(client, **limits)
        assert len(server.requests) == tries


async def test_a_busy_server_that_wants_no_time_gets_some() -> None:
    """F-HTTP-7: a second, and thirty tries: it sent 9,830 requests in three seconds."""
    async with over_http(*[answer_with(503, {"Retry-After": "0"})] * 40, retry_busy=True) as (
        client,
        server,
    ):
        with pytest.raises(HttpError, match="it was asked 30 times more; call again later"):
            await echo(client, timeout=None, max_timeout=None)
        assert (len(server.requests), now()) == (31, 30)


@pytest.mark.parametrize(
    ("limits", "limit"),
    [({"timeout": 5}, 5), ({"max_timeout": 7}, 7), ({"timeout": None, "max_timeout": None}, 3600)],
)
async def test_a_busy_server_is_not_waited_for_longer_than_anybody_waits(
    limits: dict[str, Any], limit: int
) -> None:
    """F-HTTP-7: the error says at once why; it waited three years."""
    refuse = answer_with(429, {"Retry-After": "99999999"})
    async with over_http(refuse, retry_busy=True) as (client, _):
        reason = f"waiting 99999999 s would take longer than the {limit} s this call may take"
        with pytest.raises(HttpError, match=reason) as caught:
            await echo(client, **limits)
        assert caught.value.headers["retry-after"] == "99999999"
        assert now() == 0


async def mismatch(request: Request, answer: Answer) -> None:
    error = {"code": -32020, "message": "header mismatch"}
    answer.json({"jsonrpc": "2.0", "id": request.message["id"], "error": error}, status=400)


async def test_a_header_mismatch_lists_the_tools_and_repeats_once() -> None:
    """F-HTTP-9"""
    async with over_http(mismatch, era="stateless") as (client, server):
        assert await echo(client) == "x"
        assert methods(server) == ["tools/call", "tools/list", "tools/call"]
