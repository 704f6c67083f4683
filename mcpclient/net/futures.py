"""Futures whose outcome may come after everybody has stopped waiting for it."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["disregard"]


def disregard(future: asyncio.Future[Any]) -> None:
    """Look at the outcome of a future, so that asyncio does not log that nobody did.

    Whoever waited for it may have been cancelled in the same turn of the loop in which it failed,
    or have been ended by a second Ctrl-C. May also be added to the future as a callback.
    """
    if future.done() and not future.cancelled():
        future.exception()
