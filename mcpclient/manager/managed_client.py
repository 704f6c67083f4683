"""The client of one server of a manager: its calls survive a reconnection."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Callable, Protocol, TypeVar

from ..client.client import Client
from ..client.connection.call_deadline import CallDeadline
from ..client.connection.era_memory import EraMemory
from ..client.connection.loops import LoopBound
from ..client.connection.requests import ProgressHandler
from ..client.connection.session import RequestOptions
from ..client.connection.targets import Target
from ..client.connection.timeouts import Seconds
from ..client.events.observer import Observer
from ..errors import ClientClosed, ConnectionLost, McpError, SessionExpired
from .failures import did_not_run

if TYPE_CHECKING:
    from ..client.connection.client_options import ClientOptions

T = TypeVar("T")

_Answering = Coroutine[Any, Any, dict[str, Any]]


class Keeper(Protocol):
    """Who keeps the connection of a client."""

    @property
    def client(self) -> ManagedClient:
        """The client of the present configuration."""
        ...

    @property
    def is_connected(self) -> bool:
        """Whether calls can be made now."""
        ...

    @property
    def loss(self) -> McpError | None:
        """Why the connection is being made anew, None when it is not."""

    async def connect(self) -> None:
        """Connect because the user asks for it, and wait for the outcome."""

    def unavailable(self) -> Exception:
        """Return why no call can be made."""
        ...

    async def ready(self, seconds: float | None) -> ManagedClient:
        """Wait for the connection and return its client. Raises why there will be none."""
        ...

    def full_name(self, method: str, name: str) -> str:
        """Return the name of a tool, a prompt or a resource among those of all servers."""
        ...

    def is_repeatable(self, tool: str) -> bool:
        """Whether a second call of the tool surely does no more than the first."""
        ...

    def call_failed(self, client: ManagedClient, error: McpError) -> None:
        """Take note that a call failed."""

    def call_answered(self) -> None:
        """Take note that the server answered a call."""

    def lost(self, client: ManagedClient, error: McpError) -> None:
        """Take note that the connection has ended by itself."""

    def renewed(self, client: ManagedClient) -> None:
        """Take note of another session on the same connection."""

    def closed_by_user(self, client: ManagedClient) -> None:
        """Take note that somebody has closed the client."""


class ManagedClient(Client):
    """A `Client` whose tool calls wait for a connection that is being made.

    ``home``: where the manager lives. ``eras``: the memory that its clients share.
    """

    _shares_batches = False  # each call waits for its connection, and may be repeated

    def __init__(
        self,
        target: Target,
        keeper: Keeper,
        home: LoopBound,
        options: ClientOptions,
        eras: EraMemory,
    ) -> None:
        self._eras = eras
        super().__init__(target, **options)
        self._keeper = keeper
        self._home = home
        self._connection.observers.append(_ConnectionNews(self, keeper))

    def guard_with(self, guard: Callable[[str, Mapping[str, Any]], dict[str, Any] | None]) -> None:
        """Let every request pass ``guard``, see `CallRecovery`."""
        self._caller.guard = guard

    async def connect(self) -> ManagedClient:
        """Have the manager connect the server, as `Manager.connect` does.

        Returns its client, which is another one where its configuration has changed. Raises why it
        is not connected.
        """
        await self._keeper.connect()
        if not self._keeper.is_connected:
            raise self._keeper.unavailable()
        return self._keeper.client

    async def open(self) -> None:
        """Open the connection, which its keeper does once the server may start."""
        await super().connect()

    def _at_home(
        self, work: Callable[..., Coroutine[Any, Any, T]], *arguments: Any
    ) -> Coroutine[Any, Any, T]:
        """Run in the event loop of the manager, in which the connection is or will be."""
        if self._home.loop is asyncio.get_running_loop():
            return work(*arguments)
        return self._home.run(work, *arguments)

    def expect(self, version: str) -> None:
        """Take it that the server speaks as it did in an earlier run: that is tried first."""
        self._connection.expect(version)

    def give_up(self, error: McpError) -> None:
        """Let every call in flight fail with a reason, though the connection looks open."""
        if self.is_connected:
            self._connection.session.connection_lost(error)

    @property
    def idle_limit(self) -> float | None:
        """Seconds that a tool call waits by default."""
        return self._connection.options.timeouts.tool

    def _full_name(self, method: str, name: str) -> str:
        return self._keeper.full_name(method, name)

    def _request_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None,
        timeout: Seconds,
        max_timeout: Seconds,
        on_progress: ProgressHandler | None,
        meta: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
    ) -> Coroutine[Any, Any, dict[str, Any]]:
        limits = self._connection.options.timeouts.for_call("tools/call", timeout, max_timeout)

        def request(client: ManagedClient, rest: RequestOptions) -> _Answering:
            return super()._request_tool(
                name, arguments, rest.timeout, rest.max_timeout, on_progress, meta, headers
            )

        return self._at_home(self._persistent, name, request, limits)

    async def _persistent(
        self,
        tool: str,
        request: Callable[[ManagedClient, RequestOptions], _Answering],
        limits: RequestOptions,
    ) -> dict[str, Any]:
        """Make a call when there is a connection, and once more if that is safe.

        It is where the call surely did not run, or where running twice does no harm.
        """
        keeper = self._keeper
        time = CallDeadline(self._connection, "tools/call", limits, {"name": tool})
        client, rest = keeper.client, limits
        if not keeper.is_connected:
            client, rest = await self._ready(time, limits)
        try:
            result = await request(client, rest)
        except McpError as error:
            keeper.call_failed(client, error)
            if isinstance(error, ClientClosed) and keeper.loss is not None:
                raise keeper.loss.again() from error  # nobody has closed it but its keeper
            harmless = isinstance(error, ConnectionLost) and keeper.is_repeatable(tool)
            if not did_not_run(error) and not harmless:
                raise
        else:
            keeper.call_answered()
            return result
        client, rest = await self._ready(time, limits)
        try:
            return await request(client, rest)
        except McpError as error:
            keeper.call_failed(client, error)
            raise

    async def _ready(
        self, time: CallDeadline, limits: RequestOptions
    ) -> tuple[ManagedClient, RequestOptions]:
        """Wait for the connection; return its client, and what is left of the call's limits."""
        seconds = limits.timeout or math.inf
        seconds = min(seconds, time.rest_of(limits).max_timeout or math.inf)
        client = await self._keeper.ready(None if seconds == math.inf else seconds)
        return client, time.rest_of(limits)


class _ConnectionNews(Observer):
    """Tells the keeper what happens on the connection."""

    def __init__(self, client: ManagedClient, keeper: Keeper) -> None:
        self._client = client
        self._keeper = keeper

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """A message shows that the server is there."""
        self._keeper.call_answered()

    def connected(self) -> None:
        """Another session may have other tools."""
        self._keeper.renewed(self._client)

    def lost(self, error: McpError) -> None:
        """A session that has expired is renewed by the next call, and is no loss."""
        if not isinstance(error, SessionExpired):
            self._keeper.lost(self._client, error)

    def closed(self) -> None:
        """Somebody wants no connection any more."""
        self._keeper.closed_by_user(self._client)
