"""Another server at an address that the client remembers, as a developer may start it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import pytest

from mcpclient.client.client import Client
from mcpclient.client.connection.options import EraMemory
from tests.client.connection.test_connection import http
from tests.support.http_server import Answer, Handler, HttpServer, Request
from tests.support.mcp_http import LegacyEndpoint, StreamableEndpoint
from tests.support.mcp_server import McpServer, refusing

pytestmark = [pytest.mark.usefixtures("fresh_eras"), pytest.mark.virtual_time]

Routes = Mapping[str, Handler]


def stateless(code: int) -> Routes:
    """Return a server of the stateless era that refuses ``initialize`` with this error."""
    server = McpServer("stateless")
    server.answers["initialize"] = refusing(code, "no")
    return StreamableEndpoint(server).routes


def refused_by_status(status: int) -> Routes:
    """Return a server of the stateless era whose front refuses ``initialize`` by itself."""
    routes = StreamableEndpoint(McpServer("stateless")).routes

    async def post(request: Request, answer: Answer) -> None:
        if request.message["method"] == "initialize":
            answer.full(status, {}, b"no")
        else:
            await routes["POST /mcp"](request, answer)

    return {**routes, "POST /mcp": post}


BY_STATUS = {"stateless, 400": 400, "stateless, 404": 404, "stateless, 405": 405}
SERVERS: dict[str, Callable[[], Routes]] = {
    "handshake": lambda: StreamableEndpoint(McpServer()).routes,
    "handshake with a session": lambda: StreamableEndpoint(McpServer(), session="s").routes,
    "an old revision": lambda: StreamableEndpoint(McpServer(version="2025-03-26")).routes,
    "HTTP+SSE": lambda: LegacyEndpoint(McpServer()).routes,
    "both": lambda: StreamableEndpoint(McpServer("both")).routes,
    "stateless": lambda: StreamableEndpoint(McpServer("stateless")).routes,
    "stateless, -32601": partial(stateless, -32601),
    "stateless, -32600": partial(stateless, -32600),
    **{name: partial(refused_by_status, status) for name, status in BY_STATUS.items()},
}


HANDSHAKE = ("initialize", "GET", "notifications/initialized")


class Visit(NamedTuple):
    """The requests of one visit to a server, and the revision that was spoken."""

    requests: int
    version: str | None


async def visit(server: HttpServer) -> Visit:
    """Connect and call a tool."""
    before = len(server.requests)
    async with Client(str(server.url())) as client:
        requests = len(server.requests) - before
        assert (await client.call_tool("echo", {"text": "x"})).text == "x"
        return Visit(requests, client.protocol_version)


@pytest.mark.parametrize(("first", "second"), itertools.permutations(SERVERS, 2))
async def test_another_server_costs_one_more_request_at_most(
    first: str, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-LIFE-3: and is never a failure; nor is it remembered as the one that it replaced.

    Where a status refuses ``initialize``, two: HTTP+SSE is looked for first, as it has to be when a
    server of that kind is met again, which is what mostly answers so.
    """
    more = 2 if second in BY_STATUS else 1
    async with http(SERVERS[first]()) as server:
        await visit(server)
        server.routes = dict(SERVERS[second]())
        taken_over = await visit(server)
        again = await visit(server)
    monkeypatch.setattr(Client, "_eras", EraMemory())
    async with http(SERVERS[second]()) as server:
        fresh = await visit(server)
    if second == "both":  # it is met in the era of the one before it
        assert max(taken_over.requests, again.requests) <= len(HANDSHAKE)
    else:
        assert taken_over.requests <= fresh.requests + more
        assert again.requests <= fresh.requests
        assert taken_over.version == again.version == fresh.version
