"""The servers of a manager, by name: made, remembered, added, and replaced on a reload."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import InitVar, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Callable

from ..client.connection.option_kinds import CLIENT_OPTIONS, check_options
from ..client.connection.options import EraMemory, Wiring
from ..client.connection.reconnection import Reconnect
from ..client.connection.target_names import name_targets
from ..client.connection.targets import Target
from ..config.config import Config, Problem, ServerConfig
from ..errors import UsageError
from ..framing.logs import logger_for
from ..gate.gate import Gate
from ..net.futures import LoopBound
from ..suggestions import there_is_no
from ..transports.base import Transport
from .events import Events
from .managed_client import Slots, same_server
from .pins import Memory, Pins, memory_key
from .server import Server
from .tools import Catalog

if TYPE_CHECKING:
    from ..client.connection.caps import Caps
    from ..config.policy.policy import Policy

_logger = logger_for("mcpclient.manager")


def configured_servers(servers: object, gate: Gate) -> dict[str, ServerConfig]:
    """Return servers by name, in their order, as a gate judges them.

    ``servers``: a `Config`, a mapping of names to targets or `ServerConfig`, or targets without
    names. Raises `UsageError` for anything else.
    """
    if isinstance(servers, Config):
        servers = servers.servers  # they may have been loaded without the policy
    if isinstance(servers, (str, Transport)) or not isinstance(servers, Iterable):
        raise UsageError(f"servers are a mapping, a list, a Config or a path, not {servers!r:.100}")
    named: Mapping[str, Any] = servers if isinstance(servers, Mapping) else name_targets(servers)
    listed = named.get("mcpServers")
    if isinstance(listed, Mapping) and len(named) == 1:
        named = listed
    gate.look_up_rules()
    return {name: gate.judge(_configured(name, each)) for name, each in named.items()}


def _configured(name: str, server: Any) -> ServerConfig:
    if not isinstance(name, str) or not name:
        raise UsageError(f"the name of a server must be a string, not {name!r}")
    config = server if isinstance(server, ServerConfig) else ServerConfig(name, target=server)
    try:
        read = config.with_mapping_read()
        check_options(read.options, CLIENT_OPTIONS)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None
    return read if read.name == name else replace(read, name=name)


def require_servers(config: Config, *, strictly: bool = False) -> None:
    """Raise `UsageError` where files have no servers because of errors; strictly: or at all."""
    if not config.servers:
        wrong = [str(each) for each in config.problems if each.is_error or strictly]
        if wrong or strictly:
            raise UsageError("; ".join(wrong) or "the configuration has no servers")


@dataclass(frozen=True)
class Changes:
    """Names of servers that came, went, have another configuration, or stay as they are."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def compare_servers(
    before: Mapping[str, ServerConfig], after: Mapping[str, ServerConfig]
) -> Changes:
    """Return the difference of two configurations, in the order of the second."""
    same = {name for name in after if name in before and same_server(before[name], after[name])}
    return Changes(
        added=tuple(name for name in after if name not in before),
        removed=tuple(name for name in before if name not in after),
        changed=tuple(name for name in after if name in before and name not in same),
        unchanged=tuple(name for name in after if name in same),
    )


