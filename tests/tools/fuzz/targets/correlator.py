"""Requests in flight: every byte is one thing that happens to them."""

from __future__ import annotations

from mcpclient.errors import ClientClosed
from mcpclient.jsonrpc.correlator import Correlator, Pending


class Waiter:
    """Takes exactly one outcome."""

    def __init__(self) -> None:
        self.outcomes = 0

    def done(self) -> bool:
        return self.outcomes > 0

    def set_result(self, result: object, /) -> None:
        self.outcomes += 1

    def set_exception(self, exception: BaseException, /) -> None:
        self.outcomes += 1


def target(data: bytes) -> None:
    correlator, opened, now = Correlator(), list[Pending](), 0.0
    pauses = 0
    for byte in data:
        action, number = byte >> 5, byte & 0x1F
        request_id: object = str(number) if number & 1 else number
        if action == 0:
            limit = number / 8 or None
            opened.append(
                correlator.open("m", Waiter(), now, idle=limit, total=limit and limit * 2)
            )
        elif action == 1:
            correlator.settle({"id": request_id})
        elif action == 2:
            correlator.fail(request_id, ClientClosed("gone"))
        elif action == 3:
            correlator.progress({"progressToken": request_id}, now)
        elif action == 4:
            now += number / 8
            correlator.expire(now)
            assert pauses or correlator.next_deadline() > now or settled_only(correlator, now)
        elif action == 5 and opened:
            correlator.close(opened[number % len(opened)])
        elif action == 6 and (pauses or number & 1):
            pauses += 1 if number & 1 else -1
            correlator.pause(now) if number & 1 else correlator.resume(now)
        elif action == 7:
            correlator.lift_limits(request_id)
    correlator.fail_all(lambda: ClientClosed("closed"))
    for pending in correlator:
        assert pending.waiter.done()
    for pending in opened:
        assert isinstance(pending.waiter, Waiter) and pending.waiter.outcomes <= 1
        correlator.close(pending)
    assert len(correlator) == 0


def settled_only(correlator: Correlator, now: float) -> bool:
    """Whether only requests that have an outcome, and wait to be closed, are overdue."""
    return all(pending.waiter.done() for pending in correlator if pending.deadline <= now)
