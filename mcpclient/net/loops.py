"""The event loop that an object lives in: running something there, and noticing its end."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Coroutine
from contextlib import suppress
from typing import Any, Callable, TypeVar

from ..errors import ConnectionLost, LossKind, UsageError
from .futures import consume_exception

T = TypeVar("T")

# Seconds between two checks whether the other loop still runs: nothing reports that it stops.
_LOOK_EVERY = 0.5

# Two threads may want to claim a loop for one object at once.
claiming: threading.Lock = threading.Lock()


class LoopBound:
    """An object that lives in one event loop, of one process: a connection, or a manager.

    ``loop``: that loop, None before the first `claim`. ``kind``: what to call it in errors.
    """

    kind: str = "client"
    loop: asyncio.AbstractEventLoop | None = None
    _process_id = 0

    @property
    def is_inherited(self) -> bool:
        """Whether this is a forked copy of the program that claimed a loop."""
        return self.loop is not None and self._process_id != os.getpid()

    def owner_loop(self) -> asyncio.AbstractEventLoop | None:
        """Return the event loop it lives in, None where it has none.

        Raises `UsageError` in a forked copy of the program that claimed the loop.
        """
        if self.loop is not None and self._process_id != os.getpid():
            raise UsageError(
                f"this {self.kind} was connected before the program forked; make another"
            )
        return self.loop

    def claim(self, *, is_free: bool) -> bool:
        """Move to the running loop; return whether it differs from the one before.

        It stays in its loop until it is free, or that loop has stopped. Hold `claiming` meanwhile.
        """
        running, home = asyncio.get_running_loop(), self.owner_loop()
        if home is running or (home is not None and not is_free and home.is_running()):
            return False
        self.loop, self._process_id = running, os.getpid()
        return True

    async def run(self, work: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
        """Run ``work`` in its event loop, from any loop; see `run_in`."""
        home = self.owner_loop()
        if home is None or home is asyncio.get_running_loop():
            return await work(*arguments)
        return await run_in(home, work, *arguments)


async def run_in(
    home: asyncio.AbstractEventLoop, work: Callable[..., Coroutine[Any, Any, T]], *arguments: Any
) -> T:
    """Run ``work`` in the loop ``home``, and return its result. Cancelling cancels it there.

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
    waiting.add_done_callback(consume_exception)  # the outcome in its own loop counts
    try:
        while home.is_running() and not waiting.done():
            await asyncio.wait({waiting}, timeout=_LOOK_EVERY)
    except asyncio.CancelledError:
        if not home.is_closed():
            waiting.cancel()
        raise
    if outcome.done() and not outcome.cancelled():
        return outcome.result()
    # Not cancelled from here: the other loop cancelled it at its end, or never started it.
    if inspect.getcoroutinestate(working) == inspect.CORO_CREATED:
        working.close()
    raise _ended()


def _ended() -> ConnectionLost:
    reason = "the event loop this client was connected in has ended"
    return ConnectionLost(reason, LossKind.LOOP_ENDED)


async def run_in_owner_loop(
    home: asyncio.AbstractEventLoop, function: Callable[[], Awaitable[T]]
) -> T:
    """Await ``function()`` in the event loop ``home``, or here when that one has ended.

    For functions of the caller, whose objects may be bound to the caller's loop. ``function`` is
    called twice when ``home`` ends in between.
    """

    async def awaited() -> T:
        return await function()

    try:
        return await run_in(home, awaited)
    except ConnectionLost as error:
        if error.kind is not LossKind.LOOP_ENDED:
            raise
    return await function()


class LoopEnd:
    """Awaits ``cleanup`` when the running loop shuts down, as at the end of `asyncio.run`.

    `asyncio.run` cancels all tasks that still run, and does not wait for work that they start
    while they clean up, such as sending a cancellation. After that, a loop only finishes its
    asynchronous generators, so this is one, which does nothing but wait for its end.
    """

    def __init__(self, cleanup: Callable[[], Awaitable[None]]) -> None:
        self._cleanup: Callable[[], Awaitable[None]] | None = cleanup
        self._generator = self._wait()
        _step(self._generator.__anext__())

    async def _wait(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            cleanup, self._cleanup = self._cleanup, None
            if cleanup is not None:
                await cleanup()

    def forget(self) -> None:
        """Drop the cleanup. Idempotent; works in any thread and after the loop is closed."""
        if self._cleanup is not None:
            self._cleanup = None
            _step(self._generator.aclose())


def _step(coroutine: Any) -> None:
    """Run a coroutine that never suspends."""
    with suppress(StopIteration):
        coroutine.send(None)
