"""An asyncio event loop whose clock moves only when there is nothing else to do.

``run(coroutine)`` is `asyncio.run` with virtual time: when every task waits, the clock jumps to the
next timer, so that an hour of backoff costs no time and a test depends on no real speed. Sockets
between two parties in the same loop work, and so does work handed to an executor. Child processes
do not: their time is real, and the clock would run away from them.
"""

from __future__ import annotations

import asyncio
import inspect
import selectors
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, Optional, TypeVar

Result = TypeVar("Result")

# Real seconds in which something outside the loop (an executor, the kernel) may still answer before
# a wait without a timer counts as a deadlock.
PATIENCE = 1.0

# Real seconds that bytes may take from one socket of this loop to another before the clock jumps.
# Loopback normally delivers within the system call that sends; on Windows not always.
SETTLE = 0.005 if sys.platform != "win32" else 0.02

# Steps that tasks get to finish in after the main coroutine has, without the clock moving.
LAST_STEPS = 50

# How often the garbage collector may find another generator to close in those last steps.
CLOSINGS = 5


class Deadlock(AssertionError):
    """Every task waits, and nothing is left that could wake one of them."""


class EndlessTime(AssertionError):
    """The virtual clock passed its limit: something waits forever beside a repeating timer."""


class LeftoverTasks(AssertionError):
    """The main coroutine is done, and tasks it started are not."""


def run(coroutine: Coroutine[Any, Any, Result], *, limit: float = 86_400.0) -> Result:
    """Run ``coroutine`` on a new loop in virtual time, from second 0, and return its result.

    Raises `Deadlock`, `EndlessTime` (after ``limit`` virtual seconds) or `LeftoverTasks`, each
    naming the tasks that were pending and where they wait.
    """
    loop = VirtualTimeLoop(limit)
    try:
        main = loop.create_task(coroutine, name="main")
        result = loop.run_until_complete(main)
        leftover = _after_last_steps(loop)
        # The garbage collector begins to close a generator at a moment of its own: after the last
        # step too, and again. A generator that cannot be closed is reported all the same.
        for _ in range(CLOSINGS):
            if not (leftover and all(map(_closes_a_generator, leftover))):
                break
            leftover = _after_last_steps(loop)
        if leftover:
            raise LeftoverTasks(f"tasks are still pending:\n{_describe(leftover)}")
        return result
    finally:
        _shut_down(loop)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A selector loop with a clock of its own, moved by its selector."""

    def __init__(self, limit: float) -> None:
        self._virtual_time = 0.0
        self._limit = limit
        self.work_in_executors = 0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self._virtual_time

    def jump(self, seconds: float) -> None:
        # Nanoseconds are the resolution of a loop's clock; finer digits are rounding errors. A jump
        # is at least one: a timer that runs a rounding error early and sets itself again would
        # otherwise find the same time for ever.
        self._virtual_time = round(self._virtual_time + max(seconds, 1e-9), 9)
        if self._virtual_time > self._limit:
            raise EndlessTime(
                f"{self._limit:g} virtual seconds have passed with these tasks pending:\n"
                f"{_describe(asyncio.all_tasks(self))}"
            )

    def deadlock(self) -> Deadlock:
        return Deadlock(f"nothing can wake these tasks:\n{_describe(asyncio.all_tasks(self))}")

    # The type of the parent differs between Pythons; what is passed on does not.
    def run_in_executor(  # type: ignore[override]
        self,
        executor: Optional[Executor],  # noqa: UP045
        func: Callable[..., Result],
        *args: Any,
    ) -> asyncio.Future[Result]:
        future = super().run_in_executor(executor, func, *args)
        self.work_in_executors += 1
        future.add_done_callback(self._executor_work_done)
        return future

    def _executor_work_done(self, _future: asyncio.Future[Any]) -> None:
        self.work_in_executors -= 1


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that never waits for a timer: it moves the clock of the loop instead."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        ready = super().select(self._real_wait(timeout))
        if not ready:
            if timeout is None:
                raise self._loop.deadlock()
            self._loop.jump(timeout)
        return ready

    def _real_wait(self, timeout: float | None) -> float:
        if timeout is None or self._loop.work_in_executors:
            return PATIENCE
        # One file object is the loop's own way to be woken from another thread.
        return SETTLE if len(self.get_map()) > 1 else 0


def _after_last_steps(loop: VirtualTimeLoop) -> set[asyncio.Task[Any]]:
    loop.run_until_complete(_last_steps())
    return asyncio.all_tasks(loop)


async def _last_steps() -> None:
    """Let tasks finish that need only a few more steps, such as a server's end of a stream."""
    this = asyncio.current_task()
    for _ in range(LAST_STEPS):
        if asyncio.all_tasks() == {this}:
            break
        await asyncio.sleep(0)


def _closes_a_generator(task: asyncio.Task[Any]) -> bool:
    """Whether ``task`` closes a generator that was collected before its end."""
    return not inspect.iscoroutine(task.get_coro())


def _describe(tasks: set[asyncio.Task[Any]]) -> str:
    return "\n".join(sorted(f"  {task.get_name()}: {_where(task)}" for task in tasks))


def _where(task: asyncio.Task[Any]) -> str:
    name = getattr(task.get_coro(), "__qualname__", "a coroutine")
    frames = task.get_stack(limit=1)
    if not frames:
        return name
    return f"{name} waits at {frames[0].f_code.co_filename}:{frames[0].f_lineno}"


def _shut_down(loop: VirtualTimeLoop) -> None:
    """Cancel the rest and close the loop, as `asyncio.run` does, in bounded time."""
    try:
        leftover = asyncio.all_tasks(loop)
        for task in leftover:
            task.cancel()
        if leftover:
            loop.run_until_complete(asyncio.wait(leftover))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
