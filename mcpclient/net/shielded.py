"""Long work: on a thread of its own, or under a lock."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Coroutine
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from .futures import LOOK_EVERY, consume_exception, run_into

T = TypeVar("T")


class TaskLocks:
    """Locks by name that keep out the other tasks of the same event loop."""

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Lock]] = (
            WeakKeyDictionary()
        )

    def lock(self, name: str) -> asyncio.Lock:
        """Return the lock called ``name`` of the running event loop."""
        locks = self._locks.setdefault(asyncio.get_running_loop(), {})
        return locks.setdefault(name, asyncio.Lock())


GRACE = 5.0
"""Seconds that work may still take when its caller has stopped waiting."""


async def run_shielded(work: Coroutine[Any, Any, T], *, grace: float = GRACE) -> T:
    """Run ``work`` on a thread of its own and return its result.

    When the caller is cancelled, or its event loop ends, ``work`` has ``grace`` seconds left. The
    cancellation takes effect only after that, so that the caller holds its locks for as long as the
    work runs. The same applies to Ctrl-C, where Python raises it within the caller (before 3.11),
    and to a caller that is dropped with its event loop. Raises the exception of ``work``.
    """
    home = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = home.create_future()
    given_up = threading.Event()

    async def bounded() -> T:
        task, ends_at = asyncio.ensure_future(work), float("inf")
        while not task.done():
            await asyncio.wait([task], timeout=LOOK_EVERY)
            if given_up.is_set() or not home.is_running():
                ends_at = min(ends_at, time.monotonic() + grace)
            if time.monotonic() > ends_at:
                task.cancel()
        return task.result()

    run = partial(run_into, outcome, lambda: asyncio.run(bounded()))
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,), name="mcpclient-shielded")
    try:
        thread.start()
    except RuntimeError:  # there can be no more threads
        work.close()
        raise
    interruption: BaseException | None = None
    while not outcome.done():
        try:
            await asyncio.wait([outcome])
        except (asyncio.CancelledError, KeyboardInterrupt) as error:
            interruption = error
            given_up.set()
        except GeneratorExit:  # the event loop has ended without this, as at a second Ctrl-C
            given_up.set()
            thread.join(grace + 2 * LOOK_EVERY)
            raise
    if interruption is not None:
        consume_exception(outcome)  # no caller is left
        raise interruption
    return outcome.result()
