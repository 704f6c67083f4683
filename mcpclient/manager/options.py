"""The options of one server's client: its own, and those that hold for all servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ..client.connection.targets import Target
from ..client.events.hooks import Hooks
from ..config.server import ServerConfig
from ..transports.base import Transport

if TYPE_CHECKING:
    from ..client.connection.client_options import ClientOptions

# Options for all servers that mean nothing for some of them are left out there.
_FOR_URLS = ("auth", "headers")
_FOR_PROCESSES = ("env", "cwd", "sandbox")


def runs_here(target: Target) -> bool:
    """Whether a target is a command, so that connecting starts a process."""
    if isinstance(target, Transport):
        return False
    if isinstance(target, Mapping):
        return not isinstance(target.get("url"), str)
    return not (isinstance(target, str) and "://" in target)


def _useless_for(target: Target) -> tuple[str, ...]:
    if isinstance(target, Transport):
        return (*_FOR_URLS, *_FOR_PROCESSES)
    return _FOR_URLS if runs_here(target) else _FOR_PROCESSES


def options_for(server: ServerConfig, shared: Mapping[str, Any]) -> ClientOptions:
    """Return the options of a server's client. The server's own count more than the shared ones."""
    options = {**shared}
    for name in _useless_for(server.target):
        options.pop(name, None)
    options.update(server.options)
    options["name"] = server.name
    options["trusted"] = server.trusted or bool(options.get("trusted"))
    hooks = options.get("hooks")
    if isinstance(hooks, Hooks):  # the manager tells of a connection itself, with the tools' number
        options["hooks"] = hooks._replace(on_connect=None)
    return cast("ClientOptions", options)
