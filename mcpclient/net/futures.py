"""Futures and tasks: notifying, locks, cancelling, gathering, and tasks in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Iterable
from contextlib import suppress
from typing import Any, Callable, TypeVar
from weakref import WeakKeyDictionary

from ..errors import McpError
from ..framing.logs import logger_for

T = TypeVar("T")


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


def cancel(task: asyncio.Task[Any] | None) -> None:
    """Cancel a task, if there is one, and its event loop is not closed: no task runs there."""
    if task is not None and not task.get_loop().is_closed():
        task.cancel()


async def cancel_all(tasks: Collection[asyncio.Task[Any]]) -> None:
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


def _log(error: Exception) -> None:
    _logger.error("a background task failed", exc_info=error)


class BackgroundTasks:
    """The background tasks of one owner.

    ``on_failure``: called with an exception that escapes from a task; by default it is logged.
    """

    def __init__(self, on_failure: Callable[[Exception], None] = _log) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._cancelled: set[asyncio.Task[Any]] = set()
        self._on_failure = on_failure

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine in the background."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        self._cancelled.discard(task)
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
                self._cancelled.add(task)
                cancel(task)

    def has_cancelled(self, task: asyncio.Task[Any] | None) -> bool:
        """Whether a task that has not ended was cancelled by `cancel`: else its own work was."""
        return task in self._cancelled

    async def wait(self, seconds: float | None = None) -> None:
        """Wait until all tasks have ended, but no longer than ``seconds`` (None: no limit)."""
        tasks = self._tasks - {asyncio.current_task()}
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
