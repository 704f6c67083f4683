"""The parser of a command line: it returns checked work that has not started yet."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from functools import cache
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import UsageError
from ..lazy import OnDemand
from .command import AnyCommand, Command, LocalCommand, LocalRequest, OuterCommand, Request
from .main import COMMANDS, command_named
from .target import (
    AUDIT,
    CONNECTING,
    QUIET,
    TRACE,
    find_server,
    is_program,
    split_after_file,
    split_at_command,
)

if TYPE_CHECKING:
    from .. import suggestions
else:
    suggestions = OnDemand("..suggestions", __name__)

_COLUMNS = 78

# Names that other programs use for a command of this one.
_MEANT = {
    **dict.fromkeys(("list", "ls", "list-tools"), "tools"),
    "status": "servers",
    **dict.fromkeys(("run", "exec", "invoke", "call-tool"), "call"),
    **{"login": "auth login", "logout": "auth logout"},
    **dict.fromkeys(("connect", "start", "repl"), "shell"),
    **dict.fromkeys(("check", "test", "diagnose"), "doctor"),
    **dict.fromkeys(("get", "cat", "resource"), "read"),
    "version": "--version",
    "proxy": "record",
    "ui": "inspect",
}
_SERVER = (
    "SERVER is the name of a configured server, a URL or a script; or the server is the command "
    "line that starts it, at the end, after --"
)


def understand(words: Sequence[str]) -> Request | LocalRequest:
    """Parse a command line into a request. Raises `UsageError`."""
    before, server_command = split_at_command(words)
    command = _command_of(before, has_more=server_command is not None)
    if isinstance(command, OuterCommand):
        return _understand_outer(command, words[1:])
    try:
        options = parser_of(command).parse_intermixed_args(before[1:])
    except UsageError as error:
        raise _with_dashes(error, before) from None
    options.server_command = server_command
    options.line = list(words)
    if isinstance(command, Command):
        return _understand_plain(command, options)
    takes_command = command.takes_server or command.takes_command
    if server_command is not None and not takes_command:
        raise UsageError(f"{command.name} takes no server command")
    return LocalRequest(command.function(options), options)


def own_words(words: Sequence[str]) -> list[str]:
    """Return the words without those of a server's command line."""
    if words[0] not in COMMANDS or not isinstance(command_named(words[0]), OuterCommand):
        return split_at_command(words)[0]
    outer, inner = split_after_file(words[1:])
    return outer + split_at_command(inner)[0]


def _understand_plain(
    command: Command, options: argparse.Namespace, *, needs_server: bool = True
) -> Request:
    server = find_server(options, needed=needs_server)
    command.check(options)
    return Request(server, command, options)


def _understand_outer(command: OuterCommand, words: Sequence[str]) -> Request | LocalRequest:
    outer, words = split_after_file(words)
    options = parser_of(command).parse_intermixed_args(outer)
    if not words:
        return command.function(options, None)
    before, server_command = split_at_command(words)
    inner = _command_of(before)
    if not isinstance(inner, Command):
        raise UsageError(f"{command.name} takes a command for one server, and not {inner.name}")
    inner_options = parser_of(inner).parse_intermixed_args(before[1:])
    inner_options.server_command = server_command
    inner_options.json |= options.json
    inner_options.debug |= options.debug
    request = _understand_plain(inner, inner_options, needs_server=command.needs_server)
    return command.function(options, request)


def _with_dashes(error: UsageError, words: Sequence[str]) -> UsageError:
    """Return an option error; its hint shows where ``--`` goes if the options may be a server's."""
    index = next((i for i, word in enumerate(words) if i and is_program(word)), None)
    if index is None:
        return error
    line = shlex.join(["mcpclient", *words[:index], "--", *words[index:]])
    return error.advise(f"Put -- before the command that starts the server: {line}")


class _Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError` instead of exiting, so that ``--json`` covers it, too."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()}")


def _command_of(words: Sequence[str], *, has_more: bool = False) -> AnyCommand:
    name = words[0] if words else ""
    if name in COMMANDS:
        return command_named(name)
    if name.startswith("-") or not name:
        raise UsageError("the command comes first, as in: mcpclient tools --json SERVER")
    if name in _MEANT:
        is_bare = name in ("list", "ls") and len(words) == 1 and not has_more
        meant = "servers, or mcpclient tools SERVER" if is_bare else _MEANT[name]
        line = " ".join(["mcpclient", meant, *map(shlex.quote, words[1:]), *["-- …"] * has_more])
        raise UsageError(f"there is no command {name!r}; did you mean {line}?")
    otherwise = "mcpclient --help lists them"
    raise UsageError(suggestions.there_is_no("command", name, COMMANDS, otherwise=otherwise))


@cache  # forks of a session inherit the parsers of their parent
def parser_of(command: AnyCommand) -> argparse.ArgumentParser:
    """Return the parser of a command's words and options; it raises `UsageError`."""
    if isinstance(command, Command):
        words = ("[OPTION ...] [SERVER]", command.usage, "[-- SERVER-COMMAND ...]")
        usage = " ".join(filter(None, words))
    else:
        usage = command.usage
    summary = COMMANDS[command.name]
    paragraphs = [command.details, f"{_SERVER}." if _takes_server(command) else ""]
    parser = _Parser(
        prog=f"mcpclient {command.name}",
        usage=_wrapped(f"mcpclient {command.name} {usage}"),
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog="\n\n".join(filter(None, paragraphs)),
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    if isinstance(command, OuterCommand):
        parser.add_argument("file", metavar="FILE", help=argparse.SUPPRESS)
    else:
        parser.add_argument("words", nargs="*", metavar="WORD", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    parser.set_defaults(named=[], config=None, command=command.name)
    for add in command.options:
        add(parser)
    if _takes_server(command):
        group: Any = parser.add_argument_group("connecting")
        for add in CONNECTING:
            add(group)
        TRACE(parser)
        AUDIT(parser)
        QUIET(parser)
    parser.add_argument("--debug", action="store_true", help="show the library's log on stderr")
    return parser


def _wrapped(usage: str) -> str:
    indent = " " * len("usage: ")
    lines = wrap(indent + usage, _COLUMNS, subsequent_indent=indent + "  ", break_on_hyphens=False)
    return "\n".join(lines).strip()


def _takes_server(command: AnyCommand) -> bool:
    is_local = isinstance(command, LocalCommand) and command.takes_server
    return isinstance(command, Command) or is_local


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """A formatter that wraps paragraphs, and keeps indented lines and items of lists."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_COLUMNS)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(self._filled(each, width) for each in text.split("\n\n"))

    def _filled(self, paragraph: str, width: int) -> str:
        lines = paragraph.splitlines()
        if any(line.startswith((" ", "- ")) for line in lines):
            return paragraph
        return "\n".join(self._split_lines(paragraph, width))
