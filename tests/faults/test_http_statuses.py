"""Statuses other than success, with a page of HTML, at every step of a session over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcpclient import Client
from mcpclient.errors import ConnectFailed, HttpError, McpError
from tests.net.process_helpers import until
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer

STATUSES = (300, 401, 403, 404, 405, 406, 409, 410, 415, 429, 500, 502, 503)
PAGE = b"<!doctype html><title>Oops</title><h1>Something went wrong</h1>"

# Once the client knows that it is in a session, these say something else.
EXPIRED = 404
# While connecting, these let the client look for a legacy server at the same URL.
LOOKS_FURTHER = (400, 404, 405)

pytestmark = [pytest.mark.usefixtures("fresh_eras"), pytest.mark.virtual_time]


class Gate:
    """An MCP server with a session, which answers one kind of request with a status, once."""

    def __init__(self, kind: str, status: int) -> None:
        session = None if kind == "server/discover" else "s"
        self.endpoint = StreamableEndpoint(McpServer("both"), session=session, listens=True)
        self.calls = 0
        self.refused = 0
        self._kind = kind
        self._status = status

    async def handle(self, request: Request, answer: Answer) -> None:
        kind = request.message.get("method", "answer") if request.body else request.method
        self.calls += kind == "tools/call"
        if kind == self._kind and not self.refused:
            self.refused += 1
            answer.full(self._status, {"Content-Type": "text/html"}, PAGE)
        else:
            await self.endpoint.routes[f"{request.method} /mcp"](request, answer)


@asynccontextmanager
async def through_gate(
    kind: str, status: int, **options: Any
) -> AsyncIterator[tuple[Gate, Client]]:
    gate = Gate(kind, status)
    options.setdefault("protocol_version", "2025-11-25")

    async with HttpServer({"/mcp": gate.handle}) as server:
        client = Client(str(server.url()), **options)
        try:
            yield gate, client
            await client.connect()
            assert (await client.call_tool("echo", {"text": "and on"})).text == "and on"
        finally:
            await client.close()
    assert asyncio.get_running_loop().time() <= 1.0
    assert gate.refused == 1


def check(error: McpError | None, status: int) -> None:
    assert isinstance(error, HttpError)
    assert (error.status, error.body) == (status, PAGE)
    assert "Something went wrong" in str(error)


@pytest.mark.quick_rows(8)
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_opening(version: str, status: int) -> None:
    """F-HTTP-7, F-HTTP-11: connecting fails with the status, or with both that were got."""
    kind = "initialize" if version == "2025-11-25" else "server/discover"
    # A legacy server is looked for with GET; this one opens its channel, and no endpoint.
    async with through_gate(kind, status, protocol_version=version, connect_timeout=0.5) as (
        _,
        client,
    ):
        with pytest.raises(McpError) as caught:
            await client.connect()
        if status in LOOKS_FURTHER and version == "2025-11-25":
            assert isinstance(caught.value, ConnectFailed)
            assert isinstance(caught.value.attempts[0], HttpError)
            check(caught.value.attempts[0], status)
        else:
            check(caught.value, status)


@pytest.mark.parametrize("status", STATUSES)
async def test_a_call(status: int) -> None:
    """F-HTTP-6, F-HTTP-7: the call fails, and is not made again; but for 404, by which the
    server says that it has forgotten the session, and has not run anything.
    """
    async with through_gate("tools/call", status) as (gate, client):
        await client.connect()
        if status == EXPIRED:
            assert (await client.call_tool("echo", {"text": "x"})).text == "x"
            assert gate.calls == 2
        else:
            with pytest.raises(HttpError) as caught:
                await client.call_tool("echo", {"text": "x"})
            check(caught.value, status)
            assert gate.calls == 1


@pytest.mark.quick_rows(8)
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("kind", ["notifications/initialized", "vendor/note", "answer"])
async def test_what_nobody_waits_for(kind: str, status: int) -> None:
    """F-HTTP-7, F-API-20: ``on_error`` is called, and everything continues."""
    errors: list[McpError] = []
    async with through_gate(kind, status, on_error=errors.append) as (_, client):
        await client.connect()
        if kind == "vendor/note":
            await client.notify("vendor/note")
        elif kind == "answer":
            asking = client.call_tool("ask", {"method": "ping"}, timeout=0.5)
            await asyncio.gather(asking, return_exceptions=True)
        await until(lambda: bool(errors), "the error is told")
        check(errors[0], status)


@pytest.mark.quick_rows(8)
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("kind", ["GET", "DELETE"])
async def test_what_a_server_need_not_offer(kind: str, status: int) -> None:
    """F-HTTP-2, F-HTTP-4: a session without a channel, and one that cannot be deleted, is fine."""
    errors: list[McpError] = []
    async with through_gate(kind, status, on_error=errors.append) as (_, client):
        await client.connect()
        await client.close()
    assert errors == []
