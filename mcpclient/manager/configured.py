"""Whatever a caller names as servers, as configurations by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..client.connection.targets import entry_of
from ..config.config import Config
from ..config.server import ServerConfig
from ..config.shapes.applications import APPLICATIONS
from ..config.shapes.entry import read_entry
from ..config.shapes.fields import FIELDS
from ..config.shapes.values import EntryError
from ..errors import UsageError
from ..gate.gate import Gate
from ..transports.base import Transport
from .derived_names import name_targets

_PLAIN = APPLICATIONS["mcpclient"]
# What a client does not know of an entry, and a manager has to.
_SETTINGS = ("enabled", "disabled", "include", "exclude", "tools")


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
    return {name: gate.judge(_configured(name, each)).server for name, each in named.items()}


def _configured(name: str, server: Any) -> ServerConfig:
    if not isinstance(name, str) or not name:
        raise UsageError(f"the name of a server is a text, not {name!r}")
    if isinstance(server, ServerConfig):
        return server if server.name == name else replace(server, name=name)
    if isinstance(server, Mapping):
        return ServerConfig(name, target=server, **_settings_of(name, entry_of(server)))
    return ServerConfig(name, target=server)


def _settings_of(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an entry says about whether it is used, and which of its tools are."""
    said = {key: value for key, value in entry.items() if key in FIELDS}
    said = {key: value for key, value in said.items() if FIELDS[key].name in _SETTINGS}
    try:
        read = read_entry(name, {**said, "command": "-"}, _PLAIN, lambda *told, hint="": None)
    except EntryError as error:
        raise UsageError(f"{name}: {'.'.join(map(str, error.path))}: {error}") from None
    return {setting: getattr(read, setting) for setting in ("enabled", "include", "exclude")}
