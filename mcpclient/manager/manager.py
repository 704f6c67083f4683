"""Many servers as one: connected side by side, kept connected, their tools in one list."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Callable, Literal, Union

from ..client.client import Client
from ..client.connection.options import OPTION_NAMES, check_names
from ..client.connection.targets import Target
from ..config.config import Config, Problem, ServerConfig
from ..config.policy.policy import Policy
from ..entries.fields import Naming
from ..entries.variables import InputsOption
from ..errors import (
    ClientClosed,
    ConnectionLost,
    McpError,
    ServersFailed,
    UsageError,
)
from ..framing.logs import logger_for
from ..gate.gate import Approvals, Gate
from ..gate.load import load_config
from ..lazy import OnDemand
from ..net.loops import LoopBound, claiming
from ..protocol.tool_search import search_tools
from ..suggestions import there_is_no
from .calls import Calls
from .configured import Changes, Shared, Slots, compare_servers, configured_servers, same_server
from .events import Events, EventStream, ManagerEvent
from .machine import Reconnect, Status
from .memory import Memory, memory_key
from .naming import ToolNames
from .pins import Pins
from .server import Server
from .tools import Catalog, ManagedTool, ToolList

if TYPE_CHECKING:
    from ..adapters import toolbox as toolboxes
    from ..adapters.providers import Provider
    from ..client.connection.client_options import ClientOptions
    from ..typing_compat import Unpack
else:
    toolboxes = OnDemand("..adapters.toolbox", __name__)

_logger = logger_for("mcpclient.manager")

_CLOSE_SECONDS = 5.0
_EVENT_SECONDS = 1.0

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
    - ``required``: names of servers, or True for all: one that is not connected then is an error.
    - ``lazy``: servers whose tools are remembered from an earlier run are connected at the first
      call only. ``memory``: the file that remembers (by default ``tools.json`` in the state folder
      of this user); without ``lazy`` nothing is remembered unless this is given.
    - ``pins``: a lock file of tool definitions, see `Pins`. ``policy``: which servers are allowed.
      ``approvals``, ``inputs``: for servers of files, see `load_config`.
    - ``reconnect``: how lost servers are brought back, see `Reconnect`; None: they are not.
      ``auto_refresh``: list the tools again when a server says that they have changed (True).
    - ``on_event``: takes each `ManagerEvent`, in order; plain or async.
    - ``client_options``: the options of `Client`, for every server; one that means nothing for a
      server, such as ``env`` for a URL, is left out there. Handlers see the server's name. In
      files, ``${NAME}`` is looked up in ``env`` first, and then in this process's environment.

    Sixteen server processes for each processor are started in 0.3 seconds, and twenty remote
    servers are connected at the same time; ``MCP_SERVER_CONNECTION_BATCH_SIZE`` and
    ``MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE`` in the environment say otherwise.

    A manager lives in the event loop that opens it, until it is closed or that loop stops. It may
    be used, and closed, from other event loops and threads. Raises `UsageError` for arguments that
    make no sense.
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
        reconnect: Reconnect | None = Reconnect(),  # noqa: B008 - it is a constant
        auto_refresh: bool = True,
        on_event: Callable[[ManagerEvent], Any] | None = None,
        **client_options: Unpack[ClientOptions],
    ) -> None:
        check_names(client_options, OPTION_NAMES)
        if isinstance(wait, str) and wait not in ("all", "none"):
            raise UsageError(f'wait is "all", "none" or a number of seconds, not {wait!r}')
        if isinstance(required, str):
            raise UsageError(f"required is a list: write required=[{required!r}]")
        if servers is None or isinstance(servers, (str, os.PathLike)):
            env = {**os.environ, **(client_options.get("env") or {})}
            servers = load_config(
                servers, env=env, inputs=inputs, policy=policy, approvals=approvals
            )
        elif approvals is not None or inputs is not None:
            raise UsageError(
                "approvals and inputs are for files: give these servers to load_config() with them"
            )
        self._pins, self._gate = pins, Gate(policy)
        self._config = servers if isinstance(servers, Config) else Config()
        self._configs = configured_servers(servers, self._gate)
        self._lazy, self._wait, self._required = lazy, wait, required
        self._home = LoopBound()
        self._home.kind = "manager"
        self._events = Events(on_event, self._home)
        self._names = ToolNames(naming, name_limit)
        for server in self._configs.values():
            self._names.add_server(server.name, server.naming)
        self._catalog = Catalog(self._names, self._events.tell)
        self._memory = Memory(memory) if memory is not None or self._is_lazy else None
        self._make_shared = partial(
            Shared,
            home=self._home,
            options=client_options,
            catalog=self._catalog,
            events=self._events,
            reconnect=reconnect,
            admit=self._admit,
            pins=pins,
            memory=self._memory,
            auto_refresh=auto_refresh,
        )
        self._shared: Shared | None = None
        self._servers: dict[str, Server] = {}
        self._uris = {}
        self._lock: _Lock | None = None  # one opens or closes at a time
        self._is_wanted = False  # from the first open() on, until close()
        self._changing = 0  # how many open() and close() are under way, in any event loop
        self._is_open = False
        self._require_known()

    @property
    def _is_lazy(self) -> bool:
        return self._lazy or any(config.lazy for config in self._configs.values())

    def _require_known(self) -> None:
        if not isinstance(self._required, bool):
            for name in self._required:
                if name not in self._configs:
                    raise UsageError(there_is_no("server", name, self._configs))

    # Connecting and closing

    async def open(self) -> Manager:
        """Connect the servers, as far as ``wait`` says. Idempotent; tasks may share one opening.

        Raises `ServersFailed` when one that is required is not connected; then all are closed.
        Raises `ClientClosed` when the manager is closed meanwhile.
        """
        with claiming:
            in_use = self._is_wanted or self._is_open or self._changing
            if self._home.claim(is_free=not in_use and not self._is_locked):
                self._abort()  # the leftovers of an event loop that has stopped
                self._lock = _Lock()
            self._is_wanted = True
            self._changing += 1
        try:
            await self._home.run(self._open)
        finally:
            with claiming:
                self._changing -= 1
        return self

    @property
    def _is_locked(self) -> bool:
        return self._lock is not None and self._lock.locked()

    async def _open(self) -> None:
        assert self._lock is not None
        async with self._lock:
            self._require_wanted()  # it may have been closed while this waited
            if self._is_open:
                return
            self._shared = self._make_shared(slots=Slots(os.environ))
            self._is_open = True
            self._events.open()
            try:
                self._servers.update(
                    (name, Server(config, self._shared)) for name, config in self._configs.items()
                )
                self._recall(self._servers.values())
                for server in self._servers.values():
                    server.start()
                await self._await_attempts()
                self._require_wanted()
                self._names.settle()
                self._check_required()
            except BaseException:
                await self._shut_down()
                raise

    def _require_wanted(self) -> None:
        if not self._is_wanted:
            raise ClientClosed("the manager was closed while it was being opened")

    def _recall(self, servers: Iterable[Server]) -> None:
        """Restore the remembered tools of servers, and reserve the prefixes of their names."""
        remembered = {} if self._memory is None else self._memory.recall()
        found = {server: remembered.get(memory_key(server.config)) for server in servers}
        for server, each in found.items():
            if each is not None:
                self._names.recall(server.name, each.names)
        self._names.reserve(self._standing)
        for server, each in found.items():
            if each is not None:
                server.remember(each, defer=self._lazy or server.config.lazy)
        self._names.hold()

    def _standing(self, name: str) -> tuple[bool, bool]:
        """Return the rank of a server among those that would have the same names."""
        config = self._configs[name]
        return config.state != "ready", config.scope == "project"

    async def _await_attempts(self) -> None:
        """Wait for the attempts as long as the caller wants to."""
        if self._wait == "none":
            return
        waits = [asyncio.ensure_future(each.settled()) for each in self._servers.values()]
        limit = None if isinstance(self._wait, str) else self._wait
        try:
            if waits:
                await asyncio.wait(waits, timeout=limit)
        finally:
            for task in waits:
                task.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    def _check_required(self) -> None:
        required = self._servers if self._required is True else self._required or ()
        good = (Status.CONNECTED, Status.DEFERRED)
        failures = {
            name: _as_mcp_error(self._servers[name])
            for name in required
            if self._servers[name].status not in good
        }
        if failures:
            raise ServersFailed(failures)

    async def close(self) -> None:
        """Disconnect every server, within 5 seconds however many there are. Idempotent.

        Events of closing are delivered before it returns. Calls that wait for an answer raise
        `ClientClosed`, and those that wait for a connection `ServerUnavailable`. Works from any
        task, event loop and thread. Cancelling it aborts what is left at once.
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
        assert self._lock is not None
        for server in self._servers.values():
            server.forgo()  # so that nobody waits for it any more, and an open() that does ends
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
        closing = [asyncio.ensure_future(server.end()) for server in servers]
        if self._memory is not None:
            for server in servers:
                names = self._names.to_record(server.name)
                self._memory.note_names(memory_key(server.config), names)
            closing.append(asyncio.ensure_future(_save(self._memory)))
        try:
            if closing:
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
        """Mistakes in the configuration, and tools that are repeated or not as locked."""
        return [
            *self._config.problems,
            *(
                Problem(
                    "warning",
                    str(mismatch),
                    os.fspath(self._pins.path) if self._pins else server.config.source,
                    server=server.name,
                    hint=mismatch.hint,
                )
                for server in self._servers.values()
                for mismatch in server.mismatches
            ),
        ]

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
        return "\n\n".join(
            f"## {' '.join(server.name.split())}\n\n{_quoted(server.instructions.strip())}"
            for server in self._servers.values()
            if server.is_connected and server.instructions.strip()
        )

    def search_tools(self, query: str, *, limit: int = 5) -> list[ManagedTool]:
        """Return the tools that fit a few words best, at most ``limit`` of them."""
        return search_tools(query, self.tools, limit=limit)

    # Other servers

    def toolbox(
        self, provider: str | Provider, **options: Unpack[toolboxes.ToolboxOptions]
    ) -> toolboxes.Toolbox:
        """Return the tools of all servers for one model API, as `Client.toolbox` does."""
        source: Any = self  # its methods take more than a toolbox gives them
        return toolboxes.Toolbox(source, provider, **options)

    async def add(self, name: str, server: Target | ServerConfig) -> Server:
        """Add a server and connect it; one of the same name is closed first.

        The same name with the same configuration is the same connection. How it went is in
        `Server.status`. Raises `UsageError`.
        """
        return await self._home.run(self._add, name, server)

    async def _add(self, name: str, server: Target | ServerConfig) -> Server:
        self._require_open()
        config = configured_servers({name: server}, self._gate)[name]
        while (before := self._servers.get(name)) is not None:
            if same_server(before.config, config) and not before.is_over:
                await before.connect()
                if not before.is_over:  # it may have been removed meanwhile
                    return before
            await self._drop(before)  # meanwhile, another of this name may have been added
        self._require_open()
        added = self._make(config)
        added.start()
        await added.settled()
        self._names.settle()
        return added

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
        await self._home.run(self._drop, self._server(name))

    async def _drop(self, server: Server) -> None:
        await server.end()
        if self._servers.get(server.name) is server:
            self._catalog.update(server, ())
            del self._servers[server.name]
            self._configs.pop(server.name, None)

    async def reload(self, config: Config | None = None) -> Changes:
        """Apply another configuration, by default the present content of the files.

        Only what has changed is touched: other servers keep their connections. Servers that were
        made in code stay as they are. Raises `UsageError` when none came from a file and there is
        no ``config``.
        """
        return await self._home.run(self._reload, config)

    async def _reload(self, config: Config | None) -> Changes:
        self._require_open()
        assert self._lock is not None
        async with self._lock:  # else two that change the same servers would mix
            self._require_open()
            after = await self._read_again() if config is None else self._take(config)
            before = {name: server.config for name, server in self._servers.items()}
            changes = compare_servers(before, after)
            gone = [self._servers[name] for name in (*changes.removed, *changes.changed)]
            await asyncio.gather(*(self._drop(server) for server in gone))
            self._require_open()
            new = [name for name in (*changes.added, *changes.changed) if name not in self._servers]
            made = [self._make(after[name]) for name in new]
            for server in made:
                server.start()
            for name in after:  # in the order of the file; `servers` shows this very mapping
                if name in self._servers:
                    self._servers[name] = self._servers.pop(name)
        await asyncio.gather(*(server.settled() for server in made))
        self._names.settle()
        return changes

    def _make(self, config: ServerConfig) -> Server:
        assert self._shared is not None
        self._names.add_server(config.name, config.naming)
        self._configs[config.name] = config
        made = self._servers[config.name] = Server(config, self._shared)
        self._recall([made])
        return made

    def lock(self, pins: Pins) -> None:
        """Write the tools of every connected server into a lock file. Raises `OSError`."""
        pins.write(
            {
                server.name: server.to_pin()
                for server in self._servers.values()
                if server.is_connected
            }
        )

    def _take(self, config: Config) -> dict[str, ServerConfig]:
        after = configured_servers(config, self._gate)
        self._config = config
        return after

    async def _read_again(self) -> dict[str, ServerConfig]:
        """Return the servers as their files have them now."""
        if self._config.load_again is not None:
            load = self._config.load_again
            return self._take(await asyncio.get_running_loop().run_in_executor(None, load))
        before = {name: server.config for name, server in self._servers.items()}
        if not any(each.judge_again for each in before.values()):
            raise UsageError("these servers came from no file: give reload() a Config")
        return {name: await self._admit(each, as_it_is=True) for name, each in before.items()}

    async def _admit(
        self, server: ServerConfig, switched_on: bool = False, *, as_it_is: bool = False
    ) -> ServerConfig:
        admit = partial(self._gate.admit, server, switched_on=switched_on, as_it_is=as_it_is)
        if server.judge_again is None:  # no file is read
            return admit()
        return await asyncio.get_running_loop().run_in_executor(None, admit)

    def _server(self, name: str) -> Server:
        self._require_open()
        if name not in self._servers:
            raise UsageError(there_is_no("server", name, self._servers))
        return self._servers[name]

    def _require_open(self) -> None:
        if self._is_open and self._is_wanted:
            return
        if self._shared is not None:
            raise ClientClosed("the manager is closed; open it again to make calls")
        raise UsageError("the manager is not open: use it in `async with`, or await it")


connect_all = Manager
"""Connect to many servers: ``async with connect_all(servers) as manager``. See `Manager`."""


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _as_mcp_error(server: Server) -> McpError:
    error = server.unavailable()
    return error if isinstance(error, McpError) else UsageError(f"{server.name}: {error!r}")


async def _save(memory: Memory) -> None:
    """Save in a thread, since another process may hold the file for a while."""
    try:
        await asyncio.get_running_loop().run_in_executor(None, memory.save)
    except RuntimeError:  # the interpreter ends, and begins no thread any more
        memory.save()
