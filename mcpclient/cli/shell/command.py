"""``mcpclient shell``: type lines to one or many servers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from ...client.connection.target_names import short_name
from ...config.server import ServerConfig
from ...errors import ServersFailed
from ...manager.manager import Manager
from ..command import Answer, LocalCommand, LocalWork, Server
from ..configured import load, none_configured
from ..connecting import answers_of, asking_for, with_options
from ..screen import Screen
from ..target import only_server
from .session import Outcome
from .shell import DEFAULT, Shell

_NONE = "no server is configured: name one, as in: mcpclient shell URL, or shell -- COMMAND"


def _prepare(options: argparse.Namespace) -> LocalWork:
    is_named = bool(options.words) or options.server_command is not None
    server = only_server(options) if is_named else None

    async def run(screen: Screen) -> Answer:
        asking = asking_for(screen, options)
        answers = answers_of(asking, options)
        servers = _one(server, screen) if server is not None else _all(options, screen)
        configured = {
            name: with_options(
                each, options, screen, **answers, **_named_stderr(name, options, screen)
            )
            for name, each in servers.items()
        }
        manager = Manager(configured, required=server is not None)
        try:
            await manager.open()
        except ServersFailed as error:
            raise next(iter(error.failures.values())) from None
        try:
            history = None if options.no_history else DEFAULT
            shell = Shell(manager, screen, history=history, asking=asking)
            if not options.json:
                return Answer({}, "", exit_code=await shell.run(), is_shown=True)
            lines: list[Mapping[str, Any]] = []
            code = await shell.run(lambda line, outcome: lines.append(_reported(line, outcome)))
            return Answer({"exitCode": code, "lines": lines}, "", exit_code=code)
        finally:
            await manager.close()

    return run


def _named_stderr(name: str, options: argparse.Namespace, screen: Screen) -> dict[str, Any]:
    """Return the option for a server's stderr, which stands among that of others."""
    return {} if options.quiet else {"stderr": lambda line: screen.say(f"{name}: {line}")}


def _reported(line: str, outcome: Outcome) -> Mapping[str, Any]:
    return {"line": line, "exitCode": outcome.exit_code, "text": outcome.text}


def _one(server: Server, screen: Screen) -> dict[str, ServerConfig]:
    server.tell(screen.say)
    if server.config is not None:
        return {server.config.name: server.config}
    options = dict(server.options)
    name = options.pop("name", None) or short_name(server.target)
    return {name: ServerConfig(name, target=server.target, options=options)}


def _all(options: argparse.Namespace, screen: Screen) -> Mapping[str, ServerConfig]:
    config = load(options.config)
    if not config.servers:
        raise none_configured(config, _NONE)
    for problem in config.problems:
        screen.say(str(problem))
    return config.servers


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-history", action="store_true", help="do not keep typed lines for later sessions"
    )


COMMAND = LocalCommand(
    "shell",
    _prepare,
    usage="[SERVER | -- SERVER-COMMAND ...] [< FILE]",
    add_options=_add_options,
    takes_server=True,
    details=(
        "Without a server: all that are configured. The name of a tool is a command; help lists "
        "the others. Lines from a file or a pipe are a script: it stops at the first line that "
        "fails, with the exit code of that line. With --json, all lines and their results are one "
        "document at the end.\n\n"
        "examples:\n"
        "  mcpclient shell http://localhost:3001/mcp\n"
        "  mcpclient shell -- npx -y my-server\n"
        "  mcpclient shell my-server < smoke-test.txt"
    ),
)
"""Runs lines until they end."""
