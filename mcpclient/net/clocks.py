"""The clocks of this machine; what waits in an event loop goes by the loop's own instead."""

from __future__ import annotations

import time
from typing import Callable

seconds_since_epoch: Callable[[], float] = time.time
"""Return the seconds since 1970 began, for what people read and what outlives this process."""

steady_seconds: Callable[[], float] = time.monotonic
"""Return seconds that only ever grow, for how long something takes."""


def timestamp() -> str:
    """Return the time of day in UTC, ``"2026-07-28T12:00:00Z"`` (RFC 3339)."""
    # By itself `gmtime` asks a coarser clock, which for some milliseconds is a second behind.
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds_since_epoch()))
