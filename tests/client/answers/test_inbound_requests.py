"""Answers to the server's own requests, and what may come between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpclient import SamplingRequest
from mcpclient.client.answers.inbound_requests import Handlers
from mcpclient.errors import ConnectionLost, McpError, SessionExpired, UsageError
from mcpclient.jsonrpc.messages import Message
from mcpclient.protocol.negotiation import EraRules
from tests.client.connection.test_session import HANDSHAKE as ERA
from tests.client.connection.test_session import STATELESS, on_bench, turn
from tests.client.scripted_server import HANDSHAKE, ScriptedServer, turns
from tests.support.clients import now

pytestmark = pytest.mark.virtual_time

ASKED: dict[str, Any] = {"messages": [], "maxTokens": 1}


async def test_an_answer_that_json_cannot_carry() -> None:
    """F-API-10: the server gets an error instead, and the caller hears of it."""
    errors: list[McpError] = []
    server = ScriptedServer(version=HANDSHAKE)

    def handler(request: SamplingRequest) -> Any:
        return {"content": {"type": "text", "text": "x", "annotations": {1, 2}}}

    async with server.client(sampling=handler, on_error=errors.append) as client:
        reply = await server.ask(1, "sampling/createMessage", **ASKED)
        assert reply["error"]["code"] == -32603
        assert client.is_connected
    assert [type(error) for error in errors] == [UsageError]


async def test_a_handler_that_waited_for_something_cancelled() -> None:
    """F-API-10: nobody cancelled the request itself, so it is answered."""
    server = ScriptedServer(version=HANDSHAKE)

    async def handler(request: SamplingRequest) -> Any:
        inner = asyncio.get_running_loop().create_future()
        inner.cancel()
        await inner

    async with server.client(sampling=handler):
        reply = await server.ask(1, "sampling/createMessage", **ASKED)
        assert reply["error"] == {"code": -32603, "message": "cancelled"}


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create"])
async def test_clocks_stand_still_while_the_server_waits_for_us(method: str) -> None:
    """F-API-7: and run again afterwards."""
    server = ScriptedServer({"tools/call": lambda params: None}, version=HANDSHAKE)

    async def slow(request: Any) -> None:
        await asyncio.sleep(100)

    async with server.client(sampling=slow, elicitation=slow) as client:
        loop = asyncio.get_running_loop()
        started = loop.time()
        call = asyncio.ensure_future(client.call_tool("t", timeout=5))
        await turns()
        form = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}
        await server.ask(1, method, **ASKED, **form)
        assert not call.done()
        with pytest.raises(McpError, match="no answer within 5 s"):
            await call
        assert loop.time() - started == pytest.approx(105)


@pytest.mark.parametrize(
    ("method", "params", "reason"),
    [
        ("elicitation/create", {}, "without a requestedSchema"),
        ("elicitation/create", {"requestedSchema": {"properties": {}}}, "without a message"),
        ("elicitation/create", {"message": 5, "requestedSchema": {"properties": {}}}, "a message"),
        ("elicitation/create", {"message": "m", "mode": "voice"}, "was not declared"),
        ("sampling/createMessage", {"messages": "hello", "maxTokens": 1}, "without messages"),
        ("sampling/createMessage", {"messages": ["hello"], "maxTokens": 1}, "without messages"),
        ("sampling/createMessage", {"messages": [{"role": "user"}]}, "without messages"),
    ],
)
async def test_params_that_a_method_does_not_take(
    method: str, params: dict[str, Any], reason: str
) -> None:
    """F-WIRE-2, F-API-10: InvalidParams, in words of this library's own; nobody is asked."""
    server = ScriptedServer(version=HANDSHAKE)
    asked: list[Any] = []
    async with server.client(sampling=asked.append, elicitation=asked.append):
        reply = await asyncio.wait_for(server.ask(1, method, **params), 1)
        assert reply["error"]["code"] == -32602
        assert reason in reply["error"]["message"]
    assert asked == []


