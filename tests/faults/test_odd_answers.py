"""Answers and requests that are valid JSON-RPC but against the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Callable

import pytest

import mcpclient
from mcpclient.errors import CallTimeout, McpError, PeerError, ProtocolViolation
from mcpclient.transports.inprocess import InProcessTransport, ServerEnd
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import Json, McpServer

pytestmark = pytest.mark.virtual_time

TEXT = {"content": [{"type": "text", "text": "hello"}]}

Reply = Callable[[Json], "list[Json]"]


def odd_server(reply: Reply) -> InProcessTransport:
    """A server that answers the calls of the tool ``odd`` with these messages."""
    mcp = McpServer()

    async def serve(end: ServerEnd) -> None:
        async for message in end:
            params = message.get("params") or {}
            if params.get("name") == "odd":
                for each in reply(message):
                    end.send(each)
            else:
                mcp.receive(message, end.send)

    return InProcessTransport(serve)


@asynccontextmanager
async def connected(reply: Reply, **options: Any) -> AsyncIterator[mcpclient.Client]:
    options.setdefault("protocol_version", "2025-11-25")
    async with mcpclient.connect(odd_server(reply), timeout=20, **options) as client:
        yield client
        assert (await client.call_tool("echo", {"text": "and on"})).text == "and on"


def answer(request_id: Any, **parts: Any) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, **(parts or {"result": TEXT})}


@pytest.mark.parametrize("echo", [lambda number: number, str, float], ids=["same", "text", "float"])
async def test_an_id_may_come_back_in_another_form(echo: Callable[[int], Any]) -> None:
    """F-WIRE-1"""
    async with connected(lambda message: [answer(echo(message["id"]))]) as client:
        assert (await client.call_tool("odd")).text == "hello"


@pytest.mark.parametrize(
    "request_id",
    [None, True, 0, -1, 1.5, 10**40, 1e300, "", "0x1", " 1", "\u0661", [], [1], {}, {"id": 1}],
    ids=repr,
)
async def test_an_answer_to_nobody_is_ignored(request_id: Any) -> None:
    """F-WIRE-1: it neither answers the call that waits nor harms the connection."""
    async with connected(lambda message: [answer(request_id)]) as client:
        with pytest.raises(CallTimeout):
            await client.call_tool("odd", timeout=1)


ODD: dict[str, tuple[Callable[[Json], list[Json]], type[McpError] | str]] = {
    "twice": (lambda m: [answer(m["id"])] * 2, "hello"),
    "twice, differently": (
        lambda m: [answer(m["id"]), answer(m["id"], error={"code": 1, "message": "no"})],
        "hello",
    ),
    "a thousand times": (lambda m: [answer(m["id"])] * 1000, "hello"),
    "result and error": (
        lambda m: [answer(m["id"], result=TEXT, error={"code": 1, "message": "no"})],
        PeerError,
    ),
    "neither": (lambda m: [answer(m["id"], jsonrpc="2.0")], ProtocolViolation),
    "no version": (lambda m: [{"id": m["id"], "result": TEXT}], "hello"),
    "another version": (lambda m: [{"jsonrpc": 3, "id": m["id"], "result": TEXT}], "hello"),
    "result null": (lambda m: [answer(m["id"], result=None)], ProtocolViolation),
    "result a list": (lambda m: [answer(m["id"], result=[TEXT])], ProtocolViolation),
    "result a text": (lambda m: [answer(m["id"], result="hello")], ProtocolViolation),
    "error null": (lambda m: [answer(m["id"], result=TEXT, error=None)], ProtocolViolation),
    "error a text": (lambda m: [answer(m["id"], error="no")], ProtocolViolation),
    "code a text": (lambda m: [answer(m["id"], error={"code": "1"})], ProtocolViolation),
    "no code": (lambda m: [answer(m["id"], error={"message": "no"})], ProtocolViolation),
    "no message": (lambda m: [answer(m["id"], error={"code": 1})], PeerError),
    "message a list": (lambda m: [answer(m["id"], error={"code": 1, "message": [1]})], PeerError),
    "from the future": (lambda m: [answer(m["id"] + 1000), answer(m["id"])], "hello"),
    "and a method": (
        lambda m: [{**answer(m["id"]), "method": "vendor/x"}, answer(m["id"])],
        "hello",
    ),
}


@pytest.mark.parametrize("odd", list(ODD.values()), ids=list(ODD))
async def test_odd_answers(odd: tuple[Reply, type[McpError] | str]) -> None:
    """F-WIRE-1, F-API-8: the first answer counts, and one that is none fails its call only."""
    reply, expected = odd
    async with connected(reply) as client:
        beside = asyncio.ensure_future(client.call_tool("hold", {"text": "beside"}))
        if isinstance(expected, str):
            assert (await client.call_tool("odd")).text == expected
        else:
            with pytest.raises(expected) as caught:
                await client.call_tool("odd")
            assert type(caught.value) is expected
            assert str(caught.value)
        await client.call_tool("release")
        assert (await beside).text == "beside"


REQUESTS: dict[str, Json] = {
    "no method": {"id": 5},
    "method null": {"id": 5, "method": None},
    "method a list": {"id": 5, "method": ["ping"]},
    "id null": {"id": None, "method": "ping"},
    "id a fraction": {"id": 1.5, "method": "ping"},
    "id a list": {"id": [1], "method": "ping"},
    "id an object": {"id": {}, "method": "ping"},
    "params a list": {"id": 5, "method": "ping", "params": [1]},
    "params a text": {"id": 5, "method": "ping", "params": "x"},
    "cancelled without id": {"method": "notifications/cancelled"},
    "cancelled with an odd id": {"method": "notifications/cancelled", "params": {"requestId": [1]}},
    "progress without token": {"method": "notifications/progress"},
    "progress with an odd token": {
        "method": "notifications/progress",
        "params": {"progressToken": {}, "progress": "much"},
    },
    "log of nothing": {"method": "notifications/message", "params": {}},
    "log at an odd level": {"method": "notifications/message", "params": {"level": [1]}},
    "nothing": {},
}


@pytest.mark.parametrize("message", list(REQUESTS.values()), ids=list(REQUESTS))
async def test_what_is_no_request_costs_nothing_but_itself(
    message: Json, caplog: pytest.LogCaptureFixture
) -> None:
    """F-WIRE-8, F-API-6, F-API-10: it is reported at most; the call beside it is answered."""
    async with connected(lambda m: [{"jsonrpc": "2.0", **message}, answer(m["id"])]) as client:
        result = await client.call_tool("odd", on_progress=lambda _: None)
        assert result.text == "hello"
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_question_that_comes_again_is_asked_once() -> None:
    """F-API-10: ids of requests are unique, so the repetition is an error and no new question."""
    asked: list[Any] = []
    errors: list[McpError] = []

    async def ask(request: Any) -> bool:
        asked.append(request.message)
        await asyncio.sleep(1)
        return True

    def reply(message: Json) -> list[Json]:
        form = {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}
        request = {"jsonrpc": "2.0", "id": 9, "method": "elicitation/create", "params": form}
        return [request, request, request, answer(message["id"])]

    async with connected(reply, elicitation=ask, on_error=errors.append) as client:
        await client.call_tool("odd")
        await asyncio.sleep(2)
        await client.call_tool("odd")  # the id is free again
        await asyncio.sleep(2)
    assert asked == ["Sure?"] * 2
    assert [str(error) for error in errors] == [
        "the server sent request 'elicitation/create' with the id 9 again"
    ] * 4


BODIES: dict[str, Callable[[int], Any]] = {
    "nobody's answer": lambda number: answer(4711),
    "a null id": lambda number: answer(None),
    "our id on a request": lambda number: {"jsonrpc": "2.0", "id": number, "method": "ping"},
    "a notification": lambda number: {"jsonrpc": "2.0", "method": "vendor/x"},
    "an empty object": lambda number: {},
    "an empty list": lambda number: [],
    "a list of requests": lambda number: [{"jsonrpc": "2.0", "id": number, "method": "ping"}],
    "a text": lambda number: "hello",
}


@pytest.mark.parametrize("body", list(BODIES.values()), ids=list(BODIES))
@pytest.mark.parametrize("events", [False, True], ids=["json", "events"])
async def test_a_response_without_the_answer_fails_at_once(
    body: Callable[[int], Any], events: bool
) -> None:
    """F-HTTP-3: "No response received", or the fault in it, but no wait for a timeout."""
    endpoint = StreamableEndpoint(McpServer())

    async def post(request: Request, response: Answer) -> None:
        if request.message.get("method") != "tools/list":
            await endpoint.post(request, response)
        elif events:
            response.stream()
            response.event(body(request.message["id"]) or "[]")
            response.end()
        else:
            response.json(body(request.message["id"]))

    async with HttpServer({**endpoint.routes, "POST /mcp": post}) as server:
        url, version = str(server.url()), "2025-11-25"
        async with mcpclient.connect(url, protocol_version=version) as client:
            with pytest.raises(McpError) as caught:
                await client.list_tools()
            assert not isinstance(caught.value, CallTimeout)
            assert asyncio.get_running_loop().time() == 0
            assert (await client.call_tool("echo", {"text": "and on"})).text == "and on"
