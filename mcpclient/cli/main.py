"""The command line: ``mcpclient COMMAND …``, from the words to the exit code."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn, Union

from .. import __version__
from ..errors import McpError, UsageError
from . import auth, call, complete, info, ping, prompt, prompts, read, resources, tools
from .auth import auth_for
from .command import Answer, Command, LocalCommand, LocalWork, Work
from .failures import CANCELLED, TOOL_ERROR, error_as_json, error_text, exit_code
from .render import escape
from .screen import LogLines, Screen
from .target import add_options, client_for, split_at_command, take_url

__all__ = ["main"]

COMMANDS: dict[str, Command | LocalCommand] = {
    **{
        module.COMMAND.name: module.COMMAND
        for module in (info, tools, call, resources, read, prompts, prompt, complete, ping)
    },
    auth.COMMAND.name: auth.COMMAND,
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
    """Run one command and return its exit code. ``argv``: the words after the program's name.

    ``--help`` and ``--version`` leave by SystemExit.
    """
    words, command = split_at_command(sys.argv[1:] if argv is None else argv)
    screen = Screen(sys.stdout, sys.stderr, os.environ)
    as_json = "--json" in words
    try:
        request = _understand(words, command)
        with _log_lines(screen, request.options, os.environ):
            return asyncio.run(_perform(request, screen))
    except McpError as error:
        if as_json:
            screen.show_json({"error": error_as_json(error)})
        else:
            text = escape(error_text(error, stderr_was_shown="--quiet" not in words))
            screen.say_safely(f"{screen.error_style.bold('error:')} {text}")
        return exit_code(error)
    except KeyboardInterrupt:
        if as_json:
            screen.show_json({"error": {"type": "KeyboardInterrupt", "text": "cancelled"}})
        return CANCELLED


@dataclass(frozen=True)
class _Request:
    """What is to be done, understood and checked, with nothing started yet."""

    target: str | list[str]
    work: Work
    options: argparse.Namespace


@dataclass(frozen=True)
class _LocalRequest:
    """The same for a command that is connected to no server."""

    work: LocalWork
    options: argparse.Namespace


_Understood = Union[_Request, _LocalRequest]


def _understand(words: Sequence[str], server_command: list[str] | None) -> _Understood:
    command = _command_of(words)
    options = _parser_of(command).parse_intermixed_args(words[1:])
    if isinstance(command, LocalCommand):
        if server_command is not None:
            raise UsageError(f"{command.name} takes no server command")
        return _LocalRequest(command.prepare(options), options)
    if server_command is not None:
        return _Request(server_command, command.work(options.words), options)
    url, own_words = take_url(options.words)
    return _Request(url, command.work(own_words), options)


async def _perform(request: _Understood, screen: Screen) -> int:
    """Connect, do the work, and show the answer, which need not wait until all is closed."""
    if isinstance(request, _LocalRequest):
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
    """Raises `UsageError` where the original prints and exits, so that ``--json`` covers it too."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()}")


def _command_of(words: Sequence[str]) -> Command | LocalCommand:
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


def _parser_of(command: Command | LocalCommand) -> argparse.ArgumentParser:
    if isinstance(command, LocalCommand):
        usage = f"[OPTION ...] {command.usage}"
    else:
        own = [*command.required, *([f"[{command.more} ...]"] if command.more else [])]
        usage = " ".join(["[OPTION ...] [URL]", *own, "[-- SERVER-COMMAND ...]"])
    parser = _Parser(
        prog=f"mcpclient {command.name}",
        usage=f"mcpclient {command.name} {usage}",
        description=command.summary[0].upper() + command.summary[1:] + ".",
        epilog=_epilog(command),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    if isinstance(command, LocalCommand):
        command.add_options(parser)
    else:
        add_options(parser)
    parser.add_argument("--debug", action="store_true", help="show the library's log on stderr")
    return parser


def _epilog(command: Command | LocalCommand) -> str:
    if isinstance(command, LocalCommand):
        return command.details
    return f"{command.details}\n\n{_SERVER}.".strip()