# In one session


@pytest.mark.parametrize("room", [0, 1])
async def test_what_is_not_a_valid_request_takes_room_like_any_other(
    room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-WIRE-2: it is refused once, and not while there are too many to answer."""
    monkeypatch.setattr("mcpclient.client.answers.inbound_requests._MAX_WAITING", room)
    async with on_bench() as bench:
        for _ in range(2):
            bench.session.message_received({"id": 7, "method": 5})
        await turn()
        assert [answer["error"]["code"] for answer in bench.wire.sent] == [-32600] * room
        assert len(bench.errors) == 2


@pytest.mark.parametrize("era", [ERA, STATELESS])
async def test_what_a_server_calls_things_is_quoted_and_cut(era: EraRules) -> None:
    """F-SHOW-3: it may come to a terminal, and be as long as a message."""
    async with on_bench(era) as bench:
        for method in ("a\x1b[2J\n", "m" * 10**6):
            for _ in range(2):  # the second time, its id is in use
                bench.session.message_received({"id": "i" * 10**6, "method": method})
            bench.session.message_received({"id": 1, "method": method, "params": 1})
        await turn()
        texts = [str(error) for error in bench.errors]
        texts += [answer["error"]["message"] for answer in bench.wire.sent]
        assert all(text.isprintable() and len(text) < 400 for text in texts)
        assert any(r"'a\x1b[2J\n'" in text for text in texts)


@pytest.mark.parametrize("begins", [False, True])
async def test_what_a_session_asked_is_not_answered_in_the_next(begins: bool) -> None:
    """F-HTTP-6, F-API-10: the same id may mean another question there."""
    asked: list[int] = []
    ended: list[int] = []

    async def sampling(request: Any) -> str:
        asked.append(request.max_tokens)
        try:
            await asyncio.sleep(10)
        finally:
            ended.append(request.max_tokens)
        return "hi"

    async with on_bench(handlers=Handlers(sampling=sampling)) as bench:
        question = {"messages": [], "maxTokens": 1}
        ask = {"id": 0, "method": "sampling/createMessage", "params": question}
        bench.session.message_received(ask)
        await turn()
        expiry = SessionExpired(404, {}, b"")
        if begins:
            bench.session.begin_anew()
            assert (bench.session.expired, bench.deaf) == (None, [])
        else:
            bench.session.channel_lost(expiry)
            assert (bench.session.expired, bench.deaf) == (expiry, [expiry])
        bench.session.message_received({**ask, "params": {**question, "maxTokens": 2}})
        await turn()
        assert (asked, ended, bench.wire.sent) == ([1, 2], [1], [])
        await asyncio.sleep(11)
        (answer,) = bench.wire.sent
        assert answer["id"] == 0 and "result" in answer


@pytest.mark.parametrize("request_id", [7, "seven"])
@pytest.mark.parametrize("era", [ERA, None])
async def test_requests_of_the_server_are_answered(request_id: Any, era: EraRules | None) -> None:
    """F-API-10"""
    async with on_bench(era) as bench:
        for method in ("ping", "vendor/unknown"):
            message = {"id": request_id, "method": method, "params": None}
            bench.session.message_received(message)
            await turn()
        pong, refusal = bench.wire.sent
        assert pong == {"jsonrpc": "2.0", "id": request_id, "result": {}}
        assert (refusal["id"], refusal["error"]["code"]) == (request_id, -32601)


async def test_a_request_of_the_server_that_comes_again_is_answered_once() -> None:
    """F-API-10: ids are unique while an answer is due; afterwards nothing is remembered."""
    async with on_bench() as bench:
        for _ in range(3):
            bench.session.message_received({"id": 7, "method": "ping"})
        await turn()
        assert len(bench.wire.sent) == 1
        assert [str(error) for error in bench.errors] == [
            "the server sent request 'ping' with the id 7 again"
        ] * 2
        bench.session.message_received({"id": 7, "method": "ping"})
        await turn()
        assert len(bench.wire.sent) == 2


async def test_so_many_requests_of_the_server_are_answered_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-API-10: a flood of them costs no memory; those over the limit get an error at once."""
    module = "mcpclient.client.answers.inbound_requests"
    monkeypatch.setattr(f"{module}._MAX_ANSWERING", 2)
    monkeypatch.setattr(f"{module}._MAX_WAITING", 4)
    async with on_bench() as bench:
        for number in range(6):
            bench.session.message_received({"id": number, "method": "vendor/ask"})
        await turn()
        codes = {message["id"]: message["error"]["code"] for message in bench.wire.sent}
        assert codes == {0: -32601, 1: -32601, 2: -32603, 3: -32603}
        assert len(bench.errors) == 4
        assert "too many answers" in str(bench.errors[0])


async def test_every_ping_is_answered() -> None:
    """F-API-10: 1,200 at once got 1,000 answers, and a call beside them goes on."""
    async with on_bench() as bench:
        for number in range(1200):
            bench.session.message_received({"id": number, "method": "ping"})
        await turn()
        assert [answer["id"] for answer in bench.wire.sent] == list(range(1200))
        assert all(answer["result"] == {} for answer in bench.wire.sent)
        assert bench.errors == []


async def test_what_waits_for_an_answer_is_bounded_in_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-10: a thousand requests of 60 MB are as many bytes as a million of 60 KB."""
    monkeypatch.setattr("mcpclient.client.answers.inbound_requests._MAX_WEIGHT", 100_000)
    async with on_bench() as bench:
        for number in range(4):
            params = {"text": "x" * 40_000}
            bench.session.message_received({"id": number, "method": "vendor/a", "params": params})
        for number in range(200):
            bench.session.message_received({"id": f"{number}" + "x" * 2000, "method": "ping"})
        await turn()
        codes = [message["error"]["code"] for message in bench.wire.sent if "error" in message]
        assert codes == [-32601, -32601, -32603, -32603]
        assert len(bench.wire.sent) == 100  # an id may be as long as a message, too


async def test_the_server_may_cancel_what_it_asked() -> None:
    """F-API-10"""
    async with on_bench() as bench:
        ended: list[Any] = []

        async def take_time(message: Message) -> None:
            try:
                await asyncio.sleep(1000)
            finally:
                ended.append((message["id"], now()))

        bench.wire.on_send = take_time
        for asked in ("a", "b"):
            bench.session.message_received({"id": asked, "method": "ping"})
        await asyncio.sleep(1)
        for request_id in ("unknown", [1], None, "a"):
            params = {"requestId": request_id}
            bench.session.message_received({"method": "notifications/cancelled", "params": params})
        await turn()
        assert ended == [("a", 1)]
        assert not bench.errors
        assert len(bench.notifications) == 4


@pytest.mark.parametrize("error", [ConnectionLost("gone"), UsageError("not JSON")])
async def test_an_answer_that_cannot_be_sent_is_reported(error: McpError) -> None:
    """F-API-20"""
    async with on_bench() as bench:

        def fail(message: Message) -> None:
            bench.wire.on_send = lambda message: None
            raise error

        bench.wire.on_send = fail
        bench.session.message_received({"id": 1, "method": "ping"})
        await turn()
        assert bench.errors == [error]


async def test_closing_cancels_the_handlers_that_still_run() -> None:
    """F-LIFE-5, F-API-10"""
    ended: list[float] = []

    async def ask(params: Any) -> Any:
        try:
            await asyncio.sleep(1000)
        finally:
            ended.append(now())

    async with on_bench(handlers=Handlers(elicitation=ask)) as bench:
        params = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
        message = {"id": 1, "method": "elicitation/create", "params": params}
        bench.session.message_received(message)
        await turn()
        assert ended == []
        await bench.session.close(5)
        assert ended == [0] and now() == 0
        assert bench.wire.sent == []
