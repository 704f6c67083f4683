"""The keeper of a single client's connection: ``connect(target, reconnect=Reconnect())``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, Callable

from ..errors import McpError
from ..protocol.negotiation import REPEATABLE
from .connection.call_recovery import CallDeadline
from .connection.connection import Connection
from .connection.keeper import Keeper, KeptConnection
from .connection.limits import RequestOptions
from .connection.reconnection import Event, Reconnect, Status
from .listed_tools import ListedTools


class ClientKeeper(Keeper):
    """Keeps one connection, which it opens itself; it holds no reference to the client."""

    def __init__(self, connection: Connection, listed: ListedTools, policy: Reconnect) -> None:
        super().__init__(connection, policy)
        self.name: str = connection.name
        self._connection = connection
        self._listed = listed
        self._loop: asyncio.AbstractEventLoop | None = None
        connection.keeper = self
        connection.observers.append(_Reports(self, None))

    async def open(self) -> None:
        """Connect, unless connected. Raises why there is no connection; see `Client.connect`."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self.abort()  # the leftovers of an event loop that has stopped
            self._loop = loop
        was_kept = self.status in (Status.CONNECTED, Status.RECONNECTING)
        if not (self.is_connected and self._connection.is_connected):
            self.handle(Event.LOST)
            self.handle(Event.CONNECT)
        try:
            await self.settled()
        except asyncio.CancelledError:
            if not was_kept:
                self.handle(Event.DISCONNECT)
                await self.ended()
            raise
        if not self.is_connected:  # the attempt has failed, or the client was closed meanwhile
            raise self.unavailable()

    async def send(
        self,
        work: Callable[[str, Any, RequestOptions], Awaitable[dict[str, Any]]],
        method: str,
        params: Mapping[str, Any] | None,
        limits: RequestOptions,
    ) -> dict[str, Any]:
        """Make a request by ``work`` as `Keeper.call` does."""

        def is_harmless() -> bool:
            tool = self._listed.find(str((params or {}).get("name"))) if params else None
            trusted = self._connection.options.trusted and tool is not None and tool.idempotent
            return method in REPEATABLE or (method == "tools/call" and trusted)

        time = CallDeadline(self._connection, method, limits, params)
        return await self.call(time, lambda rest: work(method, params, rest), is_harmless)

    def unavailable(self) -> Exception:
        """Return why no request can be made."""
        if self.error is None:
            try:
                self._connection.require_session()
            except McpError as error:  # it was closed, or never connected
                return error
        return super().unavailable()

    async def _connect(self) -> None:
        await self.ended()
        await self._connection.open()

    def _close(self) -> None:
        connection, error = self._connection, self.error
        if connection.is_connected and isinstance(error, McpError):
            connection.session.connection_lost(error)  # so that calls in flight learn why


class _Reports(KeptConnection):
    """Reports the events of a connection that only the caller closes."""

    def closed(self) -> None:
        """Let no attempt be under way any more."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:  # a finalizer, or the event loop has stopped
            self._keeper.abort()
        else:
            self._keeper.handle(Event.DISCONNECT)
