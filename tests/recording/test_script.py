"""The script a replay follows: which recorded call a request gets, and when the server speaks."""

from __future__ import annotations

from typing import Any

from mcpclient.jsonrpc import messages
from mcpclient.recording.conversation import Call, Failed, Heard, Script

Json = dict[str, Any]


def call(method: str, params: Json | None = None, answer: object = None, **more: Any) -> Call:
    request = messages.request(1, method, params)
    said = messages.response(1, {"is": answer})
    return Call(request, 0.0, [Heard(said)], ended_at=1.0, **more)


def answers(script: Script, method: str, params: Json | None = None) -> list[Any]:
    reply = script.reply_to(messages.request(7, method, params))
    return [step.message["result"]["is"] for step in reply.steps if isinstance(step, Heard)]


def test_attempts_to_open_that_failed_are_passed_over() -> None:
    """F-SHOW-8"""
    failed = Call(messages.request(1, "initialize", None), 0.0, [Failed({"type": "X"})])
    assert answers(Script("it", [failed, call("initialize", None, "ok")]), "initialize") == ["ok"]


def test_parts_of_the_params_are_compared() -> None:
    """F-API-25: those that ``match`` names; one that is missing is like null."""
    recorded = [call("tools/call", {"name": name, "arguments": {"n": 1}}, name) for name in "ab"]
    by_name = Script("it", recorded, ("method", "params.name"))
    assert answers(by_name, "tools/call", {"name": "b", "arguments": {"n": 2}}) == ["b"]
    by_argument = Script("it", recorded, ("method", "params.arguments.n"))
    assert answers(by_argument, "tools/call", {"arguments": {"n": 1}}) == ["a"]
    assert answers(Script("it", [call("ping", {"a": 1}, "pong")], ("method",)), "ping") == ["pong"]
