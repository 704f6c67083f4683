"""The commands of the shell by name, and ``help``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import UsageError
from ...suggestions import there_is_no
from ..render import definitions
from . import own_commands, server_commands, watching
from .builtin import Builtin
from .outcome import Finding
from .session import Session
from .words import Word

_NOTES = """\
TOOL key=value ...       call a tool: its name is a command
SERVER.TOOL ...          call a tool of another server
LINE &                   in the background: see jobs, cancel, wait
LINE > FILE              write the answer to a file
LINE | PROGRAM WORD ...  hand the answer to one program
_   _.content[0].text    the last result, and parts of it
Arguments: key=value, key:=json, key=@file, or all as one JSON object or @file."""


async def _help(session: Session, words: Sequence[Word]) -> Finding:
    if words:
        return Finding(_about(words[0].text))
    rows = [
        (f"{command.name} {command.usage}".strip(), command.summary)
        for command in (*COMMANDS.values(), *_IN_LINES)
    ]
    columns = session.screen.style.columns
    return Finding(f"{definitions(sorted(rows), columns and columns - 1)}\n\n{_NOTES}")


def _about(name: str) -> str:
    command = {**COMMANDS, **{each.name: each for each in _IN_LINES}}.get(name)
    if command is None:
        otherwise = f"for a tool, see: tool {name}"
        raise UsageError(there_is_no("command", name, COMMANDS, otherwise=otherwise))
    return "\n".join(
        filter(None, (f"{command.name} {command.usage}", command.summary, command.details))
    )


# What these mean is settled before a line has commands and words: see `saved`.
_IN_LINES = (
    Builtin(
        "save",
        "NAME LINE",
        "keep a line under a name",
        _help,
        details="What is typed is kept for other sessions, but for lines that hold a secret.",
    ),
    Builtin("forget", "NAME", "drop the line that is kept under a name", _help),
    Builtin("run", "NAME", "run the line that is kept under a name", _help),
)

COMMANDS: Mapping[str, Builtin] = {
    command.name: command
    for command in (
        *server_commands.COMMANDS,
        *own_commands.COMMANDS,
        *watching.COMMANDS,
        Builtin("help", "[COMMAND]", "show this, or what a command does", _help, most=1),
    )
}

SUMMARIES = {each.name: each.summary for each in (*COMMANDS.values(), *_IN_LINES)}
"""Every first word that means something by itself, with what it does."""
