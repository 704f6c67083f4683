"""The entry point of ``mcpclient COMMAND …``: the commands, the exit codes, and the streams.

Fast startup is a feature: ``--version`` and ``--help`` import little more than this module, and
each command imports only its own modules.
"""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module

from .. import __version__

TYPE_CHECKING = False  # see mcpclient/__init__.py
if TYPE_CHECKING:
    from typing import TextIO

    from .command import AnyCommand

FAILED = 1
"""A tool, a comparison or an expectation failed."""

USAGE = 2
NO_CONNECTION = 3
NEEDS_AUTH = 4
PROTOCOL_ERROR = 5
TIMEOUT = 124
CANCELLED = 130
SIGNALLED = 128
"""Plus the number of the signal that has ended a command: SIGTERM, SIGHUP."""

_COLUMNS = 80  # of a terminal that does not tell its width

COMMANDS = {
    "info": "show the identity and the capabilities of the server",
    "tools": "list the tools, or describe one",
    "call": "call a tool",
    "tasks": "list the tasks that the server keeps",
    "task": "show the state of a task, wait for its result, or cancel it",
    "resources": "list the resources and the resource templates",
    "read": "read a resource",
    "prompts": "list the prompts, with optional arguments in [brackets]",
    "prompt": "fill in a prompt",
    "complete": "suggest values for an argument of a prompt or a template",
    "listen": "show the notifications of a server as they arrive",
    "servers": "show the configured servers and the state of each",
    "find": "find tools, prompts and resources of all servers by words",
    "add": "add a server to a configuration file",
    "remove": "remove a server from a configuration file",
    "lock": "lock the definitions of all tools, or compare them with the lock",
    "doctor": "check a server step by step, with a hint for each problem",
    "ping": "measure how fast the server answers",
    "shell": "talk to one or many servers line by line, or run a file of lines",
    "open": "keep a server open in the background for other commands",
    "sessions": "show the open sessions, or the log of one",
    "close": "end sessions",
    "record": "run another command, and record its session in a file",
    "replay": "run a command on a recorded session, or list its content",
    "inspect": "watch client and server in the browser",
    "audit": "verify an audit log, or show its lines",
    "auth": "log in to a server, log out, or see where you are logged in",
    "bridge": "be a stdio server in front of another server",
    "stubs": "write typed Python for the tools of a server, or compare it",
    "vendor": "copy this package, or parts of it, into another project",
    "completion": "print a completion script for bash, zsh or fish",
    "help": "show a chapter of the guide, or explain an error",
}
"""The commands in the order of ``--help``, each with a summary."""


# The modules that hold several commands, each declared by its name.
MODULES = {
    **dict.fromkeys(("info", "resources", "read", "prompts"), "features"),
    **dict.fromkeys(("prompt", "complete", "listen", "ping"), "features"),
    **dict.fromkeys(("tools", "call", "tasks", "task"), "features"),
    **dict.fromkeys(("servers", "find", "lock"), "servers"),
    **dict.fromkeys(("add", "remove"), "adding"),
    **dict.fromkeys(("record", "replay", "audit"), "recordings"),
    **dict.fromkeys(("open", "sessions", "close"), "sessions"),
    "completion": "help",
    "shell": "shell.shell",
}


def command_named(name: str) -> AnyCommand:
    """Import and return the command that has this name in the table."""
    import_module(f".{MODULES.get(name, name)}", __package__)
    command: AnyCommand = import_module(".command", __package__).DECLARED[name]
    return command


_OVERVIEW = """\
usage: mcpclient COMMAND [OPTION ...] [SERVER] [WORD ...] [-- SERVER-COMMAND ...]

Talk to a Model Context Protocol server.

commands (each has --help):
{commands}

SERVER is the name of a configured server, a URL, a script or a bundle (.mcpb); \
or it is the command line that starts it, at the end, after --

examples:
  mcpclient tools http://localhost:3001/mcp
  mcpclient call http://localhost:3001/mcp echo message=hi
  mcpclient call echo message=hi -- npx -y my-server stdio

exit codes:
  0    ok
  1    the tool failed
  2    usage
  3    no connection
  4    authorization is needed
  5    the server refused the request, or broke the protocol
  124  timeout
  130  Ctrl-C

options:
  --help, --version; of each command --json, --debug and more
"""


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code.

    ``argv``: the words after the program's name, by default those of this process. ``--help`` of a
    command raises SystemExit.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["--version"]:
        return _print(f"mcpclient {__version__}\n")
    if not words or words[0] in ("--help", "-h"):
        listed = (f"  {name:11} {summary}" for name, summary in COMMANDS.items())
        return _print_filled(_OVERVIEW.format(commands="\n".join(listed)))
    if words[0] == "__complete":
        return _print(import_module(".help", __package__).complete(words[1:]))
    try:
        code: int = import_module(".running", __package__).run(words)
    except KeyboardInterrupt:  # while that was still being imported
        return CANCELLED
    return code


def _print_filled(text: str) -> int:
    layout = import_module(".layout", __package__)
    return _print(layout.fill(text, columns_of(sys.stdout) or _COLUMNS))


def _print(text: str) -> int:
    failure = write_to(sys.stdout, text)
    if failure is None:
        return 0
    write_to(sys.stderr, f"error: cannot write to stdout: {failure}\n")
    return USAGE


# The streams, which may be closed, full, missing, or of another encoding


def write_to(stream: TextIO | None, content: str | bytes) -> str | None:
    """Write text, or bytes unchanged, and flush. Return None, or the reason of a failure.

    Characters that the encoding lacks are escaped. A closed pipe (``| head``) is not a failure.
    """
    if stream is None:
        return "it is closed"
    try:
        if isinstance(content, bytes):
            stream.flush()
            stream.buffer.write(content)
        else:
            encoding = stream.encoding or "utf-8"
            stream.write(content.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except ValueError:  # Python's word for a stream that was closed
        return "it is closed"
    except OSError as error:
        # The descriptor itself is replaced, since Python flushes its streams once more at exit.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        # Windows reports EINVAL for a pipe whose other end is closed.
        is_pipe = sys.platform == "win32" and error.errno == errno.EINVAL
        is_reader_gone = is_pipe or isinstance(error, BrokenPipeError)
        return None if is_reader_gone else error.strerror or str(error)
    return None


def is_terminal(stream: TextIO | None) -> bool:
    """Whether the stream is a terminal; False if it is closed."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def columns_of(stream: TextIO | None) -> int | None:
    """Return the current width of a terminal, or ``COLUMNS`` if set; None for other streams."""
    if not is_terminal(stream):
        return None
    assert stream is not None
    try:
        return int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        pass
    try:
        return os.get_terminal_size(stream.fileno()).columns or _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS
