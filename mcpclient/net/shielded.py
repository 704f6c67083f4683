"""Work in threads: shielded from every cancellation, or abandoned when cancelled.

Shielded work runs in an event loop of its own. No cancellation reaches it, not even that of all
tasks at the end of `asyncio.run`; and the interpreter waits for the thread.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Coroutine
from typing import Any, Callable, Generic, TypeVar

from .futures import call_from_thread, resolve

T = TypeVar("T")

GRACE = 5.0
"""Seconds that work may still take when its caller has stopped waiting."""

# Seconds between two checks whether the caller still waits: nothing reports the end of a loop.
_LOOK_EVERY = 0.1


async def run_shielded(work: Coroutine[Any, Any, T], *, grace: float = GRACE) -> T:
    """Run ``work`` on a thread of its own and return its result.

    When the caller is cancelled, or its event loop ends, ``work`` has ``grace`` seconds left. The
    cancellation takes effect only after that, so that the caller holds its locks for as long as the
    work runs. The same applies to Ctrl-C, where Python raises it within the caller (before 3.11),
    and to a caller that is dropped with its event loop. Raises the exception of ``work``.
    """
    thread = _WorkThread(work, asyncio.get_running_loop(), grace)
    thread.start()
    interruption: BaseException | None = None
    while not thread.outcome.done():
        try:
            await asyncio.wait([thread.outcome])
        except (asyncio.CancelledError, KeyboardInterrupt) as error:
            interruption = error
            thread.give_up()
        except GeneratorExit:  # the event loop has ended without this, as at a second Ctrl-C
            thread.give_up()
            thread.join()
            raise
    if interruption is not None:
        if not thread.outcome.cancelled():
            thread.outcome.exception()  # no caller is left
        raise interruption
    return thread.outcome.result()


class _WorkThread(Generic[T]):
    """The thread that runs the work, and the outcome in the loop that awaits it."""

    def __init__(
        self, work: Coroutine[Any, Any, T], home: asyncio.AbstractEventLoop, grace: float
    ) -> None:
        self.outcome: asyncio.Future[T] = home.create_future()
        self._work = work
        self._home = home
        self._grace = grace
        self._given_up_at: float | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(self._run,), name="mcpclient-shielded")
        try:
            thread.start()
        except RuntimeError:  # there can be no more threads
            self._work.close()
            raise
        self._thread = thread

    def join(self) -> None:
        assert self._thread is not None
        self._thread.join(self._grace + 2 * _LOOK_EVERY)

    def give_up(self) -> None:
        if self._given_up_at is None:
            self._given_up_at = time.monotonic()

    def _run(self) -> None:
        loop = asyncio.new_event_loop()

        def work() -> T:
            try:
                return loop.run_until_complete(self._bounded())
            finally:
                loop.close()

        _run(self.outcome, work)

    async def _bounded(self) -> T:
        task = asyncio.ensure_future(self._work)
        while not task.done():
            await asyncio.wait([task], timeout=_LOOK_EVERY)
            if not self._home.is_running():
                self.give_up()
            given_up_at = self._given_up_at
            if given_up_at is not None and time.monotonic() - given_up_at > self._grace:
                task.cancel()
        return task.result()


def call_in_thread(function: Callable[[], T], name: str = "mcpclient-call") -> asyncio.Future[T]:
    """Run a function in a daemon thread of its own; return the future of its outcome.

    When the future is cancelled, or the program ends, the thread is abandoned: nothing can
    interrupt it, for example while it reads from a terminal.
    """
    outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    threading.Thread(target=_run, args=(outcome, function), name=name, daemon=True).start()
    return outcome


def _run(outcome: asyncio.Future[T], function: Callable[[], T]) -> None:
    """Call a function, and set its outcome on a future of another thread's event loop."""
    result: T | None = None
    failure: BaseException | None = None
    try:
        result = function()
    except BaseException as error:
        failure = error
    call_from_thread(outcome.get_loop(), resolve, outcome, result, failure)
