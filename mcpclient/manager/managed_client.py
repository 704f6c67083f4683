"""The client of one server of a manager: its calls survive a reconnection."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ..auth.options import OAuth
from ..client.client import Client
from ..client.connection.call_recovery import CallDeadline
from ..client.connection.limits import RequestOptions
from ..client.connection.options import EraMemory
from ..client.connection.targets import Target
from ..client.events.callbacks import Observer
from ..client.requests import ProgressHandler
from ..errors import (
    AuthorizationRequired,
    ClientClosed,
    ConnectionLost,
    McpError,
    SessionExpired,
)
from ..net.futures import LoopBound
from ..net.login.authentication import awaiting_login, expect_login
from .machine import did_not_run

if TYPE_CHECKING:
    from ..client.connection.caps import Caps
    from ..client.connection.client_options import ClientOptions
    from .server import Server

T = TypeVar("T")


class ManagedClient(Client):
    """A `Client` whose tool calls wait for a connection that is being made.

    ``home``: where the manager lives. ``eras``: the memory that its clients share.
    """

    _shares_batches = False  # each call waits for its connection, and may be repeated

    def __init__(
        self,
        target: Target,
        server: Server,
        home: LoopBound,
        options: ClientOptions,
        eras: EraMemory,
    ) -> None:
        self._eras = eras
        super().__init__(target, **options)
        self._server = server
        self._home = home
        self._connection.observers.append(_ConnectionObserver(self, server))

    def share_caps(self, known: dict[str, Caps]) -> None:
        """Continue the counts of an earlier client of the same server."""
        own = self._connection.caps
        if own is not None:
            self._connection.caps = known.setdefault(self._connection.name, own)
            self._connection.caps.limits = own.limits

    async def connect(self) -> ManagedClient:
        """Have the manager connect the server, as `Manager.connect` does.

        Returns its client, which is another one where its configuration has changed. Raises why it
        is not connected.
        """
        await self._server.connect()
        if not self._server.is_connected:
            raise self._server.unavailable()
        return self._server.client

    async def open(self) -> None:
        """Open the connection; only `Server` calls this, once the server may start."""
        await super().connect()

    def _in_owner_loop(
        self, work: Callable[..., Coroutine[Any, Any, T]], *arguments: Any
    ) -> Coroutine[Any, Any, T]:
        """Run in the event loop of the manager, in which the connection is or will be."""
        if self._home.loop is asyncio.get_running_loop():
            return work(*arguments)
        return self._home.run(work, *arguments)

    def _full_name(self, method: str, name: str) -> str:
        return self._server.full_name(method, name)

    def _request_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None,
        limits: RequestOptions,
        on_progress: ProgressHandler | None,
        meta: Mapping[str, Any] | None,
    ) -> Coroutine[Any, Any, dict[str, Any]]:
        asked = (name, arguments, limits, on_progress, meta)
        return self._in_owner_loop(self._persistent, *asked)

    async def _persistent(
        self, tool: str, arguments: Any, limits: RequestOptions, *others: Any
    ) -> dict[str, Any]:
        """Make a call when there is a connection, and once more if that is safe.

        It is where the call surely did not run, or where running twice does no harm.
        """
        server = self._server
        time = CallDeadline(self._connection, "tools/call", limits, {"name": tool})
        client, rest = server.client, limits
        if not server.is_connected:
            client, rest = await self._ready(time, limits)
        try:
            request = super(ManagedClient, client)._request_tool
            result = await request(tool, arguments, rest, *others)
        except McpError as error:
            server.call_failed(client, error)
            if isinstance(error, ClientClosed) and server.loss is not None:
                raise server.loss.again() from error  # the manager closed it, not the caller
            harmless = isinstance(error, ConnectionLost) and server.is_repeatable(tool)
            if not did_not_run(error) and not harmless:
                raise
        else:
            server.call_answered()
            return result
        client, rest = await self._ready(time, limits)
        try:
            request = super(ManagedClient, client)._request_tool
            return await request(tool, arguments, rest, *others)
        except McpError as error:
            server.call_failed(client, error)
            raise

    async def _ready(
        self, time: CallDeadline, limits: RequestOptions
    ) -> tuple[ManagedClient, RequestOptions]:
        """Wait for the connection; return its client, and the rest of the call's limits."""
        seconds = limits.timeout or math.inf
        seconds = min(seconds, time.rest_of(limits).max_timeout or math.inf)
        client = await self._server.ready(None if seconds == math.inf else seconds)
        return client, time.rest_of(limits)


class _ConnectionObserver(Observer):
    """Reports the connection's events to the server that it belongs to."""

    def __init__(self, client: ManagedClient, server: Server) -> None:
        self._client = client
        self._server = server

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """A message shows that the server is alive."""
        self._server.call_answered()

    def connected(self) -> None:
        """Another session may have other tools."""
        self._server.renewed(self._client)

    def lost(self, error: McpError) -> None:
        """Reconnect; a session that has expired is renewed by the next call instead."""
        if not isinstance(error, SessionExpired):
            self._server.lost(self._client, error)

    def closed(self) -> None:
        """Disconnect: the caller has closed the client."""
        self._server.closed_by_user(self._client)


async def look_for_login(target: Target, auth: object, is_asked_for: bool) -> None:
    """Raise early if a login is known to be needed, unless the user asked to connect.

    Raises `AuthorizationRequired`.
    """
    if not isinstance(target, str) or not isinstance(auth, OAuth):
        return
    if is_asked_for:
        await expect_login(target, auth)
    elif await awaiting_login({target: auth}):
        raise AuthorizationRequired(target)
