"""The resources of this process, and whether they grow."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from statistics import median
from typing import Any

import psutil

from tests.support.leaks import children, open_descriptors

from .watch import Violations

# Seconds that a process, a thread or a socket may take to be gone after the close.
_GRACE = 5.0

# Growth over a whole run that is the allocator's and not a leak. Each of some thousand calls and
# some hundred connections that kept one object, or a hundred bytes, would exceed it.
_RSS_MARGIN = 3 << 20
_OBJECTS_MARGIN = 400

# Of the samples, the first show caches and code that are still being filled.
_WARM_UP = 0.25


@dataclass(frozen=True)
class Holdings:
    """The resources that have to be as before, exactly."""

    descriptors: int
    children: int
    threads: int
    tasks: int

    @classmethod
    def now(cls) -> Holdings:
        """Count."""
        tasks = len(asyncio.all_tasks())
        return cls(open_descriptors(), len(children()), threading.active_count(), tasks)


async def check_released(before: Holdings, violations: Violations, what: str) -> None:
    """Make sure that nothing is left of what came after ``before``."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _GRACE
    while True:
        gc.collect()
        left = Holdings.now()
        if all(now <= then for now, then in zip(astuple(left), astuple(before))):
            return
        if loop.time() > deadline:
            tasks = ", ".join(map(where_it_waits, asyncio.all_tasks()))
            violations.add(
                f"{what} left something behind: {left}, before it: {before}; tasks: {tasks}; "
                f"processes: {list(children())}"
            )
            return
        await asyncio.sleep(0.02)


def where_it_waits(task: asyncio.Task[Any]) -> str:
    """Name the functions of a task that wait for each other, the innermost last."""
    names = []
    waiting: Any = task.get_coro()
    while waiting is not None:
        names.append(getattr(waiting, "__qualname__", type(waiting).__name__))
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "ag_await", None)
    return " > ".join(names)


@dataclass(frozen=True)
class Sample:
    """The size of the process after a round, when all is closed."""

    rss: int
    objects: int
    descriptors: int

    @classmethod
    async def take(cls) -> Sample:
        """Measure after a garbage collection."""
        objects = sum((await objects_held()).values())
        return cls(psutil.Process().memory_info().rss, objects, open_descriptors())


async def objects_held() -> Counter[str]:
    """The number of objects of each type that the garbage collector knows, once it has run."""
    for _ in range(3):  # an asynchronous generator lives until the loop has closed it
        gc.collect()
        await asyncio.sleep(0)
    return Counter(type(each).__qualname__ for each in gc.get_objects())


def check_flat(samples: Sequence[Sample], violations: Violations) -> None:
    """Compare the beginning and the end of a run, after the warm-up. Needs eight samples."""
    if len(samples) < 8:
        return
    warm = samples[int(len(samples) * _WARM_UP) :]
    third = max(len(warm) // 3, 2)
    for name, margin in (("rss", _RSS_MARGIN), ("objects", _OBJECTS_MARGIN), ("descriptors", 0)):
        values = [getattr(sample, name) for sample in warm]
        growth = median(values[-third:]) - median(values[:third])
        if growth > margin:
            violations.add(f"{name} grew by {growth:.0f} over {len(warm)} rounds: {values}")
