"""Requests in flight: ids, waiters, deadlines and progress. No I/O and no clock of its own.

One `Correlator` belongs to one connection. It is the only gate through which the set of requests
in flight changes; the code that opens a request also removes it, in a ``finally``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from ..errors import CallTimeout, McpError
from .messages import Message, plain_id

_NEVER = math.inf

# Ids of unexpected responses that are kept for the message of an error.
_MAX_STRAY_IDS = 3

ProgressCallback = Callable[[Mapping[str, Any]], None]
"""Takes the params of one progress notification."""


class Waiter(Protocol):
    """The receiver of one response, such as an `asyncio.Future`."""

    def done(self) -> bool:
        """Whether there is an outcome already."""
        ...

    def set_result(self, result: Message, /) -> None:
        """Wake the waiter with the response."""

    def set_exception(self, exception: BaseException, /) -> None:
        """Wake the waiter with a failure."""


class Pending:
    """One request in flight: its waiter and its deadlines.

    ``idle`` and ``total`` are limits in seconds (None or 0: no limit). Progress postpones the idle
    deadline; only a pause of the `Correlator` postpones the total one. ``began``: the time when it
    began, without the pauses before.
    """

    def __init__(
        self,
        request_id: int,
        method: str,
        waiter: Waiter,
        idle: float | None,
        total: float | None,
        now: float,
        on_progress: ProgressCallback | None,
        began: float,
    ) -> None:
        self.id = request_id
        self.method = method
        self.waiter = waiter
        self.idle = idle
        self.total = total
        self.idle_deadline: float = now + idle if idle else _NEVER
        self.total_deadline: float = now + total if total else _NEVER
        self.on_progress = on_progress
        self.began = began

    @property
    def deadline(self) -> float:
        """The time at which this request times out, on the clock that opened it."""
        idle, total = self.idle_deadline, self.total_deadline
        return idle if idle < total else total

    def timeout_at(self, now: float, waiting_for: str | None = None) -> CallTimeout | None:
        """Return the timeout that has been reached by ``now``, or None."""
        if self.total is not None and self.total_deadline <= now:
            return CallTimeout(self.method, self.total, "total", waiting_for)
        if self.idle is not None and self.idle_deadline <= now:
            return CallTimeout(self.method, self.idle, "idle", waiting_for)
        return None

    def fail(self, error: BaseException) -> bool:
        """Give the waiter an exception. Return False if it already has an outcome."""
        if self.waiter.done():
            return False
        self.waiter.set_exception(error)
        return True


class Correlator:
    """The pending requests of one connection, to which it matches responses and progress."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._last_id = 0
        self.stray_ids: tuple[object, ...] = ()
        """Unknown ids of the first unexpected responses: they explain a missing response."""
        self._pending: dict[int, Pending] = {}
        self.paused_at: float | None = None
        """The start of the current pause of all deadlines; None: they run."""
        self.paused_seconds: float = 0.0
        """The length of all finished pauses together."""
        self._pauses = 0

    def __len__(self) -> int:
        return len(self._pending)

    def __iter__(self) -> Iterator[Pending]:
        return iter(list(self._pending.values()))

    def open(
        self,
        method: str,
        waiter: Waiter,
        now: float,
        *,
        idle: float | None = None,
        total: float | None = None,
        on_progress: ProgressCallback | None = None,
    ) -> Pending:
        """Register a request under a new id and return it; the id is also its progress token."""
        now = now if self.paused_at is None else self.paused_at  # the time as deadlines count it
        request_id = self._last_id = next(self._ids)
        began = now - self.paused_seconds
        pending = Pending(request_id, method, waiter, idle, total, now, on_progress, began)
        self._pending[request_id] = pending
        return pending

    def close(self, pending: Pending) -> None:
        """Remove a request, whatever its outcome. A later response is then unknown."""
        self._pending.pop(pending.id, None)

    def find(self, request_id: object) -> Pending | None:
        """Return the request with this id; ``"7"`` and 7.0 are understood to mean 7."""
        if type(request_id) is int:
            return self._pending.get(request_id)
        return self._pending.get(plain_id(request_id))  # type: ignore[arg-type]

    def settle(self, message: Message) -> bool:
        """Deliver a response to its waiter. Return False if no request is pending for it."""
        pending = self.find(message.get("id"))
        if pending is None or pending.waiter.done():
            stray = message.get("id")
            known = plain_id(stray)
            is_late = type(known) is int and 0 < known <= self._last_id
            if stray is not None and not is_late and len(self.stray_ids) < _MAX_STRAY_IDS:
                self.stray_ids += (stray,)
            return False
        pending.waiter.set_result(message)
        return True

    def fail(self, request_id: object, error: McpError) -> bool:
        """Fail one request. Return False if it is not pending."""
        pending = self.find(request_id)
        return pending is not None and pending.fail(error)

    def fail_all(self, error: Callable[[], McpError]) -> None:
        """Fail every request in flight, each with an exception of its own."""
        for pending in self:
            pending.fail(error())

    def progress(self, params: Mapping[str, Any], now: float) -> bool:
        """Handle a progress notification. Return False if its token is late or unknown.

        A request without a progress callback sends no token, so progress never postpones it.
        """
        pending = self.find(params.get("progressToken"))
        if pending is None or pending.on_progress is None or pending.waiter.done():
            return False
        if pending.idle:
            counted = now if self.paused_at is None else self.paused_at
            pending.idle_deadline = counted + pending.idle
        pending.on_progress(params)
        return True

    def lift_limits(self, request_id: object) -> None:
        """Remove the limits of a request."""
        pending = self.find(request_id)
        if pending is not None:
            pending.idle = pending.total = None
            pending.idle_deadline = pending.total_deadline = _NEVER

    def expire(self, now: float, waiting_for: str | None = None) -> list[Pending]:
        """Fail the requests whose time is over by ``now``, which ``waiting_for`` may explain."""
        if self._pauses:
            return []
        expired = []
        for pending in self:
            error = pending.timeout_at(now, waiting_for)
            if error is not None:
                error.stray_ids = self.stray_ids
                if pending.fail(error):
                    expired.append(pending)
        return expired

    def next_deadline(self) -> float:
        """Return the earliest deadline of all requests, infinity when there is none."""
        if self._pauses:
            return _NEVER
        return min((pending.deadline for pending in self._pending.values()), default=_NEVER)

    def pause(self, now: float) -> None:
        """Pause all deadlines, such as while a human is asked, until as many calls of `resume`."""
        if not self._pauses:
            self.paused_at = now
        self._pauses += 1

    def resume(self, now: float) -> None:
        """Undo one `pause`. After the last, deadlines run again, postponed by the paused time."""
        self._pauses -= 1
        if self._pauses or self.paused_at is None:
            return
        waited = now - self.paused_at
        self.paused_at = None
        self.paused_seconds += waited
        for pending in self._pending.values():
            pending.idle_deadline += waited
            pending.total_deadline += waited
