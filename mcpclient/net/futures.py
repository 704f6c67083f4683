"""Futures whose outcome may come after everybody has stopped waiting for it, and many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Iterable
from typing import Any, TypeVar

from ..errors import McpError

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


def consume_exception(future: asyncio.Future[Any]) -> None:
    """Look at the outcome of a future, so that asyncio does not log that nobody did.

    Whoever waited for it may have been cancelled in the same turn of the loop in which it failed,
    or have been ended by a second Ctrl-C. May also be added to the future as a callback.
    """
    if future.done() and not future.cancelled():
        future.exception()


def cancel(task: asyncio.Task[Any] | None) -> None:
    """Cancel a task, if there is one, and its event loop is not closed: no task runs there."""
    if task is not None and not task.get_loop().is_closed():
        task.cancel()


async def cancel_all(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel those that still run, wait until they have ended, and look at every outcome."""
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)
    for task in tasks:
        consume_exception(task)


async def gather_outcomes(works: Iterable[Coroutine[Any, Any, T]]) -> list[T | McpError]:
    """Run coroutines at the same time and return, in their order, what they come to.

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
