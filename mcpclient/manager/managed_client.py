"""The client of one server of a manager, its options, and the slots of attempts to connect.

The calls of such a client survive a reconnection.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Awaitable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Callable, TypeVar, cast

from ..client.client import Client
from ..client.connection.call_recovery import CallDeadline
from ..client.connection.limits import RequestOptions
from ..client.connection.options import EraMemory
from ..client.connection.targets import Target, runs_here
from ..client.events.callbacks import Observer
from ..config.config import ServerConfig
from ..errors import (
    AuthorizationRequired,
    ClientClosed,
    ConnectionLost,
    McpError,
    ServerUnavailable,
    SessionExpired,
    UsageError,
)
from ..gate.gate import strict_sandbox
from ..net.futures import LoopBound
from ..net.network_options import Negotiate
from ..protocol.types import Tool
from ..transports.base import Transport
from .machine import NEXT_STEPS, Status, did_not_run

if TYPE_CHECKING:
    from ..client.connection.client_options import ClientOptions, QueryOptions
    from ..typing_compat import Unpack
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

    async def connect(self) -> ManagedClient:
        """Have the manager connect the server, as `Manager.connect` does.

        Returns its client, which is another one where its configuration has changed. Raises why it
        is not connected.
        """
        await self._server.connect()
        if not self._server.is_connected:
            raise self._server.unavailable()
        return self._server.client

    async def list_tools(self, **options: Unpack[QueryOptions]) -> list[Tool]:
        """Return the tools as `Client.list_tools` does, but those that the manager hands on."""
        listed = await self.list_all_tools(**options)
        return [Tool(raw) for raw in self._server.handed_on([tool.raw for tool in listed])]

    async def list_all_tools(self, **options: Unpack[QueryOptions]) -> list[Tool]:
        """Return the tools as the server lists them."""
        return await super().list_tools(**options)

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

    def _request_tool(self, *asked: Any) -> Coroutine[Any, Any, dict[str, Any]]:
        return self._in_owner_loop(self._persistent, *asked)

    async def _persistent(
        self, tool: str, arguments: Any, limits: RequestOptions, *others: Any
    ) -> dict[str, Any]:
        """Make a call when there is a connection, and once more if that is safe.

        It is where the call surely did not run, or where running twice does no harm.
        """
        server = self._server
        time = CallDeadline(self._connection, "tools/call", limits, {"name": tool})
        client, rest, is_repeated = server.client, limits, False
        while True:
            if is_repeated or not server.is_connected:
                client, rest = await self._ready(time, limits)
            try:
                request = super(ManagedClient, client)._request_tool
                result = await request(tool, arguments, rest, *others)
            except McpError as error:
                server.call_failed(client, error)
                if is_repeated:
                    raise
                if isinstance(error, ClientClosed) and server.loss is not None:
                    raise server.loss.again() from error  # the manager closed it, not the caller
                harmless = isinstance(error, ConnectionLost) and server.is_repeatable(tool)
                if not did_not_run(error) and not harmless:
                    raise
                is_repeated = True
            else:
                if not is_repeated:  # otherwise, the connection has just been made
                    server.call_answered()
                return result

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
    """Raise `AuthorizationRequired` if a login is known to be needed, unless the user asks."""
    if not isinstance(target, str) or auth is None or isinstance(auth, (str, Negotiate)):
        return
    from ..auth.options import OAuth
    from ..net.login.authentication import awaits_login, expect_login

    if not isinstance(auth, OAuth):
        return
    if is_asked_for:
        await expect_login(target, auth)
    elif await awaits_login(target, auth):
        raise AuthorizationRequired(target)


# Options of the clients

# Shared options that do not apply to a server are left out for it.
_FOR_URLS: tuple[str, ...] = ("auth", "headers")
_FOR_PROCESSES = ("env", "cwd", "sandbox")


def options_for(server: ServerConfig, shared: Mapping[str, Any]) -> ClientOptions:
    """Return the options of a server's client. The server's own count more than the shared ones."""
    options = {**shared}
    useless = _FOR_URLS if runs_here(server.target) else _FOR_PROCESSES
    if isinstance(server.target, Transport):
        useless = (*_FOR_URLS, *_FOR_PROCESSES)
    for name in useless:
        options.pop(name, None)
    common = options.get("sandbox")
    options.update(server.options)
    own, common_limits = server.options.get("limits"), shared.get("limits")
    if own is not None and common_limits is not None:  # an entry can only be stricter
        options["limits"] = own.within(common_limits)
    if shared.get("audit") is not None:
        options["audit"] = (shared["audit"], server.options.get("audit"))
    if options.get("sandbox") == "required":  # by a policy, which any sandbox satisfies
        options["sandbox"] = strict_sandbox(common)
    elif common == "required":
        options["sandbox"] = strict_sandbox(options["sandbox"])
    options["name"] = server.name
    options["trusted"] = server.trusted or bool(options.get("trusted"))
    return cast("ClientOptions", options)


def refusal_of(config: ServerConfig) -> ServerUnavailable | None:
    """Return why a server may not be connected, None where it may."""
    if config.state == "ready":
        return None
    reason = config.reason or NEXT_STEPS[Status(config.state)]
    return ServerUnavailable(config.name, config.state, reason)


def same_server(one: ServerConfig, other: ServerConfig) -> bool:
    """Whether two configurations make the same connection, variables put in."""
    facts = [{**vars(each), "decision": ""} for each in (one, other)]
    return one.target == other.target and _plain(facts[0]) == _plain(facts[1])


def _plain(value: object) -> object:
    """Return a value that can be compared; an object, such as a login, counts as its kind."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float, bytes)):
        return value
    return value if type(value).__eq__ is not object.__eq__ else type(value)


# The most seconds for which a slot is held. A process needs the processor while it starts; then it
# may wait for something else, and the next can start. Dead remote servers delay no others.
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
        most = _LOCAL_PER_PROCESSOR * (os.cpu_count() or 1)
        local = _size(environ, "MCP_SERVER_CONNECTION_BATCH_SIZE", most)
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
