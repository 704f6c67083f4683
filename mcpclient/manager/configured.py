"""Whatever a caller names as servers, as configurations by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..config.config import Config
from ..config.server import ServerConfig
from ..errors import UsageError
from ..gate.gate import Gate
from ..transports.base import Transport
from .derived_names import name_targets

__all__ = ["configured_servers"]


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
    return ServerConfig(name, target=server)
