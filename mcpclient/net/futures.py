"""Futures, tasks, threads and event loops: notifying, locks, cancelling, background."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
)
from contextlib import suppress
from typing import Any, TypeVar, cast

from ..errors import ConnectionLost, LossKind, McpError, UsageError
from ..framing.logs import logger_for
from .clocks import steady_seconds

T = TypeVar("T")

# Seconds of work before other tasks run; one step may take as long again.
_SLICE = 0.005


class NextChange:
    """Lets any number of tasks of one event loop wait until something has changed."""

    _future: asyncio.Future[None] | None = None

    async def wait(self, seconds: float | None = None) -> None:
        """Wait for the next `notify`, for ``seconds`` at most (None: no limit)."""
        loop = asyncio.get_running_loop()
        if self._future is None or self._future.get_loop() is not loop:  # of a loop that has ended
            self._future = loop.create_future()
        await asyncio.wait({self._future}, timeout=seconds)

    def notify(self) -> None:
        """Wake every task that waits."""
        future, self._future = self._future, None
        if future is not None and not future.get_loop().is_closed():
            future.set_result(None)


def consume_exception(future: asyncio.Future[Any]) -> None:
    """Retrieve the exception of a future, so that asyncio does not log it as never retrieved.

    Its waiter may have been cancelled in the same turn of the loop in which it failed, or ended by
    a second Ctrl-C. May also be added to the future as a callback.
    """
    if future.done() and not future.cancelled():
        future.exception()


def resolve(
    future: asyncio.Future[Any], result: object, error: BaseException | None = None
) -> None:
    """Set the outcome of a future, unless it has one: its waiter may have been cancelled."""
    if future.done():
        return
    if error is None:
        future.set_result(result)
    elif isinstance(error, asyncio.CancelledError):
        future.cancel()
    else:
        future.set_exception(error)


def call_from_thread(
    loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *arguments: object
) -> bool:
    """Call a function in the loop's own thread; return False if the loop is closed."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(callback, *arguments)
        return True
    return False


async def settled(value: T | Awaitable[T]) -> T:
    """Return a value, or the result of an awaitable: functions of the user are plain or async."""
    return cast(T, await value) if inspect.isawaitable(value) else value


def cancel(task: asyncio.Task[Any] | None) -> None:
    """Cancel a task, if there is one, and its event loop is not closed: no task runs there."""
    if task is not None and not task.get_loop().is_closed():
        task.cancel()


async def cancel_all(tasks: Collection[asyncio.Future[Any]]) -> None:
    """Cancel the running tasks, wait for their end, and consume every exception."""
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)
    for task in tasks:
        consume_exception(task)


async def gather_outcomes(works: Iterable[Coroutine[Any, Any, T]]) -> list[T | McpError]:
    """Run coroutines concurrently and return their outcomes in the order of the coroutines.

    An `McpError` is an outcome like any other. Any other exception cancels the rest and is raised;
    when this is cancelled, all are.
    """
    tasks = [asyncio.ensure_future(_outcome_of(work)) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await cancel_all(tasks)


async def _outcome_of(work: Coroutine[Any, Any, T]) -> T | McpError:
    try:
        return await work
    except McpError as error:
        return error


_logger = logger_for("mcpclient.client")


async def in_slices(steps: Iterator[object]) -> Any:
    """Run the steps of some work, and let other tasks run every few milliseconds.

    Returns the result of a generator.
    """
    began = steady_seconds()
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
        if steady_seconds() - began > _SLICE:
            await asyncio.sleep(0)
            began = steady_seconds()


def _log(error: Exception) -> None:
    _logger.error("a background task failed", exc_info=error)


class BackgroundTasks:
    """The background tasks of one owner.

    ``on_failure``: called with an exception that escapes from a task; by default it is logged.
    """

    def __init__(self, on_failure: Callable[[Exception], None] = _log) -> None:
        self._tasks: dict[asyncio.Task[Any], bool] = {}  # whether `cancel` has cancelled it
        self._on_failure = on_failure

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks[task] = False
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):  # and no Ctrl-C, which ends the program
            self._on_failure(error)

    def cancel(self) -> None:
        """Cancel every task except the calling one; works after the loop has ended, too."""
        try:
            current = asyncio.current_task()
        except RuntimeError:
            current = None
        for task in list(self._tasks):
            if task is not current:
                self._tasks[task] = True
                cancel(task)

    def has_cancelled(self, task: asyncio.Task[Any] | None) -> bool:
        """Whether a task that has not ended was cancelled by `cancel`: else its own work was."""
        return task is not None and self._tasks.get(task, False)

    async def wait(self, seconds: float | None = None) -> None:
        """Wait until all tasks have ended, but no longer than ``seconds`` (None: no limit)."""
        tasks = set(self._tasks) - {asyncio.current_task()}
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)


# Threads


def call_in_thread(function: Callable[[], T], name: str = "mcpclient-call") -> asyncio.Future[T]:
    """Run a function in a daemon thread of its own; return the future of its outcome.

    When the future is cancelled, or the program ends, the thread is abandoned: nothing can
    interrupt it, for example while it reads from a terminal.
    """
    outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    threading.Thread(target=run_into, args=(outcome, function), name=name, daemon=True).start()
    return outcome


def run_into(outcome: asyncio.Future[T], function: Callable[[], T]) -> None:
    """Call a function, and set the outcome of a future in its own event loop."""
    result: T | None = None
    failure: BaseException | None = None
    try:
        result = function()
    except BaseException as error:
        failure = error
    call_from_thread(outcome.get_loop(), resolve, outcome, result, failure)


# Event loops


LOOK_EVERY = 0.25
"""Seconds between two checks whether another event loop still runs: nothing reports its end."""


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
        """Return its event loop, None where it has none. Raises `UsageError` in a forked copy."""
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

    def run(
        self, work: Callable[..., Coroutine[Any, Any, T]], *arguments: Any
    ) -> Coroutine[Any, Any, T]:
        """Run ``work`` in its event loop, from any loop; see `run_in`."""
        if self.loop is asyncio.get_running_loop():
            return work(*arguments)
        home = self.owner_loop()
        return work(*arguments) if home is None else run_in(home, work, *arguments)


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
            await asyncio.wait({waiting}, timeout=LOOK_EVERY)
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
