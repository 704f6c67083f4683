"""The conversation in a transcript, whatever carried it and whoever wrote it down: F-SHOW-8."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.recording.conversation import (
    Call,
    Conversation,
    Failed,
    Heard,
    Refused,
    Rejected,
    read_calls,
)
from mcpclient.recording.transcript import Transcript

LOST = {"type": "ConnectionLost", "text": "gone"}


def ask(id: Any, method: str = "m", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def result(id: Any, **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def note(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def sent(message: Any, channel: str = "stdio", **facts: Any) -> dict[str, Any]:
    return {"direction": "sent", "channel": channel, "message": message, **facts}


def got(message: Any, channel: str = "stdio", **facts: Any) -> dict[str, Any]:
    return {"direction": "received", "channel": channel, "message": message, **facts}


def facts(direction: str, channel: str = "stdio", **facts: Any) -> dict[str, Any]:
    return {"direction": direction, "channel": channel, **facts}


def read(*records: dict[str, Any], transport: str = "stdio") -> Conversation:
    timed = [{"time": float(index), **record} for index, record in enumerate(records)]
    return read_calls([Transcript({"transcript": 1, "transport": transport}, timed)])


def told(call: Call) -> list[Any]:
    """The messages for a call, in short: results, methods, statuses, messages of errors."""
    return [_in_short(step) for step in call.steps]


def _in_short(step: Any) -> Any:
    if isinstance(step, Heard):
        return step.message.get("method") or step.message.get("result") or step.message["error"]
    if isinstance(step, Refused):
        return step.status
    return step.error["text"]


def test_what_comes_between_calls_comes_after_the_one_before() -> None:
    """F-SHOW-8"""
    found = read(got(note("early")), sent(ask(1)), got(result(1)), got(note("late")), sent(ask(2)))
    assert [_in_short(step) for step in found.before] == ["early"]
    assert [_in_short(step) for step in found.calls[0].after] == ["late"]
    assert found.calls[1].answer is None


def test_batches_and_text_that_is_not_compact() -> None:
    """F-SHOW-8: as other implementations write."""
    first, second = read(
        facts("sent", text='[{"jsonrpc": "2.0", "id": 1, "method": "a"}]'),
        sent([ask(2)]),
        facts("received", text='{"id": 1, "result": {"n": 1}}'),
        got([result(2, n=2), "x"]),
    ).calls
    assert (told(first), told(second)) == ([{"n": 1}], [{"n": 2}])


def test_what_is_no_message() -> None:
    """F-SHOW-8: it fails the call that it names, or none."""
    first, second = read(
        sent(ask(1)),
        sent(ask(2)),
        facts("received", text='{"jsonrpc":"2.0","id":1,"result":{'),
        facts("received", text="a banner"),
        facts("sent", text="not JSON"),
    ).calls
    assert isinstance(first.steps[0], Failed)
    assert isinstance(second.steps[0], Rejected)
    assert "not" in second.steps[0].error["text"]


def test_a_broken_answer_is_that_of_the_call_it_names() -> None:
    """F-SHOW-8: also where the server echoes the id as a string."""
    answer = facts("received", text='{"jsonrpc":"2.0","id":"2","result":{]}')
    one, two = read(sent(ask(1)), sent(ask(2)), answer).calls
    assert [type(step) for step in two.steps] == [Failed]
    assert not one.steps


def test_failures_that_the_client_noted() -> None:
    """F-SHOW-8"""
    violation = {"type": "ProtocolViolation", "text": "too large"}
    first, second, third = read(
        sent(ask(1)),
        sent(ask(2)),
        sent(ask(3)),
        facts("note", error=violation, answers=1),
        facts("note", error=violation),
        facts("note", error=LOST),
        facts("note", said="nothing"),
        facts("note", error=LOST, end="lost"),
    ).calls
    assert told(first) == ["too large"]
    assert told(second) == ["gone"]
    assert told(third) == ["too large", "gone"]
    assert third.steps[-1] == Failed(LOST, lost=True)


def test_the_end_of_the_output_ends_the_calls() -> None:
    (call,) = read(sent(ask(1)), facts("received", end="complete")).calls
    assert isinstance(call.steps[0], Failed)


def test_a_connection_that_never_opened() -> None:
    """F-SHOW-8"""
    assert read(facts("note", error=LOST, end="never opened")).never_opened == LOST
    assert read(sent(ask(1)), facts("note", error=LOST, end="lost")).never_opened is None


def post(number: int, message: Any, *headers: list[str]) -> dict[str, Any]:
    head = {"method": "POST", "target": "/mcp", "headers": [*headers]}
    return sent(message, f"http-{number}", http=head)


def get(number: int, *headers: list[str]) -> dict[str, Any]:
    head = {"method": "GET", "target": "/mcp", "headers": [*headers]}
    return facts("sent", f"http-{number}", http=head)


def head(number: int, status: int = 200, kind: str = "application/json", **more: Any) -> Any:
    http = {"status": status, "reason": "", "headers": [["Content-Type", kind]]}
    return facts("received", f"http-{number}", http=http, **more)


def stream(number: int) -> Any:
    return head(number, kind="text/event-stream; charset=utf-8")


def event(number: int, message: Any, id: str = "") -> Any:
    fields = {"event": "message", **({"id": id} if id else {}), "data": message}
    return facts("received", f"http-{number}", event=fields)


def end(number: int, **more: Any) -> Any:
    return facts("received", f"http-{number}", **{"end": "complete", **more})


def test_a_stream_that_broke_and_was_resumed() -> None:
    """F-SHOW-8: the answer came on another channel; what came twice counts once."""
    (call,) = read(
        post(1, ask(1)),
        stream(1),
        event(1, note("a"), "e1"),
        facts("note", "http-1", end="lost", error=LOST),
        get(2, ["Last-Event-ID", "e1"]),
        stream(2),
        event(2, note("b"), "e2"),
        event(2, result(1, n=1), "e3"),
        end(2),
    ).calls
    assert told(call) == ["a", "b", {"n": 1}]


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (end(1), "the server ended without an answer"),
        (facts("note", "http-1", end="lost", error=LOST), "gone"),
    ],
)
def test_an_answer_that_never_came(ending: Any, text: str) -> None:
    """F-SHOW-8"""
    (call,) = read(post(1, ask(1)), stream(1), event(1, note("a")), ending).calls
    assert told(call) == ["a", text]
    assert call.steps[-1] == Failed({"type": "ConnectionLost", "text": text})


def test_a_response_that_the_client_closed_has_no_end() -> None:
    (call,) = read(post(1, ask(1)), stream(1), facts("sent", "http-1", end="closed")).calls
    assert call.ended_at is None


def test_the_channel_of_the_server_and_what_is_no_mcp() -> None:
    """F-SHOW-8: neither metadata of a login nor a receipt is an answer."""
    found = read(
        facts("sent", "http-1", http={"method": "GET", "target": "/.well-known/x"}),
        head(1, message={"issuer": "i"}),
        get(2),
        head(2, 405),
        get(3),
        stream(3),
        event(3, note("a")),
        post(4, note("notifications/initialized")),
        head(4, 202, text="Accepted"),
        post(5, ask(1)),
        head(5, kind="text/html", text="<html>"),
        facts("received", "http-9", message=result(1)),
        transport="http",
    )
    assert [_in_short(step) for step in found.before] == ["a"]
    (call,) = found.calls
    assert isinstance(call.steps[0], Failed)


@pytest.mark.parametrize(
    "ending",
    [
        head(1, 404, text="nothing here", end="complete"),
        facts("note", "http-1", end="cannot connect", error={"type": "HttpError", "status": 404}),
    ],
)
def test_legacy_sse_that_never_opened(ending: Any) -> None:
    """F-SHOW-8"""
    never = read(get(1), ending, transport="sse").never_opened
    assert never is not None
    assert (never["type"], never["status"]) == ("HttpError", 404)
