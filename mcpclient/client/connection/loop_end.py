"""Noticing that an event loop shuts down, in time to clean up in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Any

Cleanup = Callable[[], Awaitable[None]]


class LoopEnd:
    """Awaits ``cleanup`` when the running loop shuts down, as at the end of `asyncio.run`.

    `asyncio.run` cancels all tasks that still run. What these start while they clean up, such as
    sending that a call was cancelled, nobody waits for. The one thing a loop finishes after that
    are asynchronous generators, so this is one, and it does nothing but wait for its end.
    """

    def __init__(self, cleanup: Cleanup) -> None:
        self._cleanup: Cleanup | None = cleanup
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
        """Await nothing any more. Idempotent; works in any thread and after the loop is closed."""
        if self._cleanup is not None:
            self._cleanup = None
            _step(self._generator.aclose())


def _step(coroutine: Any) -> None:
    """Run a coroutine that waits for nothing."""
    with suppress(StopIteration):
        coroutine.send(None)
