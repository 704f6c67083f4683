"""What ``mcpclient --help`` says."""

from __future__ import annotations

from .commands import COMMANDS

_COLUMNS = 80
_INDENT = 14

_OVERVIEW = """\
usage: mcpclient COMMAND [OPTION ...] [SERVER] [WORD ...] [-- SERVER-COMMAND ...]

Talk to a Model Context Protocol server.

commands (each has --help):
{commands}

SERVER is the name of a configured server, a URL or a script; or the server is
the command line that starts it, at the end, after --

examples:
  mcpclient tools http://localhost:3001/mcp
  mcpclient call http://localhost:3001/mcp echo message=hi
  mcpclient call echo message=hi -- npx -y my-server stdio

exit codes:
  0 ok   1 the tool failed   2 usage   3 no connection   4 authorization is needed
  5 the server refused or broke the protocol   124 timeout   130 Ctrl-C

options:
  --help, --version; of each command --json, --debug and more
"""


def overview() -> str:
    """Return the text of ``mcpclient --help``, at most 80 columns wide."""
    listed = (line for name, summary in COMMANDS.items() for line in _listed(name, summary))
    return _OVERVIEW.format(commands="\n".join(listed))


def _listed(name: str, summary: str) -> list[str]:
    """Return a command's lines: its name, and beside it what it does."""
    lines = [f"  {name}".ljust(_INDENT - 1)]
    for word in summary.split():
        if len(lines[-1]) + 1 + len(word) > _COLUMNS:
            lines.append(" " * (_INDENT - 1))
        lines[-1] += f" {word}"
    return lines
