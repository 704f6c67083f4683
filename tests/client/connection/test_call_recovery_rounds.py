"""Calls that the server answers with a request for input: the rounds of the stateless era."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient import ElicitationRequest
from mcpclient.errors import HandlerFailed, ProtocolViolation
from tests.client.scripted_server import ScriptedServer
from tests.support.tables import each_row
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time

FORM = {
    "method": "elicitation/create",
    "params": {"message": "m", "requestedSchema": {"type": "object", "properties": {}}},
}
DONE: dict[str, Any] = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}


def asking(**fields: Any) -> dict[str, Any]:
    return {"resultType": "input_required", **fields}


def call(server: ScriptedServer, limits: Mapping[str, Any] = {}, **options: Any) -> Any:
    async def session() -> Any:
        async with server.client(**options) as client:
            return await client.call_tool("t", {"a": 1}, meta={"traceparent": "00-1"}, **limits)

    return run(session())


def scripted(*results: Any) -> ScriptedServer:
    """A server that gives these results to tools/call, one after the other."""
    left = list(results)
    return ScriptedServer({"tools/call": lambda params: left.pop(0)})


def test_each_round_carries_only_its_own() -> None:
    """F-API-12: nothing of an earlier round is sent again."""
    asked = asking(inputRequests={"q1": FORM}, requestState="s1")
    server = scripted(asked, asking(inputRequests={"q2": FORM}), DONE)
    call(server, elicitation=lambda request: False)
    last = server.sent("tools/call")[-1]
    assert set(last["inputResponses"]) == {"q2"}
    assert "requestState" not in last


def test_a_human_takes_no_call_s_time() -> None:
    """F-API-7, F-API-12."""

    async def ask(request: ElicitationRequest) -> bool:
        await asyncio.sleep(3600)
        return True

    server = scripted(asking(inputRequests={"q": FORM}), DONE)
    limits = {"timeout": 1, "max_timeout": 2}
    assert call(server, limits, elicitation=ask).text == "done"


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


@each_row(
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
    """F-API-10, F-API-12: past a limit the user is not asked, and the call fails."""
    monkeypatch.setattr("mcpclient.client.connection.call_recovery._MAX_REQUESTS", 3)
    asked: list[object] = []
    requests = {str(number): FORM for number in range(4)}
    server = scripted(asking(inputRequests=requests))
    with pytest.raises(ProtocolViolation, match="input 4 times at once"):
        call(server, elicitation=asked.append)
    assert asked == []


@each_row(
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


def test_a_handler_that_was_cancelled_by_itself() -> None:
    """F-API-12: the handler was cancelled, not the caller, who learns why the call fails."""
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
