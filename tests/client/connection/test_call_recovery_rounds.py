"""Calls that the server answers with a request for input: the rounds of the stateless era."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient import Client, ElicitationRequest
from mcpclient.errors import HandlerFailed, PeerError, ProtocolViolation
from tests.client.scripted_server import ScriptedServer
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time

FORM = {
    "method": "elicitation/create",
    "params": {"message": "m", "requestedSchema": {"type": "object", "properties": {}}},
}
STATE = '{"opaque":  "\\u00e9\\u0000 \u00e9 \U0001f600"}'
DONE: dict[str, Any] = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}


def asking(**fields: Any) -> dict[str, Any]:
    return {"resultType": "input_required", **fields}


def call(server: ScriptedServer, **options: Any) -> Any:
    async def session() -> Any:
        async with server.client(**options) as client:
            return await client.call_tool("t", {"a": 1}, meta={"traceparent": "00-1"})

    return run(session())


def scripted(*results: Any) -> ScriptedServer:
    """A server that gives these results to tools/call, one after the other."""
    left = list(results)
    return ScriptedServer({"tools/call": lambda params: left.pop(0)})


@pytest.mark.parametrize("tasks", [False, True])
def test_a_round_of_input(tasks: bool) -> None:
    """F-API-12: its own params, the answers by their names, the state byte-exact, and a new id."""
    server = scripted(asking(inputRequests={"q": FORM}, requestState=STATE), DONE)
    assert call(server, elicitation=lambda request: True, tasks=tasks).text == "done"
    first, second = server.sent("tools/call")
    assert "inputResponses" not in first and "requestState" not in first
    assert second["inputResponses"] == {"q": {"action": "accept", "content": {}}}
    assert second["requestState"] == STATE
    assert (second["name"], second["arguments"]) == ("t", {"a": 1})
    assert second["_meta"]["traceparent"] == "00-1"
    assert len(set(server.ids("tools/call"))) == 2


def test_each_round_carries_only_its_own() -> None:
    """F-API-12: nothing of an earlier round is sent again."""
    server = scripted(
        asking(inputRequests={"q1": FORM}, requestState="s1"),
        asking(inputRequests={"q2": FORM}),
        DONE,
    )
    call(server, elicitation=lambda request: False)
    last = server.sent("tools/call")[-1]
    assert set(last["inputResponses"]) == {"q2"}
    assert "requestState" not in last


async def test_parallel_calls_carry_nothing_of_each_other() -> None:
    """F-API-12: input and state belong to the one call."""

    def answer(params: Mapping[str, Any]) -> dict[str, Any]:
        if params["name"] == "asks" and "requestState" not in params:
            return asking(inputRequests={"q": FORM}, requestState="s")
        return DONE

    server = ScriptedServer({"tools/call": answer})
    async with server.client(elicitation=lambda request: True) as client:
        await asyncio.gather(*(client.call_tool(name) for name in ("asks", "plain", "plain")))
    plain = [params for params in server.sent("tools/call") if params["name"] == "plain"]
    assert not any("requestState" in params or "inputResponses" in params for params in plain)


def test_answers_are_sought_side_by_side() -> None:
    """F-API-12: two questions that each wait for the other being asked."""
    server = scripted(asking(inputRequests={"a": FORM, "b": FORM}), DONE)
    waiting: list[asyncio.Future[None]] = []

    async def ask(request: ElicitationRequest) -> bool:
        waiting.append(asyncio.get_running_loop().create_future())
        if len(waiting) == 2:
            for other in waiting:
                other.set_result(None)
        await waiting[0]
        return True

    assert call(server, elicitation=ask).text == "done"


def test_a_human_takes_no_call_s_time() -> None:
    """F-API-7, F-API-12."""

    async def ask(request: ElicitationRequest) -> bool:
        await asyncio.sleep(3600)
        return True

    server = scripted(asking(inputRequests={"q": FORM}), DONE)
    assert call(server, elicitation=ask, timeout=1, max_timeout=2).text == "done"


@pytest.mark.parametrize(("rounds", "fails"), [(10, False), (11, True)])
def test_rounds_are_bounded(rounds: int, fails: bool) -> None:
    """F-API-12."""
    server = scripted(*[asking(inputRequests={"q": FORM})] * rounds, DONE)
    if fails:
        with pytest.raises(ProtocolViolation, match="asked for input 11 times"):
            call(server, elicitation=lambda request: True)
    else:
        assert call(server, elicitation=lambda request: True).text == "done"
    assert len(server.sent("tools/call")) == 11


def test_a_server_that_wants_only_its_state_is_not_hurried() -> None:
    """F-API-12: the first retry goes at once, later ones wait."""
    server = scripted(*[asking(requestState=str(number)) for number in range(4)], DONE)

    async def session() -> float:
        async with server.client() as client:
            loop = asyncio.get_running_loop()
            started = loop.time()
            assert (await client.call_tool("t")).text == "done"
            return loop.time() - started

    assert run(session()) == pytest.approx(0.1 + 0.2 + 0.4)
    states = [params.get("requestState") for params in server.sent("tools/call")]
    assert states == [None, "0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (FORM, "which this client does not offer"),
        ({"method": "vendor/unknown"}, "asked for input with an invalid request"),
        (None, "asked for input with an invalid request"),
        ({"method": "ping"}, "asked for input with an invalid request"),
        ({"method": "tools/call"}, "asked for input with an invalid request"),
        ({"method": 7}, "asked for input with an invalid request"),
        ({"method": ["roots/list"]}, "asked for input with an invalid request"),
        ({"method": {"a": 1}}, "asked for input with an invalid request"),
        ("ask", "asked for input with an invalid request"),
    ],
)
def test_what_a_server_may_not_ask(request_: object, reason: str) -> None:
    """F-API-10, F-API-12: a clear error for the caller, and no retry."""
    server = scripted(asking(inputRequests={"q": request_}))
    with pytest.raises(ProtocolViolation, match=reason):
        call(server)
    assert len(server.sent("tools/call")) == 1


def test_so_many_requests_for_input_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-10, F-API-12: past a limit nobody is asked, and the call fails."""
    monkeypatch.setattr("mcpclient.client.connection.call_recovery._MAX_REQUESTS", 3)
    asked: list[object] = []
    requests = {str(number): FORM for number in range(4)}
    server = scripted(asking(inputRequests=requests))
    with pytest.raises(ProtocolViolation, match="input 4 times at once"):
        call(server, elicitation=asked.append)
    assert asked == []


