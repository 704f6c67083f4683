"""An event loop whose clock counts only the time in which there is nothing to do.

Both sides of a meeting are in this process, so that a machine that is busy, and bytes that come one
by one, take no time from the limits that the library has for the silence of a server, and for
reading the schema of a form or of a tool; and no token grows older by it.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar
from unittest.mock import patch

from mcpclient.client import listed_tools
from mcpclient.client.answers import answerers
from mcpclient.net.login import authentication

if sys.platform == "win32":  # only this loop of Windows starts processes
    from asyncio import IocpProactor as Selector
    from asyncio import ProactorEventLoop as Loop
else:
    from asyncio import SelectorEventLoop as Loop
    from selectors import DefaultSelector as Selector

__all__ = ["is_unhurried", "run_unhurried", "uncounted"]

Result = TypeVar("Result")

# Real seconds after which a process that has not started is one that never will.
_STARTS_WITHIN = 60.0


def run_unhurried(main: Coroutine[Any, Any, Result]) -> Result:
    """Run ``main`` as `asyncio.run` does, on that clock."""
    loop = _IdleClockLoop()
    asyncio.set_event_loop(loop)
    begun = time.time()
    patched = [
        patch.object(answerers, "steady_seconds", loop.time),
        patch.object(listed_tools, "steady_seconds", loop.time),
        patch.object(authentication, "seconds_since_epoch", lambda: begun + loop.time()),
    ]
    try:
        with ExitStack() as stack:
            for each in patched:
                stack.enter_context(each)
            return loop.run_until_complete(main)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        asyncio.set_event_loop(None)
        loop.close()


def is_unhurried() -> bool:
    """Whether the running loop has that clock."""
    return isinstance(asyncio.get_running_loop(), _IdleClockLoop)


@contextmanager
def uncounted() -> Iterator[None]:
    """Let no time pass within the block, in which a process starts: a busy machine delays it."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, _IdleClockLoop):
        yield
        return
    loop.uncounted_until = time.perf_counter() + _STARTS_WITHIN
    try:
        yield
    finally:
        loop.uncounted_until = 0.0


class _IdleClockLoop(Loop):
    def __init__(self) -> None:
        self.idle = 0.0
        self.uncounted_until = 0.0
        super().__init__(_IdleSelector(self))

    def time(self) -> float:
        return self.idle


class _IdleSelector(Selector):
    def __init__(self, clock: _IdleClockLoop) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        begun = time.perf_counter()
        ready = super().select(timeout)
        if begun < self._clock.uncounted_until:
            return ready
        waited = time.perf_counter() - begun
        # A timer that is late has not run for longer.
        self._clock.idle += waited if timeout is None else min(waited, timeout)
        return ready
