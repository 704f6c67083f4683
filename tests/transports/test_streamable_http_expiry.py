"""Streamable HTTP when the server has forgotten the session: who still waits, and who no longer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcpclient.errors import ConnectionLost, HttpError, McpError, SessionExpired
from mcpclient.jsonrpc import messages
from mcpclient.transports.streamable_http import StreamableHttpTransport
from tests.contract.transport_contract import ERA, answered, call, failed, post
from tests.support.http_server import Answer, Request, answer_with, in_turn
from tests.support.inbox import Inbox
from tests.transports.test_streamable_http import Opened, failure_of, initialize, opened

pytestmark = pytest.mark.virtual_time

QUESTION = {"jsonrpc": "2.0", "id": "q", "method": "vendor/question"}


class Forgetful:
    """A server whose calls stay open, each on a stream of its own, in ``streams`` by its id.

    A tool named ``ask`` asks something on its stream, ``break`` begins a stream that can be
    resumed, and closes it. ``session``: the only one it knows now.
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
        answer.stream()
        name = message["params"]["name"]
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


async def send_answer(transport: StreamableHttpTransport) -> None:
    sending = transport.send(ERA.answer(messages.response("q", {})))
    assert sending is not None
    await sending


async def asked(inbox: Inbox, count: int = 1) -> None:
    await inbox.until(lambda: inbox.notifications().count("vendor/question") == count)


def check(error: McpError) -> None:
    assert type(error) is ConnectionLost
    assert "forgotten the session" in str(error) and "(tools/call)" in str(error)
    assert isinstance(error.__cause__, SessionExpired)


async def test_a_call_that_waits_for_an_answer_nobody_takes_ends_at_once() -> None:
    """F-HTTP-6, F-LIFE-7: but not one whose stream may still bring what it waits for."""
    server = Forgetful()
    async with playing(server) as (transport, inbox, web):
        await post(transport, call(1, "ask"))
        await post(transport, call(2, "hold"))
        await asyncio.sleep(1)
        server.session = "two"
        await send_answer(transport)
        check(await failure_of(transport, inbox, 1))
        assert asyncio.get_running_loop().time() == 1
        (refused,) = (error for request_id, error in inbox.failures if request_id is None)
        assert isinstance(refused, SessionExpired)
        assert inbox.deaf == [refused]
        server.answer(2)
        assert (await inbox.answer_to(2))["result"] == {}
        assert len(web.requests_of("POST")) == 4  # the call was not made again


async def test_a_call_whose_question_was_answered_waits_for_its_stream() -> None:
    """F-HTTP-6"""
    server = Forgetful()
    async with playing(server) as (transport, inbox, _):
        await post(transport, call(1, "ask"))
        await asked(inbox)
        await send_answer(transport)
        await asyncio.sleep(1)
        server.session = "two"
        assert isinstance(await failed(transport, inbox, call(2, "hold")), SessionExpired)
        server.answer(1)
        assert (await inbox.answer_to(1))["result"] == {}
        assert inbox.deaf == []  # the caller of the second call begins another session


async def test_a_question_still_being_thought_about_is_as_vain() -> None:
    """F-HTTP-6: when another call finds out that the session is gone."""
    server = Forgetful()
    async with playing(server) as (transport, inbox, _):
        await post(transport, call(1, "ask"))
        await asked(inbox)
        server.session = "two"
        assert isinstance(await failed(transport, inbox, call(2, "hold")), SessionExpired)
        check(await failure_of(transport, inbox, 1))


async def test_a_question_of_the_next_session_is_another() -> None:
    """F-HTTP-6: though the server's ids begin anew; and late news of the first change nothing."""
    server = Forgetful()
    async with playing(server) as (transport, inbox, web):
        late = asyncio.get_running_loop().create_future()

        async def slow(request: Request, answer: Answer) -> None:
            if request.message.get("method") == "vendor/late":
                await late
                answer.full(404)
            else:
                await server.post(request, answer)

        web.routes["POST /mcp"] = slow
        noting = asyncio.ensure_future(post(transport, ERA.notification("vendor/late", None)))
        await post(transport, call(1, "ask"))
        await asked(inbox)
        server.session = "two"
        await answered(transport, inbox, initialize(3))
        await post(transport, call(4, "ask"))
        await asked(inbox, 2)
        await send_answer(transport)  # to the second question, though the first has the same id
        late.set_result(None)
        await noting
        check(await failure_of(transport, inbox, 1))
        server.answer(4)
        assert (await inbox.answer_to(4))["result"] == {}
        assert inbox.deaf == []


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


@pytest.mark.parametrize(("status", "kind"), [(404, SessionExpired), (405, HttpError)])
async def test_a_channel_that_is_refused_after_it_was_offered(
    status: int, kind: type[McpError]
) -> None:
    """F-HTTP-4, F-HTTP-6: 404 does not mean that there is no channel then."""

    async def offer(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.cut()

    async with playing(Forgetful(get=in_turn(offer, answer_with(status)))) as (
        transport,
        inbox,
        web,
    ):
        await transport.listen({})
        await asyncio.sleep(60)
        assert len(web.requests_of("GET")) == 2
        (error,) = inbox.deaf
        assert type(error) is kind and isinstance(error, HttpError)
        assert error.status == status
        assert inbox.failures == [(None, error)]


async def test_a_channel_asked_for_once_more_counts_as_offered() -> None:
    """F-HTTP-4: whether it is accepted now or not, its loss is told; in a new session it is not."""
    refuse = answer_with(405)

    async def open_and_cut(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.cut()

    server = Forgetful(get=open_and_cut)
    async with playing(server) as (transport, inbox, web):
        await transport.listen({})
        web.routes["GET /mcp"] = refuse
        await asyncio.sleep(60)
        await transport.listen({})
        await asyncio.sleep(60)
        assert [type(error) for error in inbox.deaf] == [HttpError, HttpError]
        await answered(transport, inbox, initialize(2))
        await transport.listen({})
        await asyncio.sleep(60)
        assert len(inbox.deaf) == 2
