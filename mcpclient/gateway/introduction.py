"""A gateway's answers about itself: capabilities, instructions, the status of its servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..bridging.translation import Introduction
from ..version import __version__
from .changes import SERVERS

if TYPE_CHECKING:
    from .gateway import Gateway


_CAPABILITIES = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "completions": {},
    "logging": {},
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
}


def introduction(gateway: Gateway) -> Introduction:
    """Return the gateway's description of itself, which depends on no server."""
    info = {"name": "mcpclient-gateway", "version": __version__}
    return Introduction(info, _CAPABILITIES, _instructions(gateway))


def _instructions(gateway: Gateway) -> str:
    named = ", ".join(gateway.manager._fleet.configs) or "none"
    lines = [
        f"Tools and prompts of several servers, each named SERVER__NAME. Servers: {named}. "
        f"The resource {SERVERS} shows which are connected, and what to do about the others."
    ]
    lines += (each._section for each in gateway.manager.servers.values())
    return "\n\n".join(filter(None, lines))


def status(gateway: Gateway) -> str:
    """Return the status of each server in a line, with what to do about those that fail."""
    lines = []
    for name, server in gateway.manager.servers.items():
        line = f"{name}: {server.status.value}"
        if server.is_connected or server.tools:
            line += f", {len(server.tools)} tools"
        if server.error is not None:
            line += f". {gateway.explain_for(name, server.error)}"
        lines.append(line)
    shared = gateway.directory.collisions
    if shared:
        lines.append(f"Listed by several servers, read as SERVER:URI: {', '.join(shared)}")
    lines += [str(problem) for problem in gateway.manager.problems]
    return "\n".join(lines) or "No server is configured."
