"""The command line ``mcpclient COMMAND …``: from its words to its exit code."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, Union

from .. import __version__
from ..errors import McpError, UsageError
from ..framing.escaping import escape
from ..net.process.interrupt import cancel_on_ctrl_c
from . import (
    auth,
    call,
    complete,
    help,
    info,
    inspect,
    ping,
    prompt,
    prompts,
    read,
    record,
    replay,
    resources,
    tools,
)
from .auth import auth_for
from .command import (
    Answer,
    Command,
    LocalCommand,
    LocalRequest,
    OuterCommand,
    Request,
    TargetCommand,
)
from .failures import CANCELLED, TOOL_ERROR, error_as_json, error_text, exit_code
from .screen import LogLines, Screen
from .target import add_options, client_for, split_after_file, split_at_command, take_url

__all__ = ["main"]

AnyCommand = Union[Command, LocalCommand, OuterCommand, TargetCommand]

COMMANDS: dict[str, AnyCommand] = {
    **{
        module.COMMAND.name: module.COMMAND
        for module in (info, tools, call, resources, read, prompts, prompt, complete, ping)
    },
    **{module.COMMAND.name: module.COMMAND for module in (record, replay, inspect, auth, help)},
}

_SERVER = "The server is a URL, or the command line that starts it, after --"
_EXAMPLES = """\
examples:
  mcpclient tools http://localhost:3001/mcp
  mcpclient call http://localhost:3001/mcp echo message=hi
  mcpclient call echo message=hi -- npx -y @modelcontextprotocol/server-everything stdio

exit codes:
  0 ok   1 the tool failed   2 usage   3 no connection   4 authorization is needed
  5 the server refused or broke the protocol   124 timeout   130 cancelled with Ctrl-C
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    ``argv``: the words after the program's name, by default those of this process. ``--help`` and
    ``--version`` raise SystemExit.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    screen = Screen(sys.stdout, sys.stderr, os.environ)
    flags = _before_the_server(words)
    as_json = "--json" in flags
    try:
        request = _understand(words)
        with _log_lines(screen, request.options, os.environ):
            return asyncio.run(_perform(request, screen))
    except McpError as error:
        if not (as_json and _could_show(screen, {"error": error_as_json(error)})):
            text = escape(error_text(error, stderr_was_shown="--quiet" not in flags))
            screen.say_safely(f"{screen.error_style.bold('error:')} {text}")
        return exit_code(error)
    except (KeyboardInterrupt, asyncio.CancelledError):
        if as_json:
            _could_show(screen, {"error": {"type": "KeyboardInterrupt", "text": "cancelled"}})
        return CANCELLED


def _could_show(screen: Screen, value: Any) -> bool:
    try:
        screen.show_json(value)
    except UsageError:  # stdout is closed, or full
        return False
    return True


def _before_the_server(words: Sequence[str]) -> list[str]:
    """Return the words without those of a server's command line."""
    if not isinstance(COMMANDS.get(words[0]) if words else None, OuterCommand):
        return split_at_command(words)[0]
    outer, inner = split_after_file(words[1:])
    return outer + split_at_command(inner)[0]


def _understand(words: Sequence[str]) -> Request | LocalRequest:
    """Return what the words ask for. Raises `UsageError`."""
    own_words, server_command = split_at_command(words)
    command = _command_of(own_words)
    if isinstance(command, OuterCommand):
        return _understand_outer(command, words[1:])
    options = _parser_of(command).parse_intermixed_args(own_words[1:])
    if isinstance(command, Command):
        return _understand_plain(command, options, server_command)
    if isinstance(command, TargetCommand):
        return LocalRequest(command.prepare(options, _target_of(options, server_command)), options)
    if server_command is not None:
        raise UsageError(f"{command.name} takes no server command")
    return LocalRequest(command.prepare(options), options)


def _understand_plain(
    command: Command,
    options: argparse.Namespace,
    server_command: list[str] | None,
    *,
    needs_server: bool = True,
) -> Request:
    if server_command is not None:
        return Request(server_command, command.work(options.words), options)
    url, own_words = take_url(options.words, needed=needs_server)
    return Request(url, command.work(own_words), options)


def _target_of(
    options: argparse.Namespace, server_command: list[str] | None
) -> str | list[str] | None:
    """Return the server that is named, if any. Raises `UsageError` for other words."""
    if server_command is None and not options.words:
        return None
    url, others = take_url(options.words, needed=server_command is None)
    if others or (url and server_command is not None):
        raise UsageError(f"one server, and no other words: {(others or [url])[0]!r}")
    return server_command or url


