"""Futures whose outcome may come when nobody waits for it any more."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["disregard"]


def disregard(future: asyncio.Future[Any]) -> None:
    """Take note of the outcome of a future, so that asyncio does not complain that nobody did.

    Whoever waited may be cancelled in the very turn of the loop in which it failed, or be gone
    after a second Ctrl-C. Serves as a callback of the future, too.
    """
    if future.done() and not future.cancelled():
        future.exception()
