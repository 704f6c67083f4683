"""The time of day, for what people read and what outlives this process."""

from __future__ import annotations

import time

__all__ = ["seconds_since_epoch"]

seconds_since_epoch = time.time
"""Return the seconds since 1970 began."""
