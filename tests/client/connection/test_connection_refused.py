"""Servers over HTTP that restart: sessions that are refused with 400, and connections."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcpclient.client.client import Client
from mcpclient.errors import (
    ConnectFailed,
    HttpError,
    McpError,
    NetworkError,
    PeerError,
    SessionExpired,
)
from mcpclient.transports.streamable_http import StreamableHttpTransport
from tests.client.connection.test_connection import http, methods
from tests.support.http_server import Answer, Handler, HttpServer, Request, answer_with
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer

pytestmark = [pytest.mark.usefixtures("fresh_eras"), pytest.mark.virtual_time]


def refusal(message: str, code: int = -32000, request_id: Any = None) -> bytes:
    error = {"code": code, "message": message}
    return json.dumps({"jsonrpc": "2.0", "error": error, "id": request_id}).encode()


async def use(client: Client) -> None:
    assert (await client.call_tool("echo", {"text": "x"})).text == "x"


LOST = [
    refusal("Bad Request: No valid session ID provided"),
    refusal("Bad Request: No valid session ID"),
    refusal("Session not found", -32001),
    refusal("Invalid session", -32600),
    refusal("Unknown sessionId: one", -32603),
    refusal("Bad Request: Mcp-Session-Id header is invalid"),
    refusal("Bad Request: Server not initialized"),
    b"Invalid or expired session",
    b'{"message": "session expired"}',
]


@pytest.mark.parametrize("json_answers", [True, False])
@pytest.mark.parametrize("refused", [(404, b""), *((400, body) for body in LOST)])
async def test_a_refusal_that_speaks_of_the_session_begins_another(
    refused: tuple[int, bytes], json_answers: bool
) -> None:
    """F-HTTP-6: one for twenty calls, each of which is repeated once."""
    server = McpServer()
    service = StreamableEndpoint(server, session="one", json=json_answers)
    service.refusal = refused
    async with http(service.routes) as web, Client(str(web.url())) as client:
        service.session = "two"
        web.requests.clear()
        texts = [str(number) for number in range(20)]
        calls = [client.call_tool("echo", {"text": text}) for text in texts]
        assert [result.text for result in await asyncio.gather(*calls)] == texts
        assert methods(web).count("initialize") == 1
        assert methods(web).count("tools/call") == 40
        assert len(server.messages("tools/call")) == 20
        assert client.is_connected


async def test_a_refusal_on_the_channel_begins_another_session() -> None:
    """F-HTTP-6, F-HTTP-4: with the next call."""
    service = StreamableEndpoint(McpServer(), session="one", listens=True)
    service.refusal = (400, LOST[0])
    errors: list[McpError] = []
    options: dict[str, Any] = {"on_error": errors.append, "protocol_version": "2025-11-25"}
    async with http(service.routes) as web, Client(str(web.url()), **options) as client:
        service.session = "two"
        web.drop_connections()
        await asyncio.sleep(10)
        assert [type(error) for error in errors] == [SessionExpired]
        await use(client)
        assert methods(web).count("initialize") == 2


def refusing_calls(service: StreamableEndpoint, status: int, body: bytes) -> dict[str, Handler]:
    async def refuse(request: Request, answer: Answer) -> None:
        if request.message.get("method") == "tools/call":
            answer.full(status, {}, body)
        else:
            await service.post(request, answer)

    return {**service.routes, "POST /mcp": refuse}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, refusal("Invalid params: session_name is missing")),
        (400, refusal("No such session: work", -32602)),
        (400, b"bad gateway"),
        (400, b""),
        (409, LOST[0]),
        (500, LOST[0]),
    ],
)
async def test_other_refusals_are_errors(status: int, body: bytes) -> None:
    """F-HTTP-6: what is wrong with a request is no reason to repeat it."""
    service = StreamableEndpoint(McpServer(), session="one")
    routes = refusing_calls(service, status, body)
    async with http(routes) as web, Client(str(web.url())) as client:
        with pytest.raises((HttpError, PeerError)):
            await use(client)
        assert methods(web).count("tools/call") == 1
        assert methods(web).count("initialize") == 1


async def test_a_session_that_never_worked_is_not_lost() -> None:
    """F-HTTP-6: the server has refused its first message, so another session is no cure."""
    service = StreamableEndpoint(McpServer(), session="one")

    async def refuse(request: Request, answer: Answer) -> None:
        if "mcp-session-id" in request.headers:
            answer.full(400, {}, LOST[0])
        else:
            await service.post(request, answer)

    routes = {**service.routes, "POST /mcp": refuse}
    async with http(routes) as web:
        async with Client(str(web.url())) as client:
            with pytest.raises((HttpError, PeerError)) as caught:
                await use(client)
        assert not isinstance(caught.value, SessionExpired)
        assert methods(web).count("initialize") == 1


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [(404, b"", "forgets its sessions at once"), (400, LOST[0], "No valid session ID")],
)
async def test_a_session_that_is_refused_at_once_again_is_an_error(
    status: int, body: bytes, said: str
) -> None:
    """F-HTTP-6: repeated once, not for ever."""
    service = StreamableEndpoint(McpServer(), session="one")
    routes = refusing_calls(service, status, body)
    async with http(routes) as web, Client(str(web.url())) as client:
        with pytest.raises(SessionExpired, match=said):
            await use(client)
        assert methods(web).count("tools/call") == 2
        assert methods(web).count("initialize") == 2
        await client.ping()


async def test_a_session_that_can_not_be_renewed_is_no_connection() -> None:
    """F-HTTP-6: connecting again is what cures it then."""
    service = StreamableEndpoint(McpServer(), session="one")
    service.refusal = (400, LOST[0])
    async with http(service.routes) as web, Client(str(web.url())) as client:
        service.session = "two"
        web.routes["POST /mcp"] = answer_with(400, {}, LOST[0])
        with pytest.raises((HttpError, PeerError)):
            await use(client)
        assert not client.is_connected
        web.routes["POST /mcp"] = service.post
        await client.connect()
        assert client.is_connected
        await use(client)


@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_a_server_that_refuses_connections_is_not_connected(era: str) -> None:
    """F-HTTP-6, F-API-20: until it is there again, and connected to."""
    service = StreamableEndpoint(McpServer(era), session=None if era == "stateless" else "one")
    async with HttpServer(service.routes) as web:
        client = await Client(str(web.url()))
        await use(client)
    if service.session is not None:
        service.session, service.refusal = "two", (400, LOST[0])
    for _ in range(2):
        with pytest.raises(NetworkError):
            await client.list_tools()
    assert not client.is_connected
    for attempt in (client.connect, client.ping):
        with pytest.raises(ConnectFailed):
            await attempt()
        assert not client.is_connected
    async with web:
        await client.connect()
        assert client.is_connected
        await use(client)
        await client.close()
        await asyncio.sleep(50)
        assert web.open_connections == 0


@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_a_call_finds_out_that_a_server_is_there_again(era: str) -> None:
    """F-HTTP-6"""
    service = StreamableEndpoint(McpServer(era), session=None if era == "stateless" else "one")
    service.refusal = (400, LOST[0])
    async with HttpServer(service.routes) as web:
        client = await Client(str(web.url()))
    with pytest.raises(NetworkError):
        await client.ping()
    assert not client.is_connected
    service.session = None if era == "stateless" else "two"
    async with web:
        await use(client)
        assert client.is_connected
        await client.close()


async def test_the_channel_notices_that_a_server_has_gone() -> None:
    """F-HTTP-6, F-HTTP-4: without a call."""
    service = StreamableEndpoint(McpServer(), listens=True)
    async with HttpServer(service.routes) as web:
        client = await Client(str(web.url()))
        assert client.is_connected
    await asyncio.sleep(5)
    assert not client.is_connected
    async with web:
        await asyncio.sleep(60)
        assert client.is_connected
        await client.close()


async def test_a_recorded_connection_knows_it_too() -> None:
    """F-HTTP-6, F-SHOW-1"""
    service = StreamableEndpoint(McpServer())
    async with HttpServer(service.routes) as web:
        client = await Client(str(web.url()), trace=lambda line: None)
    with pytest.raises(NetworkError):
        await client.ping()
    assert not client.is_connected
    await client.close()


async def test_a_transport_of_ones_own_is_connected_again() -> None:
    """F-HTTP-6, F-LIFE-5: there is only the one, so it is closed before it is opened."""
    service = StreamableEndpoint(McpServer(), session="one", listens=True)
    async with HttpServer(service.routes) as web:
        client = await Client(StreamableHttpTransport(web.url()))
        await use(client)
    with pytest.raises(NetworkError):
        await client.ping()
    assert not client.is_connected
    web.requests.clear()
    async with web:
        await client.connect()
        await use(client)
        assert client.is_connected
        assert methods(web).count("initialize") == 1
        # The earlier session is ended first, and not the new one.
        assert methods(web)[0] == "DELETE" and methods(web).count("DELETE") == 1
        await client.close()
