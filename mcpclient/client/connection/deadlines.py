"""The limits of the calls that wait, and the times when no clock runs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager

from ...jsonrpc.correlator import Correlator

# How finely deadlines are looked at when very many calls wait: seconds per call waiting.
_GRAIN = 1e-5


class Deadlines:
    """One timer for all calls of one session; a `transports.authorized.PausableClocks`.

    ``wait_reason``: what keeps calls waiting at the moment, where that is not the server.
    """

    def __init__(self, correlator: Correlator, loop: asyncio.AbstractEventLoop) -> None:
        self._correlator = correlator
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self.wait_reason: str | None = None

    def go_on_from(self, earlier: Deadlines) -> None:
        """Count on from those of an earlier session, which a call may have begun in."""
        self._correlator.paused_seconds = earlier.held_seconds

    def watch(self, deadline: float) -> None:
        """Take note of the deadline of a call that begins."""
        if deadline < self._timer_at:
            self._set_timer(deadline)

    def _set_timer(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_at(deadline, self._check)

    def _check(self) -> None:
        self._timer = None
        self._timer_at = math.inf
        now = self._loop.time()
        self._correlator.expire(now, self.wait_reason)
        deadline = self._correlator.next_deadline()
        if deadline < math.inf:
            self._set_timer(max(deadline, now + len(self._correlator) * _GRAIN))

    def stop(self) -> None:
        """Forget all deadlines, since no call waits any more; others may begin."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._timer_at = math.inf

    @contextmanager
    def held(self) -> Iterator[None]:
        """Stop the clocks of all calls during the block, while a human is being asked. It nests."""
        self._correlator.pause(self._loop.time())
        try:
            yield
        finally:
            self._correlator.resume(self._loop.time())
            self.watch(self._correlator.next_deadline())

    def counted_time(self) -> float:
        """Return the time as limits count it: while the clocks are held, it stands still."""
        held_since = self._correlator.paused_at
        now = self._loop.time() if held_since is None else held_since
        return now - self._correlator.paused_seconds

    @property
    def held_seconds(self) -> float:
        """How long the clocks have stood still so far."""
        held_since = self._correlator.paused_at
        now = 0.0 if held_since is None else self._loop.time() - held_since
        return self._correlator.paused_seconds + now
