"""``mcpclient lock``: write down the tools of the configured servers, or compare them with that."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from ..errors import ConnectFailed, McpError, UsageError
from ..framing.escaping import escape
from ..manager.manager import Manager
from ..manager.pins import Mismatch, Pins
from ..manager.server import Server
from ..protocol.types import Tool
from ..similar import there_is_no
from .command import Answer, LocalCommand, LocalWork
from .configured import load, none_configured
from .exit_codes import FAILED
from .render import one_line
from .screen import Screen

__all__ = ["COMMAND"]

_FILE = "mcp.lock"
_SKIPPED = ("disabled", "denied")


def _prepare(options: argparse.Namespace) -> LocalWork:
    config = load(options.config)
    for name in options.words:
        if name not in config.servers:
            raise UsageError(there_is_no("server", name, config.servers, "in the configuration"))
    chosen = {
        name: server
        for name, server in config.servers.items()
        if (name in options.words if options.words else server.state not in _SKIPPED)
    }
    if not chosen:
        raise none_configured(config, "no server is configured, so there is nothing to lock")
    pins = Pins(options.file)

    async def work(screen: Screen) -> Answer:
        async with screen.status, Manager(chosen, reconnect=None, stderr="discard") as manager:
            offered = {
                name: (chosen[name].fingerprint(), await _tools_of(server))
                for name, server in manager.servers.items()
            }
        if options.check:
            return _compared({name: pins.compare(name, *offer) for name, offer in offered.items()})
        try:
            pins.write(offered)
        except OSError as error:
            raise UsageError(f"cannot write {options.file}: {error.strerror or error}") from None
        counts = {name: len(tools) for name, (_, tools) in offered.items()}
        lines = [f"locked {count} tools of {one_line(name)}" for name, count in counts.items()]
        return Answer({"locked": counts, "file": options.file}, "\n".join(lines))

    return work


async def _tools_of(server: Server) -> list[Tool]:
    """List the tools. Raises why a server is not connected: what it offers cannot be known."""
    if server.is_connected:
        return await server.client.list_tools()
    error = server.error
    if isinstance(error, McpError):
        raise error
    raise ConnectFailed(server.name, str(error or server.config.reason or server.status))


def _compared(found: Mapping[str, Sequence[Mismatch]]) -> Answer:
    """Return what is not as it was locked."""
    raw = {
        "servers": {
            name: [
                {"tool": each.tool, "kind": each.kind, "difference": each.difference}
                for each in mismatches
            ]
            for name, mismatches in found.items()
        }
    }
    lines = [escape(f"{name}: {each}") for name, mismatches in found.items() for each in mismatches]
    text = "\n".join(lines) or "everything is as it was locked"
    return Answer(raw, text, exit_code=FAILED if lines else 0)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check", action="store_true", help="only compare; exit code 1 when something differs"
    )
    parser.add_argument("--file", default=_FILE, metavar="FILE", help=f"the lock file ({_FILE})")
    parser.add_argument("--config", metavar="FILE", help="the servers of this file only")


COMMAND = LocalCommand(
    "lock",
    _prepare,
    usage="[--check] [--config FILE] [NAME ...]",
    add_options=_add_options,
    details=(
        "The lock file holds the names, texts, schemas and annotations of all tools. Commit it: a "
        "tool that says something else later, as in a rug pull, shows in lock --check, and a "
        "manager with mcpclient.Pins refuses it."
    ),
)
