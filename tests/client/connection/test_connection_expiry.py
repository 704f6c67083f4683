"""A session that the server has forgotten, found out by something that is no call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpclient import Client
from mcpclient.client.connection.opening import Opening
from mcpclient.errors import (
    CallTimeout,
    ClientClosed,
    ConnectionLost,
    HttpError,
    McpError,
    SessionExpired,
)
from mcpclient.protocol.listen import EventsMissed
from mcpclient.protocol.negotiation import Agreement
from tests.client.connection.test_connection import methods
from tests.client.scripted_server import ScriptedServer
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer

VERSION = "2025-11-25"
FORM = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}
ASK = {"method": "elicitation/create", "params": FORM}

pytestmark = [pytest.mark.usefixtures("fresh_eras"), pytest.mark.virtual_time]


async def test_a_server_that_forgets_while_it_waits_for_an_answer() -> None:
    """F-HTTP-6, F-LIFE-7: the call that asked ends at once and is not made again,
    one on an open stream is answered, and the next ones open one session between them.
    """
    mcp = McpServer()
    service = StreamableEndpoint(mcp, json=False, session="one")
    errors: list[McpError] = []

    def ask_user(request: Any) -> bool:
        service.session = "two"
        return True

    async with HttpServer(service.routes) as web:
        url = str(web.url())
        async with Client(
            url, protocol_version=VERSION, elicitation=ask_user, on_error=errors.append
        ) as client:
            beside = asyncio.ensure_future(client.call_tool("hold", {"text": "beside"}))
            await asyncio.sleep(1)
            with pytest.raises(ConnectionLost, match="forgotten the session") as caught:
                await client.call_tool("ask", ASK)
            assert isinstance(caught.value.__cause__, SessionExpired)
            assert asyncio.get_running_loop().time() == 1
            assert client.is_connected and methods(web).count("initialize") == 1
            texts = ["a", "b", "c"]
            calls = [client.call_tool("echo", {"text": text}) for text in texts]
            assert [result.text for result in await asyncio.gather(*calls)] == texts
            await client.call_tool("release")
            assert (await beside).text == "beside"
            assert methods(web).count("initialize") == 2
    assert [type(error) for error in errors] == [SessionExpired]
    names = [message["params"]["name"] for message in mcp.messages("tools/call")]
    assert sorted(names) == ["ask", "echo", "echo", "echo", "hold", "release"]


async def test_a_question_on_the_channel_names_no_call() -> None:
    """F-HTTP-6, F-API-7: whichever call it may be for keeps to its own limits."""
    mcp = McpServer()
    service = StreamableEndpoint(mcp, session="one", listens=True)

    def ask_user(request: Any) -> bool:
        service.session = "two"
        return True

    async with HttpServer(service.routes) as web:
        url = str(web.url())
        async with Client(url, protocol_version=VERSION, elicitation=ask_user) as client:
            with pytest.raises(CallTimeout):
                await client.call_tool("ask", ASK, timeout=5)
            assert (await client.call_tool("echo", {"text": "x"})).text == "x"


async def test_a_user_is_not_asked_for_a_session_that_is_gone() -> None:
    """F-HTTP-6, F-API-10: an answer to the question would reach another session."""
    service = StreamableEndpoint(McpServer(), json=False, session="one")
    withdrawn: list[bool] = []

    async def ask_user(request: Any) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            withdrawn.append(True)

    async with HttpServer(service.routes) as web:
        url = str(web.url())
        async with Client(url, protocol_version=VERSION, elicitation=ask_user) as client:
            asking = asyncio.ensure_future(client.call_tool("ask", ASK))
            await asyncio.sleep(1)
            service.session = "two"
            assert (await client.call_tool("echo", {"text": "x"})).text == "x"
            with pytest.raises(ConnectionLost):
                await asking
            assert withdrawn == [True]
            assert asyncio.get_running_loop().time() == 1
            assert "answer" not in methods(web)


async def test_a_handler_may_begin_the_next_session() -> None:
    """F-HTTP-6, F-API-10: with a call of its own; its answer is then sent to nobody."""
    service = StreamableEndpoint(McpServer(), json=False, session="one")
    said: list[str] = []
    async with HttpServer(service.routes) as web:

        async def ask_user(request: Any) -> bool:
            service.session = "two"
            said.append((await client.call_tool("echo", {"text": "x"})).text)
            return True

        client = Client(str(web.url()), protocol_version=VERSION, elicitation=ask_user)
        async with client:
            with pytest.raises(ConnectionLost):
                await client.call_tool("ask", ASK)
            await asyncio.sleep(1)
            assert said == ["x"]
            assert methods(web).count("initialize") == 2
            assert "answer" not in methods(web)


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
                    await client.ping()  # which tells the listeners that it could not either
                assert isinstance(await first.__anext__(), EventsMissed)
                assert isinstance(await second.__anext__(), EventsMissed)
                assert methods(web).count("initialize") == 4
                assert (await client.call_tool("echo", {"text": "x"})).text == "x"
    assert busy == 0


async def test_a_renewal_that_fails_for_good_ends_the_listener() -> None:
    """F-HTTP-6, F-API-14: what trying again would not change is raised."""
    service = StreamableEndpoint(McpServer(), session="one", listens=True)

    async def post(request: Request, answer: Answer) -> None:
        if request.message.get("method") == "initialize" and service.session == "two":
            answer.full(403)
        else:
            await service.post(request, answer)

    async with HttpServer({**service.routes, "POST /mcp": post}) as web:
        url = str(web.url())
        client = await Client(url, protocol_version=VERSION)
        async with client, client.listen(tools=True) as subscription:
            service.session = "two"
            await client.notify("vendor/note")
            with pytest.raises(HttpError) as caught:
                await subscription.__anext__()
            assert caught.value.status == 403


async def test_closed_when_the_new_session_has_just_been_agreed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-LIFE-7, F-LIFE-8: whoever waits for it learns that, and nothing keeps it alive."""
    follow = Opening.follow
    server = ScriptedServer(version=VERSION)
    client = await server.client(keep_alive=100)
    connection = client._connection

    async def follow_and_close(self: Opening, *args: Any) -> Agreement:
        agreement = await follow(self, *args)
        await client.close()
        return agreement

    monkeypatch.setattr(Opening, "follow", follow_and_close)
    with pytest.raises(ClientClosed):
        await connection.renew(connection.generation)
    assert connection._keep_alive is not None
    await asyncio.sleep(1)
    assert connection._keep_alive.done()
