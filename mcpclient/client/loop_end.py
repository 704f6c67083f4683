"""Hearing that an event loop shuts down, in time to clean up in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Any

__all__ = ["LoopEnd"]

Farewell = Callable[[], Awaitable[None]]


class LoopEnd:
    """Awaits ``farewell`` when the running loop shuts down, as `asyncio.run` has it do.

    `asyncio.run` cancels what still runs, and what is started by that cleaning up in turn, such as
    the message that a call was cancelled, nobody waits for. Asynchronous generators are the one
    thing a loop brings to an end after that; so this is one, which waits for nothing else.
    """

    def __init__(self, farewell: Farewell) -> None:
        self._farewell: Farewell | None = farewell
        self._generator = self._wait()
        _step(self._generator.__anext__())

    async def _wait(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            farewell, self._farewell = self._farewell, None
            if farewell is not None:
                await farewell()

    def forget(self) -> None:
        """Await nothing. Idempotent; from any thread, and when the loop is closed."""
        if self._farewell is not None:
            self._farewell = None
            _step(self._generator.aclose())


def _step(coroutine: Any) -> None:
    """Run a coroutine that waits for nothing."""
    with suppress(StopIteration):
        coroutine.send(None)
