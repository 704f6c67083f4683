"""Requests in flight: F-WIRE-1, F-LIFE-9 and F-API-7."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from mcpclient.errors import CallTimeout
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
    """Receive progress."""


def test_an_idle_timeout_says_so() -> None:
    """F-API-7: which limit was reached is in the error."""
    correlator = Correlator()
    _, waiter = opened(correlator, 0.0, idle=2.5, total=600)
    assert len(correlator.expire(2.5)) == 1
    assert isinstance(waiter.outcome, CallTimeout)
    assert (waiter.outcome.seconds, waiter.outcome.limit) == (2.5, "idle")


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


def test_a_request_without_end() -> None:
    """F-API-14: an open subscription has no deadline any more; an unknown one does not matter."""
    correlator = Correlator()
    pending, _ = opened(correlator, idle=1, total=2, on_progress=ignore)
    correlator.lift_limits(99)
    assert pending.deadline == 1
    correlator.lift_limits(pending.id)
    assert correlator.progress({"progressToken": pending.id}, 50.0)
    assert correlator.next_deadline() == math.inf
    assert correlator.expire(1e9) == []
