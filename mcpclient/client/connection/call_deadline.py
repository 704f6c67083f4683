"""The time one call takes in all, of however many requests and pauses it is made."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Callable, TypeVar

from ...errors import CallTimeout, PeerError
from .connection import Connection
from .session import RequestOptions

T = TypeVar("T")
AnyNamed = TypeVar("AnyNamed", CallTimeout, PeerError)

# How long a wait is at least, whose end may have moved because the clocks stood still meanwhile.
_MIN_WAIT = 0.05


def counted_time(connection: Connection) -> float:
    """Return the time as limits count it: while a human is asked, it stands still."""
    return asyncio.get_running_loop().time() - connection.held_seconds


class CallDeadline:
    """Keeps the limit ``max_timeout`` of one call over everything the call consists of.

    ``started``: when the call began, by `counted_time`; None: now. Time in which a human is asked
    is not counted.
    """

    __slots__ = ("_connection", "_method", "_options", "_params", "_started")

    def __init__(
        self,
        connection: Connection,
        method: str,
        options: RequestOptions,
        params: Mapping[str, Any] | None = None,
        started: float | None = None,
    ) -> None:
        self._connection = connection
        self._method = method
        self._options = options
        self._params = params
        self._started = counted_time(connection) if started is None else started

    @property
    def spent(self) -> float:
        """How many seconds it has taken so far."""
        return counted_time(self._connection) - self._started

    @property
    def left(self) -> float:
        """How many seconds it may still take; infinity where there is no limit."""
        seconds = self._options.max_timeout
        return seconds - self.spent if seconds else math.inf

    @property
    def timeout(self) -> CallTimeout:
        """The error to raise when it is up."""
        limit, reason = self._options.max_timeout or 0.0, self._connection.wait_reason
        return self.named(CallTimeout(self._method, limit, "total", reason))

    def named(self, error: AnyNamed) -> AnyNamed:
        """Add to an error which server it was, and what the call was for."""
        params = self._params or {}
        subject = params.get("name") or params.get("uri")
        error.method = self._method
        error.target = self._connection.name
        error.subject = subject if isinstance(subject, str) else ""
        return error

    def rest_of(self, options: RequestOptions) -> RequestOptions:
        """Return the options for a further request. Raises `CallTimeout` when the time is up."""
        left = self.left
        if left == math.inf:
            return options
        if left <= 0:
            raise self.timeout
        return options._replace(max_timeout=left)

    async def limit(self, work: Awaitable[T]) -> T:
        """Await something that has other limits, or none. Raises `CallTimeout`.

        It runs in this very task: who renews a session must be known not to be cut off by that.
        """
        if self.left == math.inf:
            return await work
        alarm = _Alarm(self)
        try:
            return await work
        except asyncio.CancelledError:
            if not alarm.is_why_it_was_cancelled():
                raise
            raise self.timeout from None
        finally:
            alarm.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the time that the block takes."""
        before = counted_time(self._connection)
        try:
            yield
        finally:
            self._started += counted_time(self._connection) - before


class _Alarm:
    """Cancels the running task when the time of its call is up."""

    def __init__(self, time: CallDeadline) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._time = time
        self._has_rung = False
        self._cancellations = _cancellations_of(task)
        self._timer: asyncio.TimerHandle
        self._set()

    def _set(self) -> None:
        seconds = max(self._time.left, _MIN_WAIT)
        self._timer = asyncio.get_running_loop().call_later(seconds, self._ring)

    def _ring(self) -> None:
        if self._time.left > 0:  # the clock stood still meanwhile
            self._set()
        else:
            self._has_rung = True
            self._task.cancel()

    def is_why_it_was_cancelled(self) -> bool:
        """Whether nobody else has cancelled the task as well (which only Python 3.11 can tell)."""
        if self._has_rung and hasattr(self._task, "uncancel"):
            self._task.uncancel()
        return self._has_rung and _cancellations_of(self._task) <= self._cancellations

    def stop(self) -> None:
        """Ring no more."""
        self._timer.cancel()


def _cancellations_of(task: asyncio.Task[Any]) -> int:
    count: Callable[[], int] | None = getattr(task, "cancelling", None)
    return count() if count is not None else 0
