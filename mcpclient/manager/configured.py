"""The servers that a caller names, the options of their clients, and what they share."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Callable, TypeVar, cast

from ..client.connection.options import EraMemory
from ..client.connection.targets import name_targets, runs_here
from ..client.events.callbacks import Hooks
from ..config.config import Config, ServerConfig
from ..errors import ServerUnavailable, UsageError
from ..gate.gate import Gate, strict_sandbox
from ..net.futures import LoopBound
from ..transports.base import Transport
from .machine import NEXT_STEPS, NOT_ALLOWED, Events, Reconnect
from .pins import Memory, Pins

if TYPE_CHECKING:
    from ..client.connection.caps import Caps
    from ..client.connection.client_options import ClientOptions
    from .tools import Catalog

T = TypeVar("T")


def configured_servers(servers: object, gate: Gate) -> dict[str, ServerConfig]:
    """Return servers by name, in their order, as a gate judges them.

    ``servers``: a `Config`, a mapping of names to targets or `ServerConfig`, or targets without
    names. Raises `UsageError` for anything else.
    """
    if isinstance(servers, Config):
        servers = servers.servers  # which may have been loaded without the policy
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
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None
    return read if read.name == name else replace(read, name=name)


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
    hooks = options.get("hooks")
    if isinstance(hooks, Hooks):  # the manager reports connections itself, with the number of tools
        options["hooks"] = hooks._replace(on_connect=None)
    return cast("ClientOptions", options)


def refusal_of(config: ServerConfig) -> ServerUnavailable | None:
    """Return why a server may not be connected, None where it may."""
    if config.state == "ready":
        return None
    status, _ = NOT_ALLOWED[config.state]
    return ServerUnavailable(config.name, config.state, config.reason or NEXT_STEPS[status])


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


@dataclass(frozen=True)
class Shared:
    """The services and settings that the servers of one manager share.

    ``home``: the event loop they live in. ``admit``: returns the configuration of a server as the
    gate allows it now; the flag asks for it as if it were enabled. ``eras``: which era each server
    speaks. ``caps``: those of the servers by name, whose counts outlive clients.
    """

    home: LoopBound
    options: Mapping[str, Any]
    catalog: Catalog
    events: Events
    slots: Slots
    reconnect: Reconnect | None
    admit: Callable[[ServerConfig, bool], Awaitable[ServerConfig]]
    pins: Pins | None = None
    memory: Memory | None = None
    caps: dict[str, Caps] = field(default_factory=dict)
    auto_refresh: bool = True
    eras: EraMemory = field(default_factory=EraMemory)
