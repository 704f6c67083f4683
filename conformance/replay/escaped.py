"""Exceptions that no code caught: a meeting has failed where the event loop was given one.

The loop logs the exception of a callback, and goes on. A program would see a traceback, and a
server nothing, or a connection that is gone.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

__all__ = ["escaped_here"]

_found: ContextVar[list[str] | None] = ContextVar("found", default=None)


def escaped_here() -> list[str]:
    """Return what will have escaped from the current task, and from all that it starts."""
    asyncio.get_running_loop().set_exception_handler(_record)
    found: list[str] = []
    _found.set(found)
    return found


def _record(loop: asyncio.AbstractEventLoop, facts: dict[str, Any]) -> None:
    found = _found.get()
    if found is None:
        # Before Python 3.12, the handler does not run in the context of the callback.
        handle = facts.get("handle")
        context = getattr(handle, "_context", None)
        found = context.get(_found) if context is not None else None
    error = facts.get("exception")
    if found is None or error is None:
        loop.default_exception_handler(facts)
    else:
        found.append(f"an exception escaped: {type(error).__name__}: {error}")
