"""The client of one server of a manager, its options, and the slots of attempts to connect.

The calls of such a client survive a reconnection.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Callable, TypeVar, cast

from ..client.client import Client
from ..client.connection.call_recovery import CallDeadline
from ..client.connection.keeper import KeptConnection
from ..client.connection.limits import RequestOptions
from ..client.connection.options import EraMemory, Wiring
from ..client.connection.reconnection import NEXT_STEPS, Status
from ..client.connection.target_names import runs_here
from ..client.connection.targets import Target
from ..config.config import ServerConfig
from ..errors import ServerUnavailable, UsageError
from ..errors.authorization import AuthorizationRequired
from ..gate.gate import strict_sandbox
from ..net.futures import LoopBound, in_slices
from ..net.network_options import Negotiate
from ..protocol.types import Tool
from ..transports.base import Transport

if TYPE_CHECKING:
    from ..client.connection.client_options import ClientOptions, QueryOptions
    from ..typing_compat import Unpack
    from .server import Server

T = TypeVar("T")


class ManagedClient(Client):
    """A `Client` whose tool calls wait for a connection that is being made.

    ``home``: where the manager lives. ``eras``: the memory that its clients share.
    """

    def __init__(
        self,
        target: Target,
        server: Server,
        home: LoopBound,
        options: ClientOptions,
        eras: EraMemory,
        wiring: Wiring,
    ) -> None:
        self._eras = eras
        given: dict[str, Any] = {**options, "_wiring": wiring}
        super().__init__(target, **given)
        self._shares_batches = False  # each call waits for its connection, and may be repeated
        self._server = server
        self._home = home
        self._connection.keeper = server
        self._connection.observers.append(KeptConnection(server, self))

    async def connect(self) -> ManagedClient:
        """Have the manager connect the server, as `Manager.connect` does.

        Returns its client, a new one where its configuration has changed. Raises why it
        is not connected.
        """
        await self._server.connect()
        if not self._server.is_connected:
            raise self._server.unavailable()
        return self._server.client

    async def list_tools(self, **options: Unpack[QueryOptions]) -> list[Tool]:
        """Return the tools as `Client.list_tools` does, but those that the manager hands on."""
        listed = await self.list_all_tools(**options)
        raws = [tool.raw for tool in listed]
        kept = await in_slices(self._server.handed_on(raws))
        return listed if kept is raws else [Tool(raw) for raw in kept]

    async def list_all_tools(self, **options: Unpack[QueryOptions]) -> list[Tool]:
        """Return the tools as the server lists them."""
        return await super().list_tools(**options)

    async def open(self) -> None:
        """Open the connection; only `Server` calls this, once the server may start."""
        await super().connect()

    def _full_name(self, method: str, name: str) -> str:
        return self._server.full_name(method, name)

    def _request_tool(self, *asked: Any) -> Coroutine[Any, Any, dict[str, Any]]:
        return self._home.run(self._persistent, *asked)

    def _persistent(
        self, tool: str, arguments: Any, limits: RequestOptions, *others: Any
    ) -> Coroutine[Any, Any, dict[str, Any]]:
        server = self._server

        def send(rest: RequestOptions) -> Coroutine[Any, Any, dict[str, Any]]:
            return Client._request_tool(server.client, tool, arguments, rest, *others)

        time = CallDeadline(self._connection, "tools/call", limits, {"name": tool})
        return server.call(time, send, lambda: server.is_repeatable(tool))


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
    options.pop("reconnect", None)  # the server is its keeper
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
    first, second = [{**vars(each), "decision": ""} for each in (one, other)]
    return first == second or (one.target == other.target and _plain(first) == _plain(second))


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
