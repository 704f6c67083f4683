"""How many servers are connected at the same time: a few processes, more servers afar."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Callable, TypeVar

from ..errors import UsageError

__all__ = ["Slots"]

T = TypeVar("T")

_LOCAL, _REMOTE = 3, 20
# A server that takes longer, in seconds, goes on without a slot: dead ones delay nobody.
_MAX_HELD = 5.0


class Slots:
    """Slots for attempts to connect: each attempt holds one for 5 seconds at most.

    ``environ``: ``MCP_SERVER_CONNECTION_BATCH_SIZE`` (3) and
    ``MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE`` (20) say how many there are for server processes
    and for servers afar. Raises `UsageError` where one is not a number.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        local = _size(environ, "MCP_SERVER_CONNECTION_BATCH_SIZE", _LOCAL)
        remote = _size(environ, "MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE", _REMOTE)
        self._local, self._remote = asyncio.Semaphore(local), asyncio.Semaphore(remote)

    async def run(self, work: Callable[[], Awaitable[T]], *, local: bool) -> T:
        """Do ``work`` when there is a slot for it, and return its result."""
        semaphore = self._local if local else self._remote
        await semaphore.acquire()
        held = [semaphore]

        def release() -> None:
            if held:
                held.pop().release()

        timer = asyncio.get_running_loop().call_later(_MAX_HELD, release)
        try:
            return await work()
        finally:
            timer.cancel()
            release()


def _size(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, "").strip()
    if not text:
        return default
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"{name} is a number of servers, 1 or more: {text!r}")
    return int(text)
