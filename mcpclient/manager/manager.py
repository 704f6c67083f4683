"""Many servers as one: connected side by side, kept connected, their tools in one list."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Callable, Literal, Union

from ..client.client import Client
from ..client.connection.option_kinds import (
    ANY,
    CLIENT_OPTIONS,
    COUNT,
    FLAG,
    MAPPING,
    NUMBER,
    PATH,
    Kind,
    any_of,
    check_options,
    function_of,
    object_of,
    one_of,
)
from ..client.connection.options import Wiring
from ..client.connection.reconnection import Reconnect, Status
from ..client.connection.targets import Target
from ..config.config import Config, Problem, ServerConfig
from ..entries.fields import Naming
from ..errors import ClientClosed, ConnectionLost, McpError, ServersFailed, UsageError
from ..gate.gate import Approvals
from ..net.futures import LoopBound, cancel_all, claiming
from ..protocol.tool_search import search_tools
from ..suggestions import there_is_no
from .calls import Calls
from .events import Events, EventStream, ManagerEvent
from .fleet import Changes, Fleet, require_servers
from .managed_client import Slots
from .naming import ToolNames
from .pins import Pins
from .server import Server
from .tools import Catalog, ManagedTool, ToolList

if TYPE_CHECKING:
    from ..adapters.model_api import Provider
    from ..adapters.toolbox import Toolbox, ToolboxOptions
    from ..client.connection.client_options import ClientOptions
    from ..config.policy.policy import Policy
    from ..entries.variables import InputsOption
    from ..typing_compat import Unpack

_CLOSE_SECONDS = 5.0
_EVENT_SECONDS = 1.0

_NAMES = Kind("", lambda value: isinstance(value, Collection) and not isinstance(value, str))
_OPTIONS: Mapping[str, Kind] = {
    "naming": ANY,
    "name_limit": COUNT.required(),
    "required": any_of("True, False or a list of names", FLAG, _NAMES),
    "wait": any_of('"all", "none" or a number of seconds', one_of("all", "none"), NUMBER),
    "lazy": FLAG,
    "memory": PATH,
    "pins": object_of("Pins"),
    "policy": object_of("Policy"),
    "approvals": object_of("Approvals"),
    "inputs": any_of("a mapping or a function of an InputSpec", MAPPING, function_of(1, "")),
    "auto_refresh": FLAG,
    "on_event": function_of(1, "a function of a ManagerEvent"),
}

Servers = Union[
    Mapping[str, Union[Target, ServerConfig]], Config, Iterable[Target], str, "os.PathLike[str]"
]
"""Servers by name, a loaded configuration, a list of targets, or the path of a file."""


class _Lock(asyncio.Lock):
    """A lock that can be released after its event loop: who waited for it has ended with it."""

    def release(self) -> None:
        with suppress(RuntimeError):
            super().release()


class Manager(Calls):
    """The servers of an agent.

    ``async with Manager(servers, …) as manager`` connects and closes; so do ``manager = await
    Manager(servers, …)`` and ``await manager.close()``. `mcpclient.connect_all` is this class.

    ``servers``: a mapping of names to targets (see `Client`) or `ServerConfig`; a `Config`; a list
    of targets, named after their hosts and commands; the path of a configuration file; None: the
    files that hold for this folder, see `load_config`.

    - ``naming``: how tools are named: ``"server__tool"``, ``"mcp__server__tool"``,
      ``"server_tool"``, ``"tool"``, or a function of both names. ``name_limit``: the longest name
      (64, as most providers of models have it). See `ToolNames`.
    - ``wait``: ``"all"``: until every server is connected or has failed; a number: seconds after
      which those that are there will do, and the rest arrive as events; ``"none"``: do not wait.
    - ``required``: names of servers, or True for all: one that is not connected then is an error,
      and with True so is every error among ``problems``.
    - ``lazy``: servers whose tools are remembered from an earlier run are connected at the first
      call only. ``memory``: the file that remembers (by default ``tools.json`` in the state folder
      of this user); without ``lazy`` nothing is remembered unless this is given.
    - ``pins``: a lock file of tool definitions, see `Pins`. ``policy``: which servers are allowed.
      ``approvals``, ``inputs``: for servers of files, see `load_config`.
    - ``reconnect``: how lost servers are brought back, by default ``Reconnect()``; None: they are
      not. ``auto_refresh``: list the tools again when a server says that they have changed (True).
    - ``on_event``: takes each `ManagerEvent`, in order; plain or async.
    - ``client_options``: the options of `Client`, for every server; one that means nothing for a
      server, such as ``env`` for a URL, is left out there. Handlers see the server's name. In
      files, ``${NAME}`` is looked up in ``env`` first, and then in this process's environment.

    Sixteen server processes for each processor are started in 0.3 seconds, and twenty remote
    servers are connected at the same time; ``MCP_SERVER_CONNECTION_BATCH_SIZE`` and
    ``MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE`` in the environment say otherwise.

    A manager lives in the event loop that opens it, until it is closed or that loop stops. It may
    be used, and closed, from other event loops and threads. Raises `UsageError` for arguments that
    make no sense, and for a file that was named and has no server that can be used.
    """

    def __init__(
        self,
        servers: Servers | None = None,
        *,
        naming: Naming = "server__tool",
        name_limit: int = 64,
        required: Collection[str] | bool = (),
        wait: Literal["all", "none"] | float = "all",
        lazy: bool = False,
        memory: str | os.PathLike[str] | None = None,
        pins: Pins | None = None,
        policy: Policy | None = None,
        approvals: Approvals | None = None,
        inputs: InputsOption = None,
        auto_refresh: bool = True,
        on_event: Callable[[ManagerEvent], Any] | None = None,
        **client_options: Unpack[ClientOptions],
    ) -> None:
        own = {
            **{"naming": naming, "name_limit": name_limit, "required": required, "wait": wait},
            **{"lazy": lazy, "memory": memory, "pins": pins, "policy": policy, "inputs": inputs},
            **{"approvals": approvals, "auto_refresh": auto_refresh},
        }
        given = {**own, "on_event": on_event, **client_options}
        check_options(given, {**_OPTIONS, **CLIENT_OPTIONS})
        if servers is None or isinstance(servers, (str, os.PathLike)):
            env, is_named = {**os.environ, **(client_options.get("env") or {})}, servers is not None
            from ..gate.load import load_config

            servers = load_config(
                servers, env=env, inputs=inputs, policy=policy, approvals=approvals
            )
            if is_named:
                require_servers(servers, strictly=required is True)
        elif approvals is not None or inputs is not None:
            raise UsageError(
                "approvals and inputs are for files: give these servers to load_config() with them"
            )
        self._wait, self._required = wait, required
        self._lock: _Lock  # of the loop that has the manager; one open() or close() at a time
        self._changing = 0  # open() and close() that are under way, in any event loop
        self._is_wanted = self._is_open = self._was_open = False
        self._home = LoopBound()
        self._home.kind = "manager"
        self._events = Events(on_event, self._home)
        self._catalog = Catalog(ToolNames(naming, name_limit), self._events.tell)
        fleet = self._fleet = Fleet(
            servers,
            policy,
            self._home,
            self._catalog,
            self._events,
            self._require_open,
            options=client_options,
            reconnect=client_options.get("reconnect", Reconnect()),
            pins=pins,
            auto_refresh=auto_refresh,
            lazy=lazy,
            memory_file=memory,
        )
        self._servers = fleet.servers
        self._uris = {}
        fleet.require_known(() if isinstance(required, bool) else required)

    # Connecting and closing

    async def open(self) -> Manager:
        """Connect the servers, as far as ``wait`` says. Idempotent; tasks may share one opening.

        Raises `ServersFailed` when one that is required is not connected; then all are closed.
        Raises `ClientClosed` when the manager is closed meanwhile.
        """
        with claiming:
            is_used = self._is_wanted or self._is_open or self._changing
            if self._home.claim(is_free=not is_used):
                self._abort()  # the leftovers of an event loop that has stopped
                self._lock = _Lock()  # that loop may hold the other for ever
            self._is_wanted = True
            self._changing += 1
        try:
            await self._home.run(self._open)
        finally:
            with claiming:
                self._changing -= 1
        return self

    async def _open(self) -> None:
        async with self._lock:
            self._require_wanted()  # it may have been closed while this waited
            if self._is_open:
                return
            wrong = [each for each in self.problems if each.is_error]
            if self._required is True and wrong:
                raise ServersFailed(
                    {each.server or each.file: UsageError(str(each)) for each in wrong}
                )
            self._fleet.slots = Slots(os.environ)
            self._is_open = self._was_open = True
            self._events.open()
            try:
                self._fleet.open()
                for server in self._servers.values():
                    server.start()
                await self._await_attempts()
                self._require_wanted()
                self._catalog.names.settle()
                self._check_required()
            except BaseException:
                await self._shut_down()
                raise

    def _require_wanted(self) -> None:
        if not self._is_wanted:
            raise ClientClosed("the manager was closed while it was being opened")

    async def _await_attempts(self) -> None:
        if self._wait == "none":
            return
        waits = [asyncio.ensure_future(each.settled()) for each in self._servers.values()]
        limit = None if isinstance(self._wait, str) else self._wait
        try:
            if waits:
                await asyncio.wait(waits, timeout=limit)
        finally:
            await cancel_all(waits)

    def _check_required(self) -> None:
        required = self._servers if self._required is True else self._required or ()
        good = (Status.CONNECTED, Status.DEFERRED)
        reasons: dict[str, McpError] = {}
        for name in required:
            if self._servers[name].status not in good:
                why = self._servers[name].unavailable()
                reasons[name] = why if isinstance(why, McpError) else UsageError(f"{name}: {why!r}")
        if reasons:
            raise ServersFailed(reasons)

    async def close(self) -> None:
        """Disconnect every server, within 5 seconds however many there are. Idempotent.

        Events of closing are delivered before it returns. Calls that wait for an answer raise
        `ClientClosed`, and those that wait for a connection `ServerUnavailable`. Works from any
        task, event loop and thread. Cancelling it aborts the rest at once.
        """
        if self._home.loop is None or self._home.is_inherited:
            return
        with claiming:
            self._is_wanted = False
            self._changing += 1
        try:
            await self._home.run(self._close)
        except ConnectionLost:  # its event loop has stopped
            self._abort()
        finally:
            with claiming:
                self._changing -= 1

    async def _close(self) -> None:
        for server in self._servers.values():
            server.forgo()  # so that every waiting call ends, and an open() as well
        async with self._lock:
            if self._is_open:
                await self._shut_down()

    def _abort(self) -> None:
        """Free everything without waiting, where the event loop it lived in has stopped."""
        self._is_wanted = self._is_open = False
        for server in self._servers.values():
            server.abort()

    async def _shut_down(self) -> None:
        self._is_open = False
        servers = list(self._servers.values())
        closing = [asyncio.ensure_future(self._fleet.save_memory())]
        closing += [asyncio.ensure_future(server.end()) for server in servers]
        try:
            _, late = await asyncio.wait(closing, timeout=_CLOSE_SECONDS)
            for each in late:
                each.cancel()
        finally:
            for server in servers:
                server.abort()
            await self._events.close(_EVENT_SECONDS)

    def __await__(self) -> Generator[Any, None, Manager]:
        return self.open().__await__()

    async def __aenter__(self) -> Manager:
        return await self.open()

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def _require_closed(self) -> None:
        """Raise `UsageError` if it is open."""
        if self._is_wanted or self._is_open:
            raise UsageError(
                "a manager that is bridged must not be open: it is opened once the host has said "
                "what it is able to do"
            )

    def _serve(self, wiring_of: Callable[[str], Wiring], client_info: object) -> None:
        """Let the servers serve another client: for code in this package, before `open`.

        ``wiring_of`` returns the wiring of the client of each server, by its name;
        ``client_info``: what that client calls itself, if anything. Opening does not wait then, and
        no server is required. Raises `UsageError` for a manager that is open.
        """
        self._require_closed()
        self._wait, self._required = "none", ()
        self._fleet.wiring_of = wiring_of
        if isinstance(client_info, dict):
            self._fleet.options = {**self._fleet.options, "client_info": client_info}

    # Servers and tools

    @property
    def servers(self) -> Mapping[str, Server]:
        """The servers by name, in the order of the configuration; always as of now."""
        return MappingProxyType(self._servers)

    @property
    def tools(self) -> ToolList:
        """The tools of all servers: one list object, replaced in place when they change."""
        return self._catalog.tools

    @property
    def problems(self) -> list[Problem]:
        """Mistakes in the configuration, and tools that are repeated or not as locked.

        Each is also logged, once, as a warning.
        """
        pins, problems = self._fleet.pins, [*self._fleet.config.problems]
        for server in self._servers.values():
            file = os.fspath(pins.path) if pins else server.config.source
            problems += [
                Problem("warning", str(each), file, server=server.name, hint=each.hint)
                for each in server.mismatches
            ]
        return problems

    def __getitem__(self, name: str) -> Client:
        """Return the client of a server. Raises `UsageError` for an unknown name."""
        return self._server(name).client

    def events(self) -> EventStream:
        """Return the events from now on, as an async iterator that ends with the manager.

        Each event goes to every stream, and in a stream that several tasks read, to one of them.
        """
        return self._events.stream()

    def instructions(self) -> str:
        """Return the instructions of the connected servers, under headings, for a system prompt.

        Every line of a server's is quoted (``> ``), so that none passes for another's heading.
        """
        sections = (each._section for each in self._servers.values() if each.is_connected)
        return "\n\n".join(filter(None, sections))

    def search_tools(self, query: str, *, limit: int = 5) -> list[ManagedTool]:
        """Return the tools that fit a few words best, at most ``limit`` of them."""
        return search_tools(query, self.tools, limit=limit)

    # Other servers

    def toolbox(self, provider: str | Provider, **options: Unpack[ToolboxOptions]) -> Toolbox:
        """Return the tools of all servers for one model API, as `Client.toolbox` does."""
        from ..adapters.toolbox import Toolbox

        source: Any = self  # its methods take more than a toolbox gives them
        return Toolbox(source, provider, **options)

    async def add(self, name: str, server: Target | ServerConfig) -> Server:
        """Add a server and connect it; one of the same name is closed first.

        The same name with the same configuration is the same connection. How it went is in
        `Server.status`. Raises `UsageError`.
        """
        return await self._home.run(self._fleet.add, name, server)

    async def connect(self, name: str) -> Server:
        """Connect a server, also one that is disabled, has failed, or needed a login.

        How it went is in `Server.status`. Raises `UsageError` for an unknown name.
        """
        server = self._server(name)
        await server.connect()
        return server

    async def disconnect(self, name: str) -> None:
        """Close the connection of a server; its status is ``closed`` and its tools are gone."""
        await self._server(name).disconnect()

    async def remove(self, name: str) -> None:
        """Close a server and forget about it. Its tools' names stay reserved for it."""
        await self._home.run(self._fleet.drop, self._server(name))

    async def reload(self, config: Config | None = None) -> Changes:
        """Apply another configuration, by default the present content of the files.

        Only what has changed is touched: other servers keep their connections. Servers that were
        made in code stay as they are. Raises `UsageError` when none came from a file and there is
        no ``config``.
        """
        self._require_open()
        return await self._home.run(self._fleet.reload, config, self._lock)

    def lock(self, pins: Pins) -> None:
        """Write the tools of every connected server into a lock file. Raises `OSError`."""
        connected = [each for each in self._servers.values() if each.is_connected]
        pins.write({server.name: server.to_pin() for server in connected})

    def _server(self, name: str) -> Server:
        self._require_open()
        if name not in self._servers:
            raise UsageError(there_is_no("server", name, self._servers))
        return self._servers[name]

    def _require_open(self) -> None:
        if self._is_open and self._is_wanted:
            return
        if self._was_open:
            raise ClientClosed("the manager is closed; open it again to make calls")
        raise UsageError("the manager is not open: use it in `async with`, or await it")


connect_all = Manager
"""Connect to many servers: ``async with connect_all(servers) as manager``. See `Manager`."""
