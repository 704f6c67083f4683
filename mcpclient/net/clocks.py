"""The clocks of this machine.

Timers in an event loop go by the loop's own clock instead.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Callable, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

seconds_since_epoch: Callable[[], float] = time.time
"""Return the seconds since the epoch, for output and for values that outlive this process."""

steady_seconds: Callable[[], float] = time.monotonic
"""Return the seconds of a monotonic clock, for measuring durations."""

working_seconds: Callable[[], float] = time.thread_time
"""Return the seconds that this thread has worked, for limits that a busy machine leaves alone."""


class PausableClocks(Protocol):
    """The deadlines of calls, which pause while the user is asked.

    ``wait_reason``: the reason why a call waits, for the error when it times out; None: it waits
    for the server.
    """

    wait_reason: str | None

    def held(self) -> AbstractContextManager[None]:
        """Pause them during a block. Blocks may nest and overlap."""
        ...


def timestamp() -> str:
    """Return the time of day in UTC, ``"2026-07-28T12:00:00Z"`` (RFC 3339)."""
    # Without an argument, `gmtime` reads a coarser clock, which can be a second behind briefly.
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds_since_epoch()))
