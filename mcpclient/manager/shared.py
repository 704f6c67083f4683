"""Slots for connecting, and everything else that the servers of one manager share."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, TypeVar

from ..client.connection.options import EraMemory
from ..config.config import ServerConfig
from ..errors import UsageError
from ..net.loops import LoopBound
from .events import Events
from .machine import Reconnect
from .memory import Memory
from .pins import Pins
from .tools import Catalog

T = TypeVar("T")

# A slot is held for so many seconds at most. A process needs the processor while it starts; then it
# may wait for something else, and the next can start. Of remote servers, dead ones delay nobody.
_LOCAL_SECONDS, _REMOTE_SECONDS = 0.3, 5.0
# With so many processes in 0.3 s, every processor is busy even if each needs 20 ms of it, as a bare
# interpreter does. Fewer would leave it idle: with 3 slots, held until a server answered, 50
# servers took 11 times as long as all at once.
_LOCAL_PER_PROCESSOR = 16
_REMOTE = 20


class Slots:
    """Slots for attempts to connect.

    Each attempt holds one until it is over, for 0.3 seconds at most where it starts a process, and
    for 5 seconds otherwise. ``environ``: ``MCP_SERVER_CONNECTION_BATCH_SIZE`` (16 for each
    processor) and ``MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE`` (20) say how many there are for
    server processes and for remote servers. Raises `UsageError` where one is not a number.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        local = _size(
            environ,
            "MCP_SERVER_CONNECTION_BATCH_SIZE",
            _LOCAL_PER_PROCESSOR * (os.cpu_count() or 1),
        )
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

        seconds = _LOCAL_SECONDS if local else _REMOTE_SECONDS
        timer = asyncio.get_running_loop().call_later(seconds, release)
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


@dataclass(frozen=True)
class Shared:
    """The services and settings that the servers of one manager share.

    ``home``: the event loop they live in. ``admit``: returns the configuration of a server as the
    gate allows it now; the flag asks for it as if it were enabled. ``eras``: which era each server
    speaks.
    """

    home: LoopBound
    options: Mapping[str, Any]
    catalog: Catalog
    events: Events
    slots: Slots
    reconnect: Reconnect | None
    admit: Callable[[ServerConfig, bool], Awaitable[ServerConfig]]
    pins: Pins | None = None
    memory: Memory | None = None
    auto_refresh: bool = True
    eras: EraMemory = field(default_factory=EraMemory)
