"""The caller's callbacks: plain or async, called in order, and harmless when they fail."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections import deque
from typing import Any, Callable

from ...framing.logs import logger_for
from ...jsonrpc.codec import weight_of
from ...net.futures import BackgroundTasks

_logger = logger_for("mcpclient.client")

# How many calls wait, and how much memory their arguments take together, in bytes.
_MAX_WAITING = 10_000
_MAX_WEIGHT = 32 * 1024 * 1024


class OrderedCallback:
    """One callback, called in order and one call at a time. An exception it raises is logged, and
    so is a `CancelledError` of something that it waits for.

    A plain function runs at once. When it returns an awaitable, that is awaited in the background,
    and later calls wait for it. At most 10,000 calls wait, with arguments of 32 MiB together. Then
    the oldest are dropped for new ones, so that a server which talks faster than the caller listens
    costs no memory.
    """

    def __init__(self, function: Callable[..., Any], tasks: BackgroundTasks) -> None:
        self._function = function
        self._tasks = tasks
        self._waiting: deque[tuple[tuple[Any, ...], int]] = deque()
        self._weight = 0
        self._overflowed = False
        self._running: asyncio.Task[Any] | None = None

    def __call__(self, *arguments: Any) -> None:
        """Call the function now, or as soon as the calls before it have ended."""
        if self._running is not None:
            self._wait(arguments)
            return
        outcome = self._call(arguments)
        if outcome is not None:
            self._start(outcome)

    def _wait(self, arguments: tuple[Any, ...]) -> None:
        weight = weight_of(arguments, _MAX_WEIGHT)
        self._waiting.append((arguments, weight))
        self._weight += weight
        while len(self._waiting) > _MAX_WAITING or self._weight > _MAX_WEIGHT:
            if not self._overflowed:
                self._overflowed = True
                _logger.warning(
                    "callback %r is too slow; it misses the oldest calls", self._function
                )
            self._next()

    def _next(self) -> tuple[Any, ...]:
        arguments, weight = self._waiting.popleft()
        self._weight -= weight
        return arguments

    def _call(self, arguments: tuple[Any, ...]) -> Any:
        try:
            outcome = self._function(*arguments)
        except (Exception, asyncio.CancelledError):
            _logger.exception("callback %r failed", self._function)
            return None
        return outcome if inspect.isawaitable(outcome) else None

    def _start(self, outcome: Any) -> None:
        self._running = self._tasks.start(self._drain(outcome))
        self._running.add_done_callback(lambda task: self._ended(task, outcome))

    async def _drain(self, outcome: Any) -> None:
        """Await an outcome, and make the calls that wait for it."""
        try:
            while outcome is not None or self._waiting:
                if outcome is not None:
                    await self._await(outcome)
                outcome = self._call(self._next()) if self._waiting else None
        except asyncio.CancelledError:
            if self._tasks.has_cancelled(asyncio.current_task()):
                raise
            _logger.exception("callback %r failed", self._function)
            # In another task, since this may be the end of the loop, which waits for its tasks.
            self._start(None)
        else:
            self._running = None

    def _ended(self, task: asyncio.Task[Any], outcome: Any) -> None:
        """Clean up where a task was cancelled, perhaps before its first step."""
        if self._running is task:
            self._running = None
            self._waiting.clear()
            self._weight = 0
        if inspect.iscoroutine(outcome):
            outcome.close()

    async def _await(self, outcome: Any) -> None:
        try:
            await outcome
        except Exception:
            _logger.exception("callback %r failed", self._function)

    async def finish(self, seconds: float | None) -> None:
        """Wait until every call made so far has ended, for ``seconds`` at most (None: no limit)."""
        clock = asyncio.get_running_loop().time
        deadline = math.inf if seconds is None else clock() + seconds
        while self._running is not None:
            timeout = None if deadline == math.inf else deadline - clock()
            done, _ = await asyncio.wait({self._running}, timeout=timeout)
            if not done:
                return
