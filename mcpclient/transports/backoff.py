"""Backoff: the delays between retries, and their number."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

MAX_TRIES = 5
"""Tries in a row, without progress, before giving up."""


def delays(
    first: float = 1.0, longest: float = 30.0, chance: Callable[[], float] = random.random
) -> Iterator[float]:
    """Yield `MAX_TRIES` delays in seconds, each twice the one before, with up to 25 % of jitter.

    ``first`` is the delay to begin with, ``longest`` the limit before jitter is added. Jitter keeps
    the clients of a restarted server from coming back all at once. Begin a new iterator after
    progress, and only then.
    """
    delay = first
    for _ in range(MAX_TRIES):
        yield min(delay, longest) * (1 + 0.25 * chance())
        delay *= 2
