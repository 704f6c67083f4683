"""What a manager tells: changes of status, of tools, and of pinned definitions."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Callable, Union
from weakref import WeakSet

from ..client.events.callbacks import OrderedCallback
from ..errors import McpError
from ..net.background_tasks import BackgroundTasks
from .pins import Mismatch
from .status import Status

__all__ = ["EventStream", "Events", "ManagerEvent", "PinMismatch", "StatusChanged", "ToolsUpdated"]

# How many events wait for a consumer that does not take them; then the oldest are dropped.
_MAX_WAITING = 10_000


@dataclass(frozen=True)
class StatusChanged:
    """A server has another status. ``error``: why, where something failed."""

    server: str
    old: Status
    new: Status
    error: McpError | None = None


@dataclass(frozen=True)
class ToolsUpdated:
    """The tools of a server are not what they were; full names."""

    server: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class PinMismatch:
    """A tool, or its server, is not what the lock file says."""

    server: str
    mismatch: Mismatch


ManagerEvent = Union[StatusChanged, ToolsUpdated, PinMismatch]


class EventStream(AsyncIterator[ManagerEvent]):
    """The events of a manager from now on, in order; it ends when the manager is closed."""

    def __init__(self) -> None:
        self._events: deque[ManagerEvent] = deque(maxlen=_MAX_WAITING)
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False

    def put(self, event: ManagerEvent) -> None:
        """Take an event."""
        self._events.append(event)
        self._wake()

    def end(self) -> None:
        """Take note that there will be no more."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def __anext__(self) -> ManagerEvent:
        while not self._events:
            if self._ended:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._events.popleft()


class Events:
    """Hands each event to the callback and to every open stream."""

    def __init__(self, on_event: Callable[[ManagerEvent], Any] | None) -> None:
        self._tasks = BackgroundTasks()
        self._callback = OrderedCallback(on_event, self._tasks) if on_event is not None else None
        self._streams: WeakSet[EventStream] = WeakSet()  # one that nobody reads any more is gone

    def stream(self) -> EventStream:
        """Return a stream of what is told from now on."""
        stream = EventStream()
        self._streams.add(stream)
        return stream

    def tell(self, event: ManagerEvent) -> None:
        """Hand out one event."""
        if self._callback is not None:
            self._callback(event)
        for stream in tuple(self._streams):
            stream.put(event)

    async def close(self, seconds: float) -> None:
        """End every stream, and let the callback finish with what it was told."""
        for stream in tuple(self._streams):
            stream.end()
        self._streams.clear()
        if self._callback is not None:
            await self._callback.finish(seconds)
        self._tasks.cancel()
