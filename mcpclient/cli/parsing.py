"""The words of a command line: its command, its options, and the server that it names.

Parsing returns checked work that has not started yet.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import UsageError
from ..net.paths import bundle_name, is_bundle
from ..net.process.launch import SCRIPT_ENDINGS
from .command import (
    AnyCommand,
    Command,
    OuterCommand,
    Request,
    Server,
    choice,
    flag,
    option,
    pair,
    repeated,
    seconds,
)
from .commands import COMMANDS, command_named
from .layout import definitions, fill
from .output import columns_of

if TYPE_CHECKING:
    from ..client.connection.client_options import TransportName

_COLUMNS, _MAX_WIDTH = 80, 100  # of help in a pipe, and at most

# Names that other programs use for a command of this one.
_MEANT = {
    **dict.fromkeys(("list", "ls", "list-tools"), "tools"),
    "status": "servers",
    **dict.fromkeys(("run", "exec", "invoke", "call-tool"), "call"),
    **{"login": "auth login", "logout": "auth logout"},
    **dict.fromkeys(("connect", "start", "repl"), "shell"),
    **dict.fromkeys(("test", "diagnose"), "doctor"),
    **dict.fromkeys(("get", "cat", "resource"), "read"),
    "version": "--version",
    "proxy": "record",
    "ui": "inspect",
}
_SERVER = (
    "SERVER is the name of a configured server, a URL or a script; or the server is the command "
    "line that starts it, at the end, after --"
)


def understand(words: Sequence[str], *, needs_server: bool = True) -> Request:
    """Parse a command line into a request. Raises `UsageError`."""
    before, server_command = split_at_command(words)
    command = _command_of(before, has_more=server_command is not None)
    if isinstance(command, OuterCommand):
        return _understand_outer(command, words[1:])
    try:
        options = parser_of(command).parse_intermixed_args(before[1:])
    except UsageError as error:
        raise (_with_dashes(error, before) if server_command is None else error) from None
    options.server_command = server_command
    options.line = list(words)
    if isinstance(command, Command):
        server = find_server(options, needed=needs_server)
        try:
            command.check(options)
        except UsageError as error:
            raise error.advise(name_server(error.hint, options, server)) from None
        return Request(command.function, options, server)
    takes_command = command.takes_server or command.takes_command
    if server_command is not None and not takes_command:
        raise UsageError(f"{command.name} takes no server command")
    return Request(command.function, options)


def _understand_outer(command: OuterCommand, words: Sequence[str]) -> Request:
    outer, inner = split_after_file(words)
    options = parser_of(command).parse_intermixed_args(outer)
    if not inner:
        return command.function(options, None)
    if not isinstance(_command_of(inner), Command):
        raise UsageError(f"{command.name} takes a command for one server, and not {inner[0]}")
    flags = [f"--{name}" for name in ("json", "debug", "quiet") if getattr(options, name)]
    line = [inner[0], *flags, *inner[1:]]
    return command.function(options, understand(line, needs_server=command.needs_server))


def own_words(words: Sequence[str]) -> list[str]:
    """Return the words without a server's command line."""
    if words[0] not in COMMANDS or not isinstance(command_named(words[0]), OuterCommand):
        return split_at_command(words)[0]
    outer, inner = split_after_file(words[1:])
    return outer + split_at_command(inner)[0]


def _with_dashes(error: UsageError, words: Sequence[str]) -> UsageError:
    """Return an option error; its hint shows where ``--`` goes if the options may be a server's."""
    index = next((i for i, word in enumerate(words) if i and is_program(word)), None)
    pairs = zip(words, words[1:index])
    names_server = not all(word.startswith("-") or before.startswith("-") for before, word in pairs)
    if index is None or names_server:  # by a word that is not the value of an option
        return error
    line = shlex.join(["mcpclient", *words[:index], "--", *words[index:]])
    return error.advise(f"Put -- before the command that starts the server: {line}")


