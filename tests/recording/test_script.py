"""The script a replay follows: which recorded call a request gets, and when the server speaks."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import NotRecorded, UsageError
from mcpclient.jsonrpc import messages
from mcpclient.recording.conversation import Call, Failed, Heard
from mcpclient.recording.script import Script

Json = dict[str, Any]

UNASKED = Heard(messages.notification("notifications/message", {"data": 1}))


def call(method: str, params: Json | None = None, answer: object = None, **more: Any) -> Call:
    request = messages.request(1, method, params)
    said = messages.response(1, {"is": answer})
    return Call(request, 0.0, [Heard(said)], ended_at=1.0, **more)


def answers(script: Script, method: str, params: Json | None = None) -> list[Any]:
    reply = script.reply_to(messages.request(7, method, params))
    return [step.message["result"]["is"] for step in reply.steps if isinstance(step, Heard)]


def test_the_same_request_gets_the_next_answer_and_then_the_last() -> None:
    """F-SHOW-8"""
    script = Script("it", [call("tools/list", None, 1), call("tools/list", None, 2)])
    assert [answers(script, "tools/list") for _ in range(3)] == [[1], [2], [2]]


def test_metadata_and_secrets_do_not_count() -> None:
    """F-SHOW-8: they differ from one run to the next."""
    recorded = {"name": "t", "arguments": {"password": "redacted-1"}, "_meta": {"a": 1}}
    script = Script("it", [call("tools/call", recorded, "found")])
    asked = {"name": "t", "arguments": {"password": "other"}, "_meta": {"b": 2}}
    assert answers(script, "tools/call", asked) == ["found"]


def test_what_was_not_recorded_names_the_nearest() -> None:
    """F-SHOW-8"""
    script = Script(
        "it", [call("tools/call", {"name": "aaaa"}), call("tools/call", {"name": "zz"})]
    )
    with pytest.raises(NotRecorded) as caught:
        script.reply_to(messages.request(1, "tools/call", {"name": "zzz"}))
    assert caught.value.recorded == ({"name": "zz"}, {"name": "aaaa"})


def test_a_server_speaks_when_the_client_is_ready() -> None:
    """F-SHOW-8: what came after ``initialize`` waits; after any other request it does not."""
    opening = call("initialize", {"clientInfo": {}}, "hello", after=[UNASKED])
    script = Script("it", [opening, call("ping", None, "pong", after=[UNASKED])])
    reply = script.reply_to(messages.request(7, "initialize", {"clientInfo": {"name": "other"}}))
    assert (list(reply.steps), list(reply.later)) == (opening.steps, [UNASKED])
    reply = script.reply_to(messages.request(8, "ping", None))
    assert (reply.steps[-1], list(reply.later)) == (UNASKED, [])


def test_a_server_known_to_be_older_refuses_to_be_discovered() -> None:
    """F-SHOW-8: it was not asked then, or in vain."""
    unanswered = Call(messages.request(1, "server/discover", None), 0.0)
    for calls in ([call("initialize")], [unanswered, call("initialize")]):
        reply = Script("it", calls).reply_to(messages.request(9, "server/discover", {}))
        refusal = reply.steps[0]
        assert reply.call is None and isinstance(refusal, Heard)
        assert (refusal.message["id"], refusal.message["error"]["code"]) == (9, -32601)


def test_attempts_to_open_that_failed_are_passed_over() -> None:
    """F-SHOW-8"""
    failed = Call(messages.request(1, "initialize", None), 0.0, [Failed({"type": "X"})])
    assert answers(Script("it", [failed, call("initialize", None, "ok")]), "initialize") == ["ok"]


def test_calls_that_were_not_asked_for_are_left() -> None:
    """F-API-25: as often as they were recorded; those that open a connection never are."""
    calls = [call("initialize"), call("ping"), call("tools/list"), call("ping")]
    script = Script("it", calls)
    answers(script, "ping")
    assert script.left == calls[2:]
    answers(script, "ping")
    assert script.left == [calls[2]]


def test_parts_of_the_params_are_compared() -> None:
    """F-API-25: those that ``match`` names; one that is missing is like null."""
    recorded = [call("tools/call", {"name": name, "arguments": {"n": 1}}, name) for name in "ab"]
    by_name = Script("it", recorded, ("method", "params.name"))
    assert answers(by_name, "tools/call", {"name": "b", "arguments": {"n": 2}}) == ["b"]
    by_argument = Script("it", recorded, ("method", "params.arguments.n"))
    assert answers(by_argument, "tools/call", {"arguments": {"n": 1}}) == ["a"]
    assert answers(Script("it", [call("ping", {"a": 1}, "pong")], ("method",)), "ping") == ["pong"]


@pytest.mark.parametrize("match", ["method", ("params",), ("method", "result")])
def test_only_methods_and_params_are_compared(match: Any) -> None:
    """F-API-25"""
    with pytest.raises(UsageError, match="match is"):
        Script("it", [], match)
