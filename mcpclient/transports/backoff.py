"""Backoff: which failures are retried, how often, and the delays in between."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator

from ..errors import CommandNotFound, HttpError, McpError, NetworkError, SessionExpired
from ..net.http_dates import retry_after_seconds

STEADY = 60.0
"""Seconds after which a connection, or a stream, has worked: its loss is a new failure. Without it,
one that is closed at once each time would be made again every second, for ever."""

MAX_TRIES = 5
"""Tries in a row, without progress, before giving up."""


def delays() -> Iterator[float]:
    """Yield `MAX_TRIES` delays in seconds: 1, then each twice the one before, with up to 25 % more.

    The chance in that keeps the clients of a restarted server from reconnecting all at once. Begin
    a new iterator after progress, and only then.
    """
    import random

    for number in range(MAX_TRIES):
        yield 2.0**number * (1 + 0.25 * random.random())


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
    """The retries of one operation: counts failures in a row, and waits longer after each."""

    def __init__(self) -> None:
        self._delays: Iterator[float] = delays()
        self._began = math.inf

    def begin(self) -> None:
        """Note that the operation begins: if it lasts, its failure is the first one again."""
        self._began = asyncio.get_running_loop().time()

    def succeeded(self) -> None:
        """Forget the failures."""
        self._delays = delays()

    async def wait_after(self, error: McpError, longest: float = math.inf) -> None:
        """Wait before a retry; raise the error when that is pointless or the tries are used up.

        The server's ``Retry-After`` is respected, for ``longest`` seconds at most.
        """
        if asyncio.get_running_loop().time() - self._began >= STEADY:
            self.succeeded()
        delay = next(self._delays, None) if may_pass(error) else None
        if delay is None:
            raise error
        if isinstance(error, HttpError):
            delay = max(delay, retry_after_seconds(error.headers.get("retry-after", ""), 0.0))
        await asyncio.sleep(min(delay, longest))
