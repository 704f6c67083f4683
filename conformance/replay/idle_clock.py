"""An event loop whose clock counts only the time in which there is nothing to do.

Both sides of a meeting are in this process, so that a machine that is busy, and bytes that come one
by one, take no time from the limits that the library has for the silence of a server, and for
reading the schema of a form or of a tool; and no token grows older by it.
"""

from __future__ import annotations

import asyncio
import selectors
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar
from unittest.mock import patch

from mcpclient.client import listed_tools
from mcpclient.client.answers import answerers
from mcpclient.net.login import authentication

__all__ = ["is_unhurried", "run_unhurried", "uncounted"]

Result = TypeVar("Result")

# Real seconds after which a process that has not started is one that never will.
_STARTS_WITHIN = 60.0


def run_unhurried(main: Coroutine[Any, Any, Result]) -> Result:
    """Run ``main`` as `asyncio.run` does, on that clock; on Windows, whose loops wait for more than
    a selector can, on an ordinary one.
    """
    if sys.platform == "win32":
        return asyncio.run(main)
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
    loop.uncounted_until = time.monotonic() + _STARTS_WITHIN
    try:
        yield
    finally:
        loop.uncounted_until = 0.0


class _IdleClockLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.idle = 0.0
        self.uncounted_until = 0.0
        super().__init__(_IdleSelector(self))

    def time(self) -> float:
        return self.idle


class _IdleSelector(selectors.DefaultSelector):
    def __init__(self, loop: _IdleClockLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        begun = time.monotonic()
        ready = super().select(timeout)
        if begun < self._loop.uncounted_until:
            return ready
        waited = time.monotonic() - begun
        # A timer that is late has not run for longer.
        self._loop.idle += waited if timeout is None else min(waited, timeout)
        return ready
