"""Requests in flight: F-WIRE-1, F-LIFE-9 and F-API-7."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mcpclient.errors import CallTimeout, ConnectionLost
from mcpclient.jsonrpc.correlator import Correlator, Pending
from mcpclient.jsonrpc.messages import Message


class Waiter:
    """A future without a loop."""

    def __init__(self) -> None:
        self.outcome: Message | BaseException | None = None

    def done(self) -> bool:
        return self.outcome is not None

    def set_result(self, result: Message, /) -> None:
        assert self.outcome is None
        self.outcome = result

    def set_exception(self, exception: BaseException, /) -> None:
        assert self.outcome is None
        self.outcome = exception


def opened(
    correlator: Correlator,
    now: float = 0.0,
    *,
    idle: float | None = None,
    total: float | None = None,
    on_progress: Callable[[Mapping[str, Any]], None] | None = None,
) -> tuple[Pending, Waiter]:
    waiter = Waiter()
    pending = correlator.open(
        "tools/call", waiter, now, idle=idle, total=total, on_progress=on_progress
    )
    return pending, waiter


def ignore(params: Mapping[str, Any]) -> None:
    """Take progress."""


def test_ids_are_unique_and_never_come_again() -> None:
    """F-WIRE-1: an id is not used twice on a connection, also after its request has ended."""
    correlator = Correlator()
    ids = []
    for _ in range(5):
        pending, _ = opened(correlator)
        ids.append(pending.id)
        correlator.close(pending)
    assert len(set(ids)) == 5
    assert len(correlator) == 0


@pytest.mark.parametrize("echo", [lambda number: number, str, float])
def test_an_answer_finds_its_request(echo: Callable[[int], object]) -> None:
    """F-WIRE-1: an id echoed as a string of digits, or with a fraction of zero, still matches."""
    correlator = Correlator()
    _, other = opened(correlator)
    pending, waiter = opened(correlator)
    message = {"jsonrpc": "2.0", "id": echo(pending.id), "result": {}}
    assert correlator.settle(message)
    assert waiter.outcome is message
    assert other.outcome is None


@pytest.mark.parametrize(
    "request_id",
    [None, True, False, 0, 2, -1, 1.5, "2", "", "one", "1.0", "-1", " 1", "9" * 5000, [1], {"": 1}],
)
def test_other_ids_match_nothing(request_id: object) -> None:
    """F-WIRE-1: unknown, unhashable and boolean ids are answers to nobody, and no error."""
    correlator = Correlator()
    pending, waiter = opened(correlator)
    assert pending.id == 1
    assert correlator.find(request_id) is None
    assert not correlator.settle({"id": request_id, "result": {}})
    assert not correlator.fail(request_id, ConnectionLost("x"))
    assert not correlator.progress({"progressToken": request_id}, 0.0)
    assert waiter.outcome is None
    assert not correlator.settle({})


def test_only_the_first_answer_counts() -> None:
    """F-API-8: second answers and answers after the end are ignored."""
    correlator = Correlator()
    pending, waiter = opened(correlator)
    assert correlator.settle({"id": 1, "result": {"first": True}})
    assert not correlator.settle({"id": 1, "result": {}})
    assert not correlator.fail(1, ConnectionLost("x"))
    pending.fail(ConnectionLost("x"))
    assert waiter.outcome == {"id": 1, "result": {"first": True}}
    correlator.close(pending)
    correlator.close(pending)
    assert not correlator.settle({"id": 1, "result": {}})


def test_failing_one_and_all() -> None:
    """F-LIFE-7: a lost connection fails every call, each with an exception of its own."""
    correlator = Correlator()
    _, first = opened(correlator)
    _, second = opened(correlator)
    _, third = opened(correlator)
    refused = ConnectionLost("this one")
    assert correlator.fail("1", refused)
    lost = ConnectionLost("all")
    correlator.fail_all(lost.again)
    assert first.outcome is refused
    assert isinstance(second.outcome, ConnectionLost)
    assert isinstance(third.outcome, ConnectionLost)
    assert second.outcome is not third.outcome


def test_progress_in_order_until_the_answer() -> None:
    """F-API-7: progress reaches its call as it comes; late and unknown tokens are ignored."""
    correlator = Correlator()
    heard: list[Any] = []
    pending, _ = opened(correlator, on_progress=lambda params: heard.append(params["progress"]))
    silent, _ = opened(correlator)
    assert correlator.progress({"progressToken": pending.id, "progress": 1}, 0.0)
    assert correlator.progress({"progressToken": str(pending.id), "progress": 2}, 0.0)
    assert not correlator.progress({"progressToken": silent.id, "progress": 9}, 0.0)
    assert not correlator.progress({"progressToken": 77, "progress": 9}, 0.0)
    assert not correlator.progress({}, 0.0)
    correlator.settle({"id": pending.id, "result": {}})
    assert not correlator.progress({"progressToken": pending.id, "progress": 3}, 0.0)
    assert heard == [1, 2]


def test_progress_nobody_asked_for_gains_no_time() -> None:
    """F-API-7: whoever takes no progress has given the server no token; it guesses the id."""
    correlator = Correlator()
    pending, _ = opened(correlator, 0.0, idle=30, total=500)
    assert not correlator.progress({"progressToken": pending.id}, 29.0)
    assert correlator.expire(30.0) == [pending]


def test_idle_and_total_limits() -> None:
    """F-API-7: progress moves the idle limit and never the total one."""
    correlator = Correlator()
    pending, waiter = opened(correlator, 100.0, idle=30, total=50, on_progress=ignore)
    assert correlator.next_deadline() == 130
    assert correlator.progress({"progressToken": 1}, 125.0)
    assert correlator.next_deadline() == 150
    assert correlator.expire(149.9) == []
    assert correlator.expire(150.0) == [pending]
    error = waiter.outcome
    assert isinstance(error, CallTimeout)
    assert (error.method, error.seconds, error.limit) == ("tools/call", 50, "total")
    assert correlator.expire(151.0) == []


def test_an_idle_timeout_says_so() -> None:
    """F-API-7: which limit was reached is in the error."""
    correlator = Correlator()
    _, waiter = opened(correlator, 0.0, idle=2.5, total=600)
    assert len(correlator.expire(2.5)) == 1
    assert isinstance(waiter.outcome, CallTimeout)
    assert (waiter.outcome.seconds, waiter.outcome.limit) == (2.5, "idle")


@pytest.mark.parametrize("limit", [None, 0])
def test_no_limit(limit: float | None) -> None:
    """F-API-7: None and 0 disable a limit."""
    correlator = Correlator()
    _, waiter = opened(correlator, idle=limit, total=limit, on_progress=ignore)
    assert correlator.next_deadline() == math.inf
    assert correlator.progress({"progressToken": 1}, 5.0)
    assert correlator.expire(1e12) == []
    assert waiter.outcome is None
    assert Correlator().next_deadline() == math.inf


def test_a_human_is_not_hurried() -> None:
    """F-API-7: while a human is being asked, no deadline runs; asking may nest."""
    correlator = Correlator()
    pending, _ = opened(correlator, 0.0, idle=30, total=50)
    correlator.pause(10.0)
    correlator.pause(20.0)
    assert correlator.next_deadline() == math.inf
    assert correlator.expire(1000.0) == []
    correlator.resume(500.0)
    assert correlator.expire(1000.0) == []
    correlator.resume(1010.0)
    assert correlator.next_deadline() == 1030
    assert (pending.idle_deadline, pending.total_deadline) == (1030, 1050)
    assert correlator.expire(1030.0) == [pending]


def test_what_happens_during_a_pause_gains_nothing_by_it() -> None:
    """F-API-7: a call made, or heard of, while a human is asked gets its limit and no more."""
    correlator = Correlator()
    early, _ = opened(correlator, 0.0, idle=30, total=100, on_progress=ignore)
    correlator.pause(10.0)
    late, _ = opened(correlator, 400.0, idle=30, total=100)
    correlator.progress({"progressToken": early.id}, 405.0)
    correlator.resume(410.0)
    assert (late.idle_deadline, late.total_deadline) == (440, 510)
    assert (early.idle_deadline, early.total_deadline) == (440, 500)


def test_a_request_without_end() -> None:
    """F-API-14: an open subscription has no deadline any more; an unknown one is no matter."""
    correlator = Correlator()
    pending, _ = opened(correlator, idle=1, total=2, on_progress=ignore)
    correlator.lift_limits(99)
    assert pending.deadline == 1
    correlator.lift_limits(pending.id)
    assert correlator.progress({"progressToken": pending.id}, 50.0)
    assert correlator.next_deadline() == math.inf
    assert correlator.expire(1e9) == []


def test_ten_thousand_in_flight() -> None:
    """F-LIFE-9: many at once, answered in any order."""
    correlator = Correlator()
    waiters = [opened(correlator, idle=number + 1)[1] for number in range(10_000)]
    assert len(correlator) == 10_000
    assert correlator.next_deadline() == 1
    for request_id in range(10_000, 0, -2):
        assert correlator.settle({"id": request_id, "result": {"is": request_id}})
    expired = correlator.expire(5_000.0)
    assert [pending.id for pending in expired] == list(range(1, 5_000, 2))
    for number, waiter in enumerate(waiters, start=1):
        if number % 2 == 0:
            assert waiter.outcome == {"id": number, "result": {"is": number}}
        elif number < 5_000:
            assert isinstance(waiter.outcome, CallTimeout)
        else:
            assert waiter.outcome is None
    for pending in correlator:
        correlator.close(pending)
    assert len(correlator) == 0


@pytest.mark.parametrize("request_id", ["02", "2 ", "+2", "2.0", "\u0662", "", "0", "2" * 30])
def test_an_id_in_another_form_is_another_id(request_id: str) -> None:
    """F-WIRE-1: "2" may come back for 2, and nothing else that `int` would take for it."""
    correlator = Correlator()
    opened(correlator)
    pending, _ = opened(correlator)
    assert correlator.find(request_id) is None
    assert correlator.find("2") is correlator.find(2) is pending


def test_answers_to_nothing_are_told_by_a_timeout() -> None:
    """F-WIRE-2: they may be why a request has no answer; late ones are not."""
    correlator = Correlator()
    late = correlator.open("ping", Waiter(), 0.0)
    correlator.close(late)
    waiter = Waiter()
    correlator.open("tools/list", waiter, 0.0, idle=5.0)
    for request_id in (late.id, str(late.id), None, "x", 99, 0, "y"):
        assert not correlator.settle({"jsonrpc": "2.0", "id": request_id, "result": {}})
    correlator.expire(5.0)
    error = waiter.outcome
    assert isinstance(error, CallTimeout) and error.stray_ids == ("x", 99, 0)
    assert str(error).endswith("unknown request id: 'x', 99, 0")
    assert "an answer has the id of its request" in error.hint
