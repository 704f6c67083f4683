"""The commands by name, so that only the one that is asked for is imported."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # see mcpclient/__init__.py
if TYPE_CHECKING:
    from .command import AnyCommand

COMMANDS = {
    "info": "who the server is, and what it can do",
    "tools": "list the tools, or describe one",
    "call": "call a tool",
    "resources": "list the resources and the resource templates",
    "read": "read a resource",
    "prompts": "list the prompts; optional arguments stand in [brackets]",
    "prompt": "fill in a prompt",
    "complete": "suggest values for an argument of a prompt or of a resource template",
    "listen": "show what a server says without being asked",
    "servers": "the configured servers, and how each of them is",
    "add": "write a server into a configuration file",
    "remove": "take a server out of a configuration file",
    "lock": "write down the tools of the servers, or compare them with that",
    "doctor": "find out, in order, what is wrong with a server",
    "ping": "see whether the server answers, and how fast",
    "shell": "type lines to one or many servers, or run them from a file",
    "record": "run another command, and record its session in a file",
    "replay": "run a command on a recorded session, or show what was recorded",
    "inspect": "see in the browser what happens between client and server",
    "auth": "log in to a server, log out, or see where you are logged in",
    "vendor": "copy this package, or parts of it, into another project",
    "completion": "a script that lets bash, zsh or fish complete the words",
    "help": "show a chapter of the guide, or explain an exit code or an exception",
}
"""The commands in the order of ``--help``, each with what it does. Each has a module of its name,
and that has the `Command` as ``COMMAND``."""


def command_named(name: str) -> AnyCommand:
    """Return the command of a name that is in the table."""
    command: AnyCommand = import_module(f".{name}", __package__).COMMAND
    return command
