"""Backoff: which failures are retried, how often, and the delays in between."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from ..errors import CommandNotFound, HttpError, McpError, NetworkError, SessionExpired
from ..net.http_dates import retry_after_seconds

STEADY = 60.0
"""Seconds after which a connection, or a stream, has worked: its loss is a new failure. Without it,
one that is closed at once each time would be made again every second, for ever."""

MAX_TRIES = 5
"""Tries in a row, without progress, before giving up."""


def retry_delay(attempt: int, chance: float) -> float | None:
    """Return the seconds before a retry: 1, then twice the ones before, with up to 25 % more.

    ``attempt``: 0 for the first; None after `MAX_TRIES`. ``chance``: 0 to 1.
    """
    return 2.0**attempt * (1 + 0.25 * chance) if attempt < MAX_TRIES else None


# Temporary failures of a server that is reachable (RFC 9110 section 15.5.9, RFC 6585, 5xx).
_PASSING_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})


def may_pass(error: McpError) -> bool:
    """Whether a retry may succeed a little later: there was no response, the server was busy, or
    it has forgotten the session, and there can be another.
    """
    if isinstance(error, HttpError):
        return error.status in _PASSING_STATUSES or isinstance(error, SessionExpired)
    return isinstance(error, NetworkError) and not isinstance(error, CommandNotFound)


class Retries:
    """The failures in a row of one operation, and the pauses after them.

    ``delay``: takes the number of failures before this one, and a chance from 0 to 1, which keeps
    the clients of a restarted server from returning all at once. It returns the seconds before the
    next try, None where there is to be none.
    """

    def __init__(self, delay: Callable[[int, float], float | None] = retry_delay) -> None:
        self._delay = delay
        #: In a row, so far.
        self.failures: int = 0
        self._began: float | None = None

    def begin(self) -> None:
        """Note that the operation begins: if it lasts, its failure is the first one again."""
        self._began = asyncio.get_running_loop().time()

    def succeeded(self) -> None:
        """Forget the failures: there was progress."""
        self.failures = 0

    def next_delay(self) -> float | None:
        """Count a failure; return the seconds before the next try, None where there is none."""
        import random

        began, self._began = self._began, None
        if began is not None and asyncio.get_running_loop().time() - began >= STEADY:
            self.failures = 0
        self.failures += 1
        return self._delay(self.failures - 1, random.random())

    async def wait_after(self, error: McpError, longest: float = math.inf) -> None:
        """Wait before a retry; raise the error when that is pointless or the tries are used up.

        The server's ``Retry-After`` is respected, for ``longest`` seconds at most.
        """
        delay = self.next_delay() if may_pass(error) else None
        if delay is None:
            raise error
        if isinstance(error, HttpError):
            delay = max(delay, retry_after_seconds(error.headers.get("retry-after", ""), 0.0))
        await asyncio.sleep(min(delay, longest))
