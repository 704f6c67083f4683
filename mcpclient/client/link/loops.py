"""Running something in another event loop, in the thread that the other loop has to itself."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine
from typing import Any, Callable, TypeVar

from ...errors import ConnectionLost
from ...net.futures import disregard

__all__ = ["run_in"]

T = TypeVar("T")

# How often, in seconds, to look whether the other loop still runs: nothing reports that it stops.
_LOOK_EVERY = 0.5


async def run_in(
    home: asyncio.AbstractEventLoop, work: Callable[..., Coroutine[Any, Any, T]], *arguments: Any
) -> T:
    """Run ``work`` in the loop ``home``, and return what it returns. Cancelling cancels it there.

    Raises what it raises, and `ConnectionLost` when ``home`` does not run, or stops meanwhile.
    """
    if not home.is_running():
        raise _ended()
    working = work(*arguments)
    try:
        outcome = asyncio.run_coroutine_threadsafe(working, home)
    except RuntimeError:  # it was closed just now
        working.close()
        raise _ended() from None
    waiting = asyncio.wrap_future(outcome)
    waiting.add_done_callback(disregard)  # what counts is the outcome at home
    try:
        while home.is_running() and not waiting.done():
            await asyncio.wait({waiting}, timeout=_LOOK_EVERY)
    except asyncio.CancelledError:
        if not home.is_closed():
            waiting.cancel()
        raise
    if outcome.done() and not outcome.cancelled():
        return outcome.result()
    # Nobody here has cancelled it: the loop did, at its end, or has left it lying.
    if inspect.getcoroutinestate(working) == inspect.CORO_CREATED:
        working.close()
    raise _ended()


def _ended() -> ConnectionLost:
    return ConnectionLost("the event loop this client was connected in has ended")
