"""A session that the server has forgotten, found out by something other than a call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpclient import Client
from mcpclient.client.connection.opening import Opening
from mcpclient.client.requests import connection_of
from mcpclient.errors import ClientClosed, HttpError, ProtocolViolation
from mcpclient.protocol.listen import EventsMissed
from mcpclient.protocol.negotiation import Agreement
from tests.client.connection.test_connection import methods
from tests.client.scripted_server import ScriptedServer
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer

VERSION = "2025-11-25"
INFO = {"name": "test", "version": "1"}

pytestmark = [pytest.mark.usefixtures("fresh_eras"), pytest.mark.virtual_time]


async def test_a_listener_begins_the_next_session_where_no_call_does() -> None:
    """F-HTTP-6, F-API-14: whatever finds out that there is no session: a notification, a ping."""
    service = StreamableEndpoint(McpServer(), session="one", listens=True)
    async with HttpServer(service.routes) as web:
        url = str(web.url())
        async with Client(url, protocol_version=VERSION, keep_alive=100) as client:
            async with client.listen(tools=True) as subscription:
                service.session = "two"
                await client.notify("vendor/note")
                assert isinstance(await subscription.__anext__(), EventsMissed)
                assert 1 <= asyncio.get_running_loop().time() <= 2
                service.session = "three"
                assert isinstance(await subscription.__anext__(), EventsMissed)
                assert 100 <= asyncio.get_running_loop().time() <= 110
            assert [get.headers["mcp-session-id"] for get in web.requests_of("GET")] == [
                *("one", "two", "three")
            ]


async def test_no_call_is_made_in_a_session_that_a_ping_found_to_be_lost() -> None:
    """F-HTTP-6: after a 404 the client MUST begin another session."""
    service = StreamableEndpoint(McpServer(), session="one")
    async with HttpServer(service.routes) as web:
        url = str(web.url())
        async with Client(url, protocol_version=VERSION, keep_alive=100) as client:
            service.session = "two"
            await asyncio.sleep(110)
            assert (await client.call_tool("echo", {"text": "x"})).text == "x"
        calls = [
            request.headers["mcp-session-id"]
            for request in web.requests_of("POST")
            if request.message.get("method") == "tools/call"
        ]
    assert calls == ["two"]


@pytest.mark.parametrize("strict", [True, False])
async def test_another_session_is_judged_as_strictly_as_the_first(strict: bool) -> None:
    """F-LIFE-1, F-HTTP-6: an unknown revision that is an error at first is one later too."""
    service = StreamableEndpoint(McpServer(), session="one")

    async def post(request: Request, answer: Answer) -> None:
        if request.message.get("method") == "initialize" and service.session == "two":
            result = {"protocolVersion": "2026-01-01", "capabilities": {}, "serverInfo": INFO}
            body = {"jsonrpc": "2.0", "id": request.message["id"], "result": result}
            answer.json(body, headers={"Mcp-Session-Id": "two"})
        else:
            await service.post(request, answer)

    async with HttpServer({**service.routes, "POST /mcp": post}) as web:
        url = str(web.url())
        async with Client(url, protocol_version=VERSION, strict_version=strict) as client:
            service.session = "two"
            if strict:
                with pytest.raises(ProtocolViolation):
                    await client.call_tool("echo", {"text": "x"})
            else:
                assert (await client.call_tool("echo", {"text": "x"})).text == "x"


async def test_listeners_share_a_renewal_and_its_failure() -> None:
    """F-HTTP-6, F-API-14: and try again, with growing pauses."""
    service = StreamableEndpoint(McpServer(), session="one", listens=True)
    busy = 2

    async def post(request: Request, answer: Answer) -> None:
        nonlocal busy
        if request.message.get("method") == "initialize" and service.session == "two" and busy:
            busy -= 1
            answer.full(503)
        else:
            await service.post(request, answer)

    async with HttpServer({**service.routes, "POST /mcp": post}) as web:
        url = str(web.url())
        async with Client(url, protocol_version=VERSION) as client:
            first, second = (client.listen(tools=True) for _ in range(2))
            async with first, second:
                service.session = "two"
                with pytest.raises(HttpError):
                    await client.ping()  # The listeners learn that it could not, either.
                assert isinstance(await first.__anext__(), EventsMissed)
                assert isinstance(await second.__anext__(), EventsMissed)
                assert methods(web).count("initialize") == 4
                assert (await client.call_tool("echo", {"text": "x"})).text == "x"
    assert busy == 0


async def test_closed_when_the_new_session_has_just_been_agreed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-LIFE-7, F-LIFE-8: whoever waits for it learns that, and nothing keeps it alive."""
    follow = Opening.follow
    server = ScriptedServer(version=VERSION)
    client = await server.client(keep_alive=100)
    connection = connection_of(client)

    async def follow_and_close(self: Opening, *args: Any) -> Agreement:
        agreement = await follow(self, *args)
        await client.close()
        return agreement

    monkeypatch.setattr(Opening, "follow", follow_and_close)
    with pytest.raises(ClientClosed):
        await connection.renew(connection.generation)
    await asyncio.sleep(1)
    assert asyncio.all_tasks() == {asyncio.current_task()}
