"""The caps and the breaker of one server's calls, see `ServerLimits`."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ...entries.server_limits import ServerLimits
from ...errors import (
    CallTimeout,
    HttpError,
    NetworkError,
    PeerError,
    ProtocolViolation,
    ServerUnavailable,
)
from ...jsonrpc.messages import ErrorCode

if TYPE_CHECKING:
    from .call_recovery import CallDeadline

_MINUTE = 60.0
# The shortest wait, in seconds: the deadline may have moved while the clocks were paused.
_MIN_WAIT = 0.05


class Caps:
    """Lets calls of one server through, as many as its limits allow, in the order they came.

    It outlives connections, so that a restart of the server resets no count. ``counted``: the
    methods of requests that are calls.
    """

    counted: frozenset[str] = frozenset({"tools/call", "prompts/get", "resources/read"})

    def __init__(self, limits: ServerLimits, server: str) -> None:
        self.limits = limits
        self._server = server
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running = 0
        self._begun: deque[float] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._failures = 0
        self._rests_until = -math.inf
        self._is_trying = False

    @asynccontextmanager
    async def slot(self, call: CallDeadline) -> AsyncIterator[None]:
        """Wait until a call may be made, which the block does.

        Raises `CallTimeout` when the time of the call ends before, and `ServerUnavailable` while
        the breaker refuses calls.
        """
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # the calls of a loop that has ended do not end
            self._loop, self._running = loop, 0
            self._waiting.clear()
        self._check(loop.time())
        waiter, is_trial = loop.create_future(), False
        self._waiting.append(waiter)
        self._admit()
        try:
            await self._wait(waiter, call)
            is_trial = self._check(loop.time())
            self._is_trying |= is_trial
            yield
            self._failures = 0
        except Exception as error:
            if _is_failure(error):
                self._failures += 1
                self._rests_until = loop.time() + self.limits.breaker_seconds
            elif isinstance(error, (PeerError, HttpError)):
                self._failures = 0
            raise
        finally:
            self._is_trying &= not is_trial
            if not waiter.cancel():  # it was admitted
                self._running -= 1
            self._admit()

    async def _wait(self, waiter: asyncio.Future[None], call: CallDeadline) -> None:
        began, idle = call.spent, call.options.timeout or math.inf
        while not waiter.done():
            left = min(idle + began - call.spent, call.left)
            if left <= 0:
                raise self._timeout(call, idle)
            seconds = None if left == math.inf else max(left, _MIN_WAIT)
            await asyncio.wait({waiter}, timeout=seconds)

    def _timeout(self, call: CallDeadline, idle: float) -> CallTimeout:
        limits = self.limits
        reason = f"its turn: at most {limits.at_once} at once (at_once)"
        if limits.at_once is None or self._running < limits.at_once:
            reason = f"its turn: at most {limits.per_minute} per minute (per_minute)"
        seconds, limit = (idle, "idle") if call.left > 0 else (call.options.max_timeout, "total")
        return call.named(CallTimeout(call.method, seconds or 0.0, limit, reason))

    def _admit(self) -> None:
        """Let those through that have waited longest, as many as may be."""
        assert self._loop is not None
        now, limits = self._loop.time(), self.limits
        if self._timer is not None:
            self._timer.cancel()
        while self._begun and self._begun[0] <= now - _MINUTE:
            self._begun.popleft()
        while self._waiting:
            if limits.at_once is not None and self._running >= limits.at_once:
                return
            if limits.per_minute is not None and len(self._begun) >= limits.per_minute:
                self._timer = self._loop.call_at(self._begun[0] + _MINUTE, self._admit)
                return
            waiter = self._waiting.popleft()
            if not waiter.done():
                self._running += 1
                self._begun.append(now)
                waiter.set_result(None)

    def _check(self, now: float) -> bool:
        """Return whether the next call is a trial. Raises `ServerUnavailable`."""
        breaker = self.limits.breaker
        if breaker is None or self._failures < breaker:
            return False
        if now >= self._rests_until and not self._is_trying:
            return True
        left = max(self._rests_until - now, 0.0)
        reason = f"{self._failures} calls in a row failed; the next is tried in {left:.0f} s"
        raise ServerUnavailable(self._server, "failing", reason)


def _is_failure(error: Exception) -> bool:
    """Whether an error says that the server cannot answer, and not that it declines a call."""
    if isinstance(error, CallTimeout):
        return error.waiting_for is None  # a user may have been asked meanwhile
    if isinstance(error, HttpError):
        return error.status == 429 or error.status >= 500
    if isinstance(error, PeerError):
        return error.code == ErrorCode.INTERNAL_ERROR
    return isinstance(error, (NetworkError, ProtocolViolation))