@pytest.mark.parametrize(
    ("method", "params", "reason"),
    [
        ("elicitation/create", [], "invalid params of elicitation/create"),
        ("elicitation/create", None, "without a requestedSchema"),
        ("elicitation/create", {"requestedSchema": {"properties": {}}}, "without a message"),
        ("roots/list", "x", "invalid params of roots/list"),
        ("sampling/createMessage", {"messages": "x"}, "without messages"),
    ],
)
def test_params_that_a_method_does_not_take(method: str, params: object, reason: str) -> None:
    """F-API-10, F-API-12: there is no way to tell the server, so the call fails and says why."""
    asked: list[Any] = []
    server = scripted(asking(inputRequests={"q": {"method": method, "params": params}}))
    with pytest.raises(ProtocolViolation, match=reason):
        call(server, elicitation=asked.append, sampling=asked.append, roots=["/srv"])
    assert len(server.sent("tools/call")) == 1
    assert asked == []


def test_a_handler_that_fails() -> None:
    """F-API-10, F-API-12: the call fails with the reason, and other questions are withdrawn."""
    ended: list[bool] = []

    async def ask(request: ElicitationRequest) -> Any:
        if request.message == "m":
            raise ValueError("because")
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(True)

    other = {**FORM, "params": {**FORM["params"], "message": "other"}}  # type: ignore[dict-item]
    server = scripted(asking(inputRequests={"a": other, "b": FORM}))
    with pytest.raises(HandlerFailed, match="raised ValueError") as caught:
        call(server, elicitation=ask)
    assert isinstance(caught.value.__cause__, ValueError)
    assert ended == [True]
    assert len(server.sent("tools/call")) == 1


async def test_cancelling_a_call_withdraws_the_question() -> None:
    """F-API-8, F-API-12."""
    ended: list[bool] = []

    async def ask(request: ElicitationRequest) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append(True)

    server = scripted(asking(inputRequests={"a": FORM}))
    async with server.client(elicitation=ask) as client:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.call_tool("t"), 5)
        assert ended == [True]


async def test_no_input_at_all_can_be_answered() -> None:
    """F-API-13: what a task asks for may be nothing."""
    server = scripted()
    client: Client
    async with server.client() as client:
        assert await client._caller.answers({}) == {}


@pytest.mark.parametrize(
    ("method", "ask"),
    [
        ("resources/read", lambda client: client.read_resource("file:///x")),
        ("prompts/get", lambda client: client.get_prompt("p")),
        ("prompts/get", lambda client: client.request("prompts/get")),
    ],
)
async def test_the_other_requests_that_may_ask(method: str, ask: Any) -> None:
    """F-API-12: also one that was made without params."""
    results = [asking(inputRequests={"q": FORM}), {"contents": [], "messages": []}]
    server = ScriptedServer({method: lambda params: results.pop(0)})
    async with server.client(elicitation=lambda request: True) as client:
        await ask(client)
        assert "inputResponses" in server.sent(method)[1]


def test_an_error_after_a_round_is_the_call_s() -> None:
    """F-API-12"""

    def answer(params: Mapping[str, Any]) -> dict[str, Any]:
        if "inputResponses" in params:
            raise PeerError(-32602, "wrong answer")
        return asking(inputRequests={"q": FORM})

    with pytest.raises(PeerError, match="wrong answer"):
        call(ScriptedServer({"tools/call": answer}), elicitation=lambda request: True)


@pytest.mark.parametrize("tasks", [False, True])
@pytest.mark.parametrize("kind", ["input_required", "task", "vendor/other", 5])
def test_in_the_handshake_era_no_result_is_a_question(kind: Any, tasks: bool) -> None:
    """F-LIFE-2: ``resultType`` is the tool's own field there, and the tool is called once."""
    result = {**DONE, "resultType": kind, "inputRequests": {"q": FORM}, "taskId": "t"}
    server = ScriptedServer({"tools/call": result}, version="2025-11-25")
    answer = call(server, elicitation=lambda request: True, tasks=tasks)
    assert answer.text == "done" and answer.raw["resultType"] == kind
    assert len(server.sent("tools/call")) == 1


def test_a_handler_that_was_cancelled_by_itself() -> None:
    """F-API-12: of what it waited for; the caller, whom nobody cancelled, learns why it fails."""
    withdrawn: list[str] = []

    async def ask_user(request: ElicitationRequest) -> Any:
        if request.message == "gone":
            raise asyncio.CancelledError
        try:
            await asyncio.sleep(3600)
        finally:
            withdrawn.append(request.message)

    form = {"message": "gone", "requestedSchema": {"type": "object", "properties": {}}}
    gone = {"method": "elicitation/create", "params": form}
    server = scripted(asking(inputRequests={"patient": FORM, "gone": gone}))
    with pytest.raises(HandlerFailed, match="its handler was cancelled"):
        call(server, elicitation=ask_user)
    assert withdrawn == ["m"]