def _understand_outer(command: OuterCommand, words: Sequence[str]) -> Request | LocalRequest:
    outer, words = split_after_file(words)
    options = _parser_of(command).parse_intermixed_args(outer)
    if not words:
        return command.prepare(options, None)
    own_words, server_command = split_at_command(words)
    inner = _command_of(own_words)
    if not isinstance(inner, Command):
        raise UsageError(f"{command.name} takes a command for one server, and not {inner.name}")
    inner_options = _parser_of(inner).parse_intermixed_args(own_words[1:])
    inner_options.json |= options.json
    inner_options.debug |= options.debug
    request = _understand_plain(
        inner, inner_options, server_command, needs_server=command.needs_server
    )
    return command.prepare(options, request)


async def _perform(request: Request | LocalRequest, screen: Screen) -> int:
    """Connect, do the work, show the answer at once, and close. Return the exit code."""
    cancel_on_ctrl_c()
    if isinstance(request, LocalRequest):
        _show(await request.work(screen), screen, as_json=request.options.json)
        return 0
    auth = auth_for(request.target, request.options.header, screen)
    client = client_for(request.target, request.options, screen.say, auth)
    async with screen.status:
        try:
            await client.connect()
            answer = await request.work(client, screen)
            _show(answer, screen, as_json=request.options.json)
        except asyncio.CancelledError:
            screen.say("cancelled")  # now, since closing may take seconds
            raise
        finally:
            await client.close()
    return TOOL_ERROR if answer.failed else 0


def _show(answer: Answer, screen: Screen, *, as_json: bool) -> None:
    if as_json:
        screen.show_json(answer.raw)
    elif answer.failed:
        screen.say_safely(answer.text or "the tool failed and does not say why")
    elif answer.content is not None and not screen.is_terminal:
        screen.show_bytes(answer.content)
    else:
        screen.show(answer.text)


@contextmanager
def _log_lines(
    screen: Screen, options: argparse.Namespace, environ: Mapping[str, str]
) -> Iterator[None]:
    """Show the library's log on stderr: warnings, or with ``--debug`` everything."""
    debug = options.debug or environ.get("MCP_DEBUG", "").lower() in ("1", "true", "yes")
    lines = LogLines(screen)
    lines.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s" if debug else None))
    logger = logging.getLogger("mcpclient")
    level = logger.level
    logger.addHandler(lines)
    logger.setLevel(logging.DEBUG if debug else logging.WARNING)
    try:
        yield
    finally:
        logger.removeHandler(lines)
        logger.setLevel(level)


# The words


class _Parser(argparse.ArgumentParser):
    """Raises `UsageError` where argparse prints and exits, so that ``--json`` covers it too."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()}")


def _command_of(words: Sequence[str]) -> AnyCommand:
    listed = "\n".join(f"  {name:10}{command.summary}" for name, command in COMMANDS.items())
    parser = _Parser(
        prog="mcpclient",
        usage="mcpclient COMMAND [OPTION ...] [URL] [WORD ...] [-- SERVER-COMMAND ...]",
        description="Talk to a Model Context Protocol server.",
        epilog=f"commands (each has --help):\n{listed}\n\n{_SERVER}.\n\n{_EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("command", metavar="COMMAND", choices=list(COMMANDS), help="see below")
    parser.add_argument("--version", action="version", version=f"mcpclient {__version__}")
    name: str = parser.parse_args(words[:1]).command
    return COMMANDS[name]


def _parser_of(command: AnyCommand) -> argparse.ArgumentParser:
    if isinstance(command, Command):
        own = [*command.required, *([f"[{command.more} ...]"] if command.more else [])]
        usage = " ".join(["[OPTION ...] [URL]", *own, "[-- SERVER-COMMAND ...]"])
    elif isinstance(command, TargetCommand):
        usage = "[OPTION ...] [URL | -- SERVER-COMMAND ...]"
    else:
        usage = f"[OPTION ...] {command.usage}"
    parser = _Parser(
        prog=f"mcpclient {command.name}",
        usage=f"mcpclient {command.name} {usage}",
        description=command.summary[0].upper() + command.summary[1:] + ".",
        epilog=_epilog(command),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if isinstance(command, OuterCommand):
        parser.add_argument("file", metavar="FILE", help=argparse.SUPPRESS)
    else:
        parser.add_argument("words", nargs="*", metavar="WORD", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    if isinstance(command, (Command, TargetCommand)):
        add_options(parser)
    if not isinstance(command, Command):
        command.add_options(parser)
    parser.add_argument("--debug", action="store_true", help="show the library's log on stderr")
    return parser


def _epilog(command: AnyCommand) -> str:
    if isinstance(command, (Command, TargetCommand)):
        return f"{command.details}\n\n{_SERVER}.".strip()
    return command.details