@dataclass(eq=False, repr=False)
class Fleet:
    """The servers of one manager.

    ``sources``: what they are made of, see `configured_servers`. ``config``: what they were loaded
    as. ``configs``: each as it is configured; ``servers``: those that were made of them while the
    manager is open, in the order of the configuration. ``require_open``: raises where the manager
    is not open.

    The servers share all other attributes. ``home``: the event loop they live in. ``eras``: which
    era each speaks. ``caps``: theirs by name, whose counts outlive clients. ``slots``: for attempts
    to connect.
    """

    sources: InitVar[object]
    policy: InitVar[Policy | None]
    home: LoopBound
    catalog: Catalog
    events: Events
    require_open: Callable[[], None]
    options: Mapping[str, Any]
    reconnect: Reconnect | None
    pins: Pins | None
    auto_refresh: bool
    lazy: bool
    memory_file: InitVar[str | os.PathLike[str] | None]
    slots: Slots = field(init=False)
    eras: EraMemory = field(init=False)

    def __post_init__(
        self, sources: object, policy: Policy | None, memory_file: str | os.PathLike[str] | None
    ) -> None:
        self.caps: dict[str, Caps] = {}
        self._gate = Gate(policy)
        self._told: set[Problem] = set()
        self._adopt(sources if isinstance(sources, Config) else Config())
        self.configs: dict[str, ServerConfig] = configured_servers(sources, self._gate)
        self.servers: dict[str, Server] = {}
        self.wiring_of: Callable[[str], Wiring] = lambda name: Wiring()
        """Returns the wiring of the client of a server, by its name."""
        is_lazy = self.lazy or any(config.lazy for config in self.configs.values())
        is_remembered = is_lazy or memory_file is not None
        self.memory: Memory | None = Memory(memory_file) if is_remembered else None
        self._names = self.catalog.names
        for server in self.configs.values():
            self._names.add_server(server.name, server.naming)

    def require_known(self, names: Iterable[str]) -> None:
        """Raise `UsageError` for a name without a server, with the error of its entry, if any."""
        broken = {each.server: each for each in self.config.problems if each.is_error}
        for name in names:
            if name not in self.configs:
                wrong = broken.get(name) or there_is_no("server", name, self.configs)
                raise UsageError(str(wrong))

    def _adopt(self, config: Config) -> None:
        self.config: Config = config
        for problem in config.problems:
            if problem not in self._told:
                self._told.add(problem)
                _logger.warning("%s", problem)

    def open(self) -> None:
        """Make every server that is configured."""
        self.eras = EraMemory()
        self._make(list(self.configs.values()))

    def _make(self, configs: Iterable[ServerConfig]) -> list[Server]:
        made = [Server(config, self) for config in configs]
        for server in made:
            self._names.add_server(server.name, server.config.naming)
            self.configs[server.name], self.servers[server.name] = server.config, server
        self._recall(made)
        return made

    def _recall(self, servers: Iterable[Server]) -> None:
        remembered = {} if self.memory is None else self.memory.recall()
        found = {server: remembered.get(memory_key(server.config)) for server in servers}
        for server, each in found.items():
            if each is not None:
                self._names.recall(server.name, each.names)

        def standing(name: str) -> tuple[bool, bool]:
            config = self.configs[name]
            return config.state != "ready", config.scope == "project"

        self._names.reserve(standing)
        for server, each in found.items():
            if each is not None:
                server.remember(each, defer=self.lazy or server.config.lazy)
        self._names.hold()

    async def save_memory(self) -> None:
        """Remember the tools and their names; in a thread, since another process may write too."""
        if self.memory is None:
            return
        servers = self.servers.values()
        names = {memory_key(each.config): self._names.to_record(each.name) for each in servers}
        try:
            await asyncio.get_running_loop().run_in_executor(None, self.memory.save, names)
        except RuntimeError:  # the interpreter ends, and begins no thread any more
            self.memory.save(names)

    async def add(self, name: str, server: Target | ServerConfig) -> Server:
        """Add a server and connect it; see `Manager.add`."""
        self.require_open()
        self._gate.look_up_rules()
        config = self._gate.judge(_configured(name, server))
        while (before := self.servers.get(name)) is not None:
            if same_server(before.config, config) and not before.is_over:
                await before.connect()
                if not before.is_over:  # it may have been removed meanwhile
                    return before
            await self.drop(before)  # meanwhile, another of this name may have been added
        self.require_open()
        (added,) = self._make([config])
        added.start()
        await added.settled()
        self._names.settle()
        return added

    async def drop(self, server: Server) -> None:
        """Close a server and forget about it."""
        await server.end()
        if self.servers.get(server.name) is server:
            server.withdraw()
            del self.servers[server.name]
            self.configs.pop(server.name, None)

    async def reload(self, config: Config | None, lock: asyncio.Lock) -> Changes:
        """Apply another configuration; see `Manager.reload`."""
        async with lock:  # concurrent changes of the same servers would interfere
            self.require_open()
            after = await self._read_again() if config is None else self._apply(config)
            before = {name: server.config for name, server in self.servers.items()}
            changes = compare_servers(before, after)
            gone = [self.servers[name] for name in (*changes.removed, *changes.changed)]
            await asyncio.gather(*(self.drop(server) for server in gone))
            self.require_open()
            new = [name for name in (*changes.added, *changes.changed) if name not in self.servers]
            made = self._make(after[name] for name in new)
            for server in made:
                server.start()
            for name in after:  # in the order of the file; `Manager.servers` shows this very dict
                if name in self.servers:
                    self.servers[name] = self.servers.pop(name)
        await asyncio.gather(*(server.settled() for server in made))
        self._names.settle()
        return changes

    def _apply(self, config: Config) -> dict[str, ServerConfig]:
        after = configured_servers(config, self._gate)
        self._adopt(config)
        return after

    async def _read_again(self) -> dict[str, ServerConfig]:
        if self.config.load_again is not None:
            load = self.config.load_again
            config = await asyncio.get_running_loop().run_in_executor(None, load)
            require_servers(config)
            return self._apply(config)
        before = {name: server.config for name, server in self.servers.items()}
        if not any(each.judge_again for each in before.values()):
            raise UsageError("these servers came from no file: give reload() a Config")
        return {name: await self.admit(each, as_it_is=True) for name, each in before.items()}

    async def admit(
        self, server: ServerConfig, switched_on: bool = False, *, as_it_is: bool = False
    ) -> ServerConfig:
        """Return a server as the gate allows it now; see `Gate.admit`."""
        admit = partial(self._gate.admit, server, switched_on=switched_on, as_it_is=as_it_is)
        if server.judge_again is None:  # no file is read
            return admit()
        return await asyncio.get_running_loop().run_in_executor(None, admit)
