"""Calls in the background, by number."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, Callable, Generic, TypeVar

from ...errors import UsageError
from ...suggestions import there_are

T = TypeVar("T")

# How many that have ended are still known.
_MAX_ENDED = 100


def in_words(error: BaseException) -> str:
    """Return an error that is none of the library's, as one that a hook raises, in words."""
    return f"{type(error).__name__}: {error}"


@dataclass(frozen=True)
class Job(Generic[T]):
    """A line at work. ``line``: as it was typed, without values that are secret."""

    number: int
    line: str
    task: asyncio.Task[T]

    @property
    def state(self) -> str:
        """``"running"``, ``"done"`` or ``"cancelled"``."""
        if not self.task.done():
            return "running"
        return "cancelled" if self.task.cancelled() else "done"


class Jobs(Generic[T]):
    """The lines in the background. ``ended`` is told of each that is done or cancelled."""

    def __init__(self, ended: Callable[[Job[T]], None]) -> None:
        self._jobs: dict[int, Job[T]] = {}
        self._count = 0
        self._ended = ended

    def __iter__(self) -> Iterator[Job[T]]:
        return iter(list(self._jobs.values()))

    @property
    def running(self) -> list[Job[T]]:
        """Those that have not ended."""
        return [job for job in self if job.state == "running"]

    def start(self, line: str, work: Coroutine[Any, Any, T]) -> Job[T]:
        """Begin, and return at once."""
        self._count += 1
        task = asyncio.get_running_loop().create_task(work)
        job = self._jobs[self._count] = Job(self._count, line, task)
        task.add_done_callback(lambda _: self._end(job))
        return job

    def _end(self, job: Job[T]) -> None:
        ended = [each.number for each in self if each.state != "running"]
        for number in ended[:-_MAX_ENDED]:
            del self._jobs[number]
        self._ended(job)

    def find(self, number: str) -> Job[T]:
        """Return a job by its number as it was typed. Raises `UsageError`."""
        job = self._jobs.get(int(number)) if number.isdecimal() and len(number) < 10 else None
        if job is None:
            known = there_are(str(job.number) for job in self)
            raise UsageError(f"there is no call {number!r} in the background; {known}")
        return job

    async def close(self) -> None:
        """Cancel every call that still runs, and wait until it has ended."""
        tasks = [job.task for job in self.running]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
