"""The entry point of ``mcpclient COMMAND …``.

Fast startup is a feature: ``--version`` and ``--help`` import little more than this module, and
each command imports only its own modules.
"""

from __future__ import annotations

import sys

from ..version import __version__
from .commands import CANCELLED, COMMANDS, USAGE
from .output import USUAL_COLUMNS, columns_of, write_to

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
  143  SIGTERM

options:
  --help, --version; of each command --json, --debug and more
"""


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code.

    ``argv``: the words after the program's name, by default this process's. ``--help`` of a
    command raises SystemExit.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["--version"]:
        return _print(f"mcpclient {__version__}\n")
    if not words or words[0] in ("--help", "-h"):
        listed = (f"  {name:11} {summary}" for name, summary in COMMANDS.items())
        return _print_filled(_OVERVIEW.format(commands="\n".join(listed)))
    if words[0] == "__complete":
        from .help import complete

        return _print(complete(words[1:]))
    try:
        from .running import run

        return run(words)
    except KeyboardInterrupt:  # while that was still being imported
        return CANCELLED


def _print_filled(text: str) -> int:
    from .layout import fill

    return _print(fill(text, columns_of(sys.stdout) or USUAL_COLUMNS))


def _print(text: str) -> int:
    failure = write_to(sys.stdout, text)
    if failure is None:
        return 0
    write_to(sys.stderr, f"error: cannot write to stdout: {failure}\n")
    return USAGE
