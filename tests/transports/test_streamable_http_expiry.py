"""Streamable HTTP when the server has forgotten the session: who still waits, and who no longer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcpclient.errors import ConnectionLost, McpError, SessionExpired
from mcpclient.protocol.outgoing import Outgoing
from tests.contract.transport_contract import ERA, answered, call, failed, post
from tests.support.http_server import Answer, Request, answer_with
from tests.transports.test_streamable_http import Opened, failure_of, initialize, opened

pytestmark = pytest.mark.virtual_time

QUESTION = {"jsonrpc": "2.0", "id": "q", "method": "vendor/question"}


class Forgetful:
    """A server whose calls stay open, each on a stream of its own, in ``streams`` by its id.

    A tool named ``ask`` asks something on its stream, ``break`` begins a stream that can be
    resumed, and closes it; the answer to ``late`` does not begin. ``session``: the only one it
    knows now.
    """

    def __init__(self, *, get: Any = None) -> None:
        self.session = "one"
        self.streams: dict[Any, Answer] = {}
        self.routes = {"POST /mcp": self.post, "GET /mcp": get or answer_with(405)}

    async def post(self, request: Request, answer: Answer) -> None:
        message = request.message
        if message.get("method") == "initialize":
            result = {"jsonrpc": "2.0", "id": message["id"], "result": {}}
            answer.json(result, headers={"Mcp-Session-Id": self.session})
        elif request.headers["mcp-session-id"] != self.session:
            answer.full(404)
        elif "id" not in message or "method" not in message:
            answer.full(202)
        else:
            await self._begin(message, answer)

    async def _begin(self, message: dict[str, Any], answer: Answer) -> None:
        self.streams[message["id"]] = answer
        name = message["params"]["name"]
        if name == "late":
            await answer.stall()
        answer.stream()
        if name == "ask":
            answer.event(QUESTION)
        elif name == "break":
            answer.event("", id=f"e{message['id']}", retry=50_000)
            answer.cut()
            return
        await answer.stall()

    def answer(self, request_id: int) -> None:
        self.streams[request_id].event({"jsonrpc": "2.0", "id": request_id, "result": {}})


@asynccontextmanager
async def playing(server: Forgetful) -> AsyncIterator[Opened]:
    """A session of the server's."""
    async with opened(server.routes) as (transport, inbox, web):
        await answered(transport, inbox, initialize(100))
        yield transport, inbox, web


def check(error: McpError) -> None:
    assert type(error) is ConnectionLost
    assert "forgotten the session" in str(error) and "(tools/call)" in str(error)
    assert isinstance(error.__cause__, SessionExpired)


async def test_a_stream_that_breaks_is_not_resumed_in_a_session_that_is_gone() -> None:
    """F-HTTP-5, F-HTTP-6: whether it broke before the session was known to be gone, or after."""
    server = Forgetful()
    async with playing(server) as (transport, inbox, web):
        await post(transport, call(1, "break"))
        await post(transport, call(2, "hold"))
        await asyncio.sleep(1)
        server.session = "two"
        await post(transport, ERA.notification("vendor/note", None))
        check(await failure_of(transport, inbox, 1))
        server.streams[2].event("", id="e2")
        server.streams[2].cut()
        lost = await failure_of(transport, inbox, 2)
        assert type(lost) is ConnectionLost and "forgotten the session" in str(lost)
        assert asyncio.get_running_loop().time() == 1
        assert web.requests_of("GET") == []


async def test_a_resumed_stream_is_left_alone_while_it_is_open() -> None:
    """F-HTTP-5, F-HTTP-6: and not resumed once more when it breaks."""

    async def rest(request: Request, answer: Answer) -> None:
        server.streams[1] = answer
        answer.stream()
        await answer.stall()

    server = Forgetful(get=rest)
    async with playing(server) as (transport, inbox, web):
        await post(transport, call(1, "break"))
        await asyncio.sleep(60)
        server.session = "two"
        assert isinstance(await failed(transport, inbox, call(2, "hold")), SessionExpired)
        await answered(transport, inbox, initialize(3))
        await asyncio.sleep(60)
        assert inbox.failures[1:] == []
        server.streams[1].cut()
        check(await failure_of(transport, inbox, 1))
        assert [get.headers["mcp-session-id"] for get in web.requests_of("GET")] == ["one"]


async def test_an_answer_in_a_new_session_settles_no_question_of_the_old_one() -> None:
    """F-HTTP-6: ids of a server's requests are unique in a session only."""
    server = Forgetful()
    async with playing(server) as (transport, inbox, _):
        await post(transport, call(1, "ask"))
        await post(transport, call(2, "late"))
        await asyncio.sleep(1)
        server.session = "two"
        await answered(transport, inbox, initialize(3))
        await post(transport, call(4, "ask"))
        await inbox.until(lambda: inbox.messages.count(QUESTION) == 2)
        await post(transport, Outgoing({"jsonrpc": "2.0", "id": "q", "result": {}}))
        assert inbox.failures == []
        server.streams[2].full(404)
        assert isinstance(await failure_of(transport, inbox, 2), SessionExpired)
        check(await failure_of(transport, inbox, 1))
        server.answer(4)
        await inbox.answer_to(4)
