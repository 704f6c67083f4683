"""Tasks that run in the background of an owner, and end with it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Callable

from ..framing.logs import logger_for
from .futures import cancel

_logger = logger_for("mcpclient.client")


def _log(error: Exception) -> None:
    _logger.error("a background task failed", exc_info=error)


class BackgroundTasks:
    """The background tasks of one owner.

    ``on_failure`` is told of an exception that a task lets escape; otherwise it is logged.
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
        """Cancel every task but the one that is asking, whether or not there still is a loop."""
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
