"""Responses that are still read although what they were for has come.

Most servers end a response with the answer, and its connection serves the next call. One that a
server leaves open costs a socket, so few of them are waited for, and not for long.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

__all__ = ["Drained", "Draining"]


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
        self._timers: dict[Drained, asyncio.TimerHandle | None] = {}

    def add(self, response: Drained) -> None:
        """Read on for a while, unless that is done for too many: then the oldest is closed."""
        if response in self._timers:
            return
        timer: asyncio.TimerHandle | None = None
        if self._seconds is not None:
            timer = asyncio.get_running_loop().call_later(self._seconds, response.abort)
        self._timers[response] = timer
        if len(self._timers) > self._most:
            next(iter(self._timers)).abort()

    def discard(self, response: Drained) -> None:
        """Take note that it is over."""
        timer = self._timers.pop(response, None)
        if timer is not None:
            timer.cancel()
