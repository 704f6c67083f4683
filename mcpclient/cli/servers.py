"""``mcpclient servers``: the configured servers, and how each of them is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..config.config import Config
from ..config.server import ServerConfig
from ..errors import McpError, ServerUnavailable
from ..framing.escaping import escape_line
from ..manager.manager import Manager
from ..manager.server import Server
from .command import Answer, LocalCommand, LocalWork
from .configured import load, shown_target
from .exit_codes import USAGE
from .failures import text_and_hint
from .render import Style, one_line, table
from .screen import Screen

_CONNECT_SECONDS = 30.0


def _prepare(options: argparse.Namespace) -> LocalWork:
    config = load(options.config)

    async def work(screen: Screen) -> Answer:
        if options.names:
            return _names(config)
        for problem in config.problems:
            screen.say(str(problem))
        if options.no_connect:
            return _answer(config, {}, screen.style)
        limit = _CONNECT_SECONDS if options.timeout is None else options.timeout
        manager = Manager(config, reconnect=None, connect_timeout=limit, stderr="discard")
        async with screen.status, manager:
            found = {name: _status(server) for name, server in manager.servers.items()}
        return _answer(config, found, screen.style)

    return work


def _names(config: Config) -> Answer:
    return Answer({"names": list(config.servers)}, "\n".join(map(escape_line, config.servers)))


def _status(server: Server) -> dict[str, Any]:
    """Return how a server is, after it was tried."""
    error = server.error
    found: dict[str, Any] = {"status": server.status.value}
    if server.is_connected:
        info = server.client.server_info
        found["server"] = " ".join(filter(None, [info.name, info.version]))
        found["tools"] = len(server.tools)
    if isinstance(error, ServerUnavailable):  # the status says the rest
        found["reason"] = error.reason
    elif isinstance(error, McpError):
        found["reason"], found["hint"] = text_and_hint(error)
    elif error is not None:
        found["reason"] = str(error)
    return found


def _answer(config: Config, found: Mapping[str, Mapping[str, Any]], style: Style) -> Answer:
    servers = [
        {**_written(server), **found.get(name, {})} for name, server in config.servers.items()
    ]
    raw = {"servers": servers, "problems": [str(problem) for problem in config.problems]}
    if not servers and any(problem.severity == "error" for problem in config.problems):
        return Answer(raw, "none of the configured servers can be used", exit_code=USAGE)
    if not servers:
        return Answer(raw, "no server is configured; mcpclient add writes one into a file")
    rows = [tuple(map(one_line, map(str, _row(server)))) for server in servers]
    listed = table(("SERVER", "STATUS", "TARGET", "TOOLS OR REASON"), rows, style)
    return Answer(raw, "\n".join([listed, *_waiting(config, servers)]))


def _waiting(config: Config, servers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield all that the user would agree to, for each server that waits for it."""
    for server in servers:
        sheet = config.servers[server["name"]].sheet
        if server["status"] == "needs_approval" and sheet is not None:
            yield f"\n{one_line(server['name'])} would start with:"
            yield from (f"  {line}" for line in sheet.lines())


def _written(server: ServerConfig) -> dict[str, Any]:
    return {
        "name": server.name,
        "scope": server.scope,
        "file": server.source,
        "target": shown_target(server),
        "status": server.state,
        **({"reason": server.reason} if server.reason else {}),
        **({"sandbox": str(sandbox)} if (sandbox := server.options.get("sandbox")) else {}),
        **({"sheet": server.sheet.as_json()} if server.sheet is not None else {}),
    }


def _row(server: Mapping[str, Any]) -> tuple[str, ...]:
    if "tools" in server:
        count = server["tools"]
        told = f"{count} tool{'' if count == 1 else 's'} of {server.get('server') or 'no name'}"
        told += ", in a sandbox" if "sandbox" in server else ""
    else:
        told = " → ".join(filter(None, [server.get("reason"), server.get("hint")]))
    return server["name"], server["status"], server["target"], told


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="the servers of this file only")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="to connect in (30)")
    parser.add_argument(
        "--no-connect", action="store_true", help="only say what is configured; start nothing"
    )
    parser.add_argument("--names", action="store_true", help="only the names, one on each line")


COMMAND = LocalCommand(
    "servers",
    _prepare,
    usage="[--config FILE] [--no-connect]",
    add_options=_add_options,
    details=(
        "Servers of a project's file are connected only after you have agreed to them: use one by "
        "its name on a terminal to be asked. What is wrong in the files is said on stderr."
    ),
)