class _Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError` instead of exiting, so that ``--json`` covers it, too."""

    def error(self, message: str) -> NoReturn:
        _, unknown, words = message.partition("unrecognized arguments: ")
        options = " ".join(word for word in words.split() if word.startswith("-"))
        if options:  # without what may be their values, as newer Pythons have it
            message = f"{unknown}{options}"
        raise UsageError(f"{message}\nusage: {self.usage}")

    def format_help(self) -> str:
        return f"{help_text(self, columns_of(sys.stdout))}\n"


def help_text(parser: argparse.ArgumentParser, columns: int | None) -> str:
    """Return the help of a command, for a terminal of this width; None: not for a terminal."""
    width = min(columns or _COLUMNS, _MAX_WIDTH)
    parts = [f"usage: {parser.usage}", parser.description or ""]
    for group in parser._action_groups:
        rows = [
            (", ".join(each.option_strings) + _metavar(each), each.help or "")
            for each in group._group_actions
            if each.help != argparse.SUPPRESS
        ]
        if rows:
            title = "options" if group is parser._optionals else group.title
            parts.append(f"{title}:\n{definitions(rows, width, '  ')}")
    return fill("\n\n".join(filter(None, [*parts, parser.epilog])), width)


def _metavar(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    return f" {action.metavar or ' | '.join(map(str, action.choices or ()))}"


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
    from ..suggestions import there_is_no

    raise UsageError(there_is_no("command", name, COMMANDS, otherwise=otherwise))


@cache  # forks of a session inherit the parsers of their parent
def parser_of(command: AnyCommand) -> argparse.ArgumentParser:
    """Return the parser of a command's words and options; it raises `UsageError`."""
    words = [command.usage]
    if isinstance(command, Command):
        words = ["[OPTION ...] [SERVER]", command.usage, "[-- SERVER-COMMAND ...]"]
    summary = COMMANDS[command.name]
    paragraphs = [command.details, f"{_SERVER}." if command.takes_server else ""]
    parser = _Parser(
        prog=f"mcpclient {command.name}",
        usage=" ".join(filter(None, ["mcpclient", command.name, *words])),
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog="\n\n".join(filter(None, paragraphs)),
        # Its default width is the terminal's, found by a module that takes as long as the parser.
        formatter_class=partial(argparse.HelpFormatter, width=_COLUMNS),
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
    if command.takes_server:
        parser.set_defaults(is_connected=False)
        group: Any = parser.add_argument_group("connecting")
        for add in CONNECTING:
            add(group)
        TRACE(parser)
        AUDIT(parser)
    QUIET(parser)
    parser.add_argument("--debug", action="store_true", help="show the library's log on stderr")
    return parser


URL_SCHEMES = ("http://", "https://", "ws://", "wss://", "tcp://", "unix://")
_STARTERS = {"npx", "uvx", "uv", "node", "bunx", "deno", "python", "python3", "docker", "podman"}
_WHICH = (
    "which server? Give the name of a configured one, a URL or a script first, or the command "
    "that starts it at the end, after --"
)


def split_at_command(words: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Return the words before the first ``--``, and the server's command line after it."""
    words = list(words)
    if "--" not in words:
        return words, None
    index = words.index("--")
    return words[:index], words[index + 1 :]


def split_after_file(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words up to a file and its options, and the command after them or their ``--``."""
    words = list(words)
    files = [index for index, word in enumerate(words) if not word.startswith("-")]
    end = files[0] + 1 if files else len(words)
    while end < len(words) and words[end].startswith("-") and words[end] != "--":
        end += 1
    return words[:end], words[end + 1 :] if words[end : end + 1] == ["--"] else words[end:]


def find_server(options: argparse.Namespace, *, needed: bool = True) -> Server:
    """Return the server that ``options`` name by words or a command, and leave the words after it.

    A word that is neither a URL nor a script is the name of a configured server; so is one that
    looks like a path, if there is a server of this name and no such file. ``server.tool`` and
    ``server__tool`` name a server, and its tool as the first of the words after it. On a terminal
    the user is asked to agree to a server of a project's file. Raises `UsageError` when there is no
    server; if it is not ``needed``, its target is empty then, and a configured name is left out.
    """
    words: list[str] = list(options.words)
    options.named = words[:1] if options.server_command is None else ["--", *options.server_command]
    if options.server_command is not None:
        return Server(options.server_command)
    first, options.words = words[0] if words else "", words[1:]
    if first.startswith("@"):
        return _joined(first, options)
    in_bundle = is_bundle(first)  # whose command the user has not seen yet, and so not agreed to
    names_itself = not in_bundle and _names_itself(first)
    is_there = options.config is None and os.path.exists(first)
    if names_itself and ("://" in first or is_there or not needed):
        return Server(first)
    if not needed and not in_bundle:
        from .configured import is_name

        if not is_name(first, options.config):
            options.named, options.words = [], words
        return Server("")
    if not words:
        raise UsageError(_WHICH)
    if "://" in first:
        schemes = ", ".join(URL_SCHEMES)
        error = UsageError(f"which server? {first!r} is not a URL that a server may have")
        raise error.advise(f"Give a URL that begins with {schemes}")
    # Files are read, and the user is asked, only to look up a name.
    from .configured import configured

    line = shlex.join(["mcpclient", options.command, "--", *words]) if is_program(first) else ""
    server: Server
    name, path = (bundle_name(first), first) if in_bundle else (first, options.config)
    otherwise = Server(first) if names_itself else None
    server, tool = configured(name, path, line, unseen=in_bundle, otherwise=otherwise)
    if tool:
        options.named = [server.options["name"]]
        options.words.insert(0, tool)
    return server


def _joined(name: str, options: argparse.Namespace) -> Server:
    """Return the server of an open session. Raises `UsageError` for an option that `open` takes."""
    from ..sessions.open_session import SessionTransport

    for each in NEEDED:
        if getattr(options, each):
            raise UsageError(f"{spelled(each)} is for mcpclient open: {name} is open already")
    return Server(SessionTransport(name[1:]), {"name": name})


def command_line(options: argparse.Namespace, command: str, *words: str) -> str:
    """Return the line of another command for the server that was named, to be copied and run.

    A server whose words may hold a secret is not named in it.
    """
    from ..recording.redaction import Redactor

    named = options.named
    if not named or Redactor().text(shlex.join(named)) != shlex.join(named):
        named = ["SERVER"]
    server, program = ([], named) if named[0] == "--" else (named, [])
    if words and words[0].startswith("-"):  # a name from a server that would be an option
        server, words = [f"{(server or ['SERVER'])[0]}.{words[0]}"], words[1:]
    config = ["--config", options.config] if options.config else []
    return shlex.join(["mcpclient", command, *config, *server, *words, *program])


_LINE = r"mcpclient (?:(auth login) URL|([a-z]+) SERVER((?: \S+)*))"


def name_server(hint: str, options: argparse.Namespace, server: Server | None) -> str:
    """Return a hint with the named server filled in, so that its lines can be run."""
    target = server.target if server is not None else None

    def line(found: re.Match[str]) -> str:
        if found[1]:
            is_url = isinstance(target, str) and "://" in target
            return f"mcpclient auth login {shlex.quote(str(target))}" if is_url else found[0]
        if not options.named:
            return found[0]
        tool = "".join(options.words[:1])
        words = (tool if word == "TOOL" else word for word in shlex.split(found[3]))
        return command_line(options, found[2], *words)

    return re.sub(_LINE, line, hint)


def is_program(word: str) -> bool:
    """Whether a word is a program that starts servers, or that is found in PATH."""
    if word in _STARTERS or not word[:1].isalpha():
        return word in _STARTERS
    import shutil

    return shutil.which(word) is not None


def is_named(options: argparse.Namespace) -> bool:
    """Whether the words or a command name a server."""
    return bool(options.words) or options.server_command is not None


def only_server(options: argparse.Namespace) -> Server:
    """Return the server that the words name. Raises `UsageError` for other words."""
    server = find_server(options)
    if options.words:
        raise UsageError(f"one server is expected, and no other words: {options.words[0]!r}")
    return server


def _names_itself(word: str) -> bool:
    if "://" in word:
        return word.lower().startswith(URL_SCHEMES)
    is_path = word.lower().endswith(SCRIPT_ENDINGS) or os.path.dirname(word) != ""
    return is_path and "=" not in word and not word.startswith(("{", "@"))


def _program(command: str) -> list[str]:
    """Return the words of a command for which no shell is needed. Raises `UsageError`."""
    try:
        words = shlex.split(command, posix=sys.platform != "win32")
    except ValueError as error:
        raise UsageError(f"--model {command!r}: {error}") from None
    import shutil

    if not words or shutil.which(words[0]) is None:
        raise UsageError(f"--model: there is no program {words[0] if words else ''!r}")
    return words


HEADER = repeated(
    "--header", "'NAME: VALUE'", "header of every HTTP request", type=pair(":", "--header")
)
ENV = repeated(
    "--env", "NAME=VALUE", "environment variable of the server process", type=pair("=", "--env")
)
TRACE = option("--trace", "FILE", "append a transcript of the session; secrets are replaced")
AUDIT = option("--audit", "FILE", "append a line for each start and each call to a log")
QUIET = flag("--quiet", "show neither the stderr of servers nor what could be done next")

# Every `TransportName`, without loading the options of a client for the help of a command.
_TRANSPORTS: Sequence[TransportName] = ("stdio", "http", "sse", "ws", "socket")

CONNECTING = (
    seconds("--timeout", "longest wait for a response or progress (30); 0: no limit"),
    seconds("--max-timeout", "longest time of a call (600); 0: no limit"),
    option("--config", "FILE", "look up the server in this file only"),
    HEADER,
    option("--bearer", "TOKEN", "bearer token for the Authorization header"),
    flag("--negotiate", "log in as the user of this system (Kerberos, NTLM)"),
    option("--account", "NAME", "name of one of several logins at one URL"),
    option("--ca-file", "FILE", "PEM file of the certificate authorities to trust"),
    flag("--insecure", "accept any TLS certificate"),
    option("--proxy", "URL", "HTTP or SOCKS proxy for all connections"),
    flag("--proxy-negotiate", "log in at the proxy as the user of this system"),
    ENV,
    option("--cwd", "FOLDER", "working directory of the server process"),
    flag("--sandbox", "run the server process in a sandbox, with these rights only"),
    repeated("--allow-read", "PATH", "with --sandbox: path that it may read"),
    repeated("--allow-write", "PATH", "with --sandbox: path that it may read and change"),
    flag("--allow-network", "with --sandbox: it may use the network"),
    option("--protocol-version", "REVISION", "default: the newest that both sides support"),
    option("--transport", None, "default: detected", choices=_TRANSPORTS),
    choice(
        "--elicit",
        ("ask", "accept", "decline"),
        "answer to the server's questions: ask (the default), accept their defaults, or decline",
    ),
    option("--model", "COMMAND", "program in place of a language model", type=_program, default=[]),
)
"""The options for connecting."""

STARTED_HERE, _WEB = "a server that is started here", "an HTTP or WebSocket URL"
NEEDED = {
    **dict.fromkeys(("env", "cwd", "sandbox"), STARTED_HERE),
    **dict.fromkeys(
        ("header", "bearer", "negotiate", "proxy", "proxy_negotiate", "ca_file", "insecure"), _WEB
    ),
    "account": "a server with a login",
}
"""The options of a new connection, each with the kind of server that it needs."""


def spelled(name: str) -> str:
    """Return an option as it is typed."""
    return f"--{name.replace('_', '-')}"


def check_logs(trace: str | None, audit: str | None = None) -> None:
    """Raise `UsageError` for a trace or an audit log that cannot be written."""
    if trace is not None:
        from ..net.trace_writer import open_trace
        from .render import writing

        with writing(trace, "the trace"):
            open_trace(trace).close()
    if audit is not None:
        from ..net.chained_log import open_log
        from .render import writing

        with writing(audit, "the audit log"):
            os.close(open_log(audit))
