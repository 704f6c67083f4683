"""The events of a manager: changes of its servers and tools, for callbacks and streams."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Callable, Union
from weakref import WeakSet

from ..client.connection.reconnection import Status
from ..client.events.callbacks import OrderedCallback
from ..errors import McpError
from ..framing.escaping import escape_line
from ..net.futures import BackgroundTasks, LoopBound, NextChange
from .pins import Mismatch

# The most events pending for a slow consumer; above it the oldest are dropped.
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
    """The tools of a server have changed; full names."""

    server: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class PinMismatch:
    """A tool, or its server, differs from the lock file."""

    server: str
    mismatch: Mismatch

    def __str__(self) -> str:
        return f"{escape_line(self.server)}: {self.mismatch}"


ManagerEvent = Union[StatusChanged, ToolsUpdated, PinMismatch]


class EventStream(AsyncIterator[ManagerEvent]):
    """The events of a manager from now on, in order; it ends when the manager is closed.

    Several tasks may read one stream, in any event loop: each event goes to one of them.
    """

    def __init__(self, home: LoopBound) -> None:
        self._home = home
        self._events: deque[ManagerEvent | None] = deque(maxlen=_MAX_WAITING)
        self._change = NextChange()

    def put(self, event: ManagerEvent | None) -> None:
        """Enqueue an event; None ends the stream after the pending ones."""
        self._events.append(event)
        self._change.notify()

    async def __anext__(self) -> ManagerEvent:
        event = await self._home.run(self._next)
        if event is None:
            raise StopAsyncIteration
        return event

    async def _next(self) -> ManagerEvent | None:
        while not self._events:
            await self._change.wait()
        event = self._events.popleft()
        if event is None:
            self._events.append(None)  # for other readers
        return event


class Events:
    """Hands each event to the callback and to every open stream.

    ``home``: where the manager lives, which is where streams are read.
    """

    def __init__(self, on_event: Callable[[ManagerEvent], Any] | None, home: LoopBound) -> None:
        self._home = home
        self._is_closed = False
        self._tasks = BackgroundTasks()
        self._callback = OrderedCallback(on_event, self._tasks) if on_event is not None else None
        self._streams: WeakSet[EventStream] = WeakSet()  # an unused one is gone

    def stream(self) -> EventStream:
        """Return a stream of the events from now on; an empty one once the manager is closed."""
        stream = EventStream(self._home)
        if self._is_closed:
            stream.put(None)
        else:
            self._streams.add(stream)
        return stream

    def open(self) -> None:
        """Allow streams again when the manager is opened."""
        self._is_closed = False

    def tell(self, event: ManagerEvent) -> None:
        """Hand out one event."""
        if self._callback is not None:
            self._callback(event)
        for stream in tuple(self._streams):
            stream.put(event)

    async def close(self, seconds: float) -> None:
        """End every stream, and let the callback finish its events."""
        self._is_closed = True
        for stream in tuple(self._streams):
            stream.put(None)
        self._streams.clear()
        if self._callback is not None:
            await self._callback.finish(seconds)
        self._tasks.cancel()
