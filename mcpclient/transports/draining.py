"""Responses that are still read although what they were for has come.

Most servers end a response with the answer, and its connection serves the next call. One that a
server leaves open costs a socket, so few of them are waited for, and not for long.
"""

from __future__ import annotations

import asyncio
import math
from typing import Protocol


class Drained(Protocol):
    """A response that is nearly over."""

    def abort(self) -> None:
        """Close it."""


class Draining:
    """The responses of one transport that are nearly over.

    At most ``most`` are read on, each for ``seconds`` (None: no limit).
    """

    def __init__(self, most: int = 4, seconds: float | None = 30.0) -> None:
        self._most = most
        self._seconds = seconds
        self._until: dict[Drained, float] = {}
        # One timer, for the oldest: most responses end in the very turn in which they come here.
        self._timer: asyncio.TimerHandle | None = None

    def add(self, response: Drained) -> None:
        """Read on for a while, unless that is done for too many: then the oldest is closed."""
        if response in self._until:
            return
        loop = asyncio.get_running_loop()
        self._until[response] = math.inf if self._seconds is None else loop.time() + self._seconds
        if self._timer is None and self._seconds is not None:
            self._timer = loop.call_later(self._seconds, self._close_oldest)
        if len(self._until) > self._most:
            next(iter(self._until)).abort()

    def discard(self, response: Drained) -> None:
        """Take note that it is over."""
        self._until.pop(response, None)

    def _close_oldest(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        for response, until in list(self._until.items()):
            if until > loop.time():
                self._timer = loop.call_at(until, self._close_oldest)
                return
            response.abort()
