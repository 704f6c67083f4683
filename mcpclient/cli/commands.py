"""The commands by name, and their exit codes; each command is imported when it is run."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # see mcpclient/__init__.py
if TYPE_CHECKING:
    from .command import AnyCommand

FAILED = 1
"""A tool, a comparison or an expectation failed."""

USAGE = 2
NO_CONNECTION = 3
NEEDS_AUTH = 4
PROTOCOL_ERROR = 5
TIMEOUT = 124
CANCELLED = 130
TERMINATED = 143
"""The command was ended by SIGTERM or SIGHUP, and has stopped its servers."""

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
    "approve": "agree to servers of a project's file, or take that back",
    "add": "add a server to a configuration file",
    "remove": "remove a server from a configuration file",
    "lock": "lock the definitions of all tools, or compare them with the lock",
    "doctor": "check a server step by step, with a hint for each problem",
    "check": "judge a server, as its author and CI do: protocol, schemas, descriptions",
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
    "bridge": "be a stdio server in front of one server or many",
    "stubs": "write typed Python for the tools of a server, or compare it",
    "vendor": "copy this package, or parts of it, into another project",
    "completion": "print a completion script for bash, zsh or fish",
    "help": "show a chapter of the guide, or explain an error",
}
"""The commands in the order of ``--help``, each with a summary."""


# The modules that hold several commands, each declared by its name.
MODULES = {
    **dict.fromkeys(("info", "resources", "read", "prompts"), "features"),
    **dict.fromkeys(("prompt", "complete", "ping"), "features"),
    **dict.fromkeys(("tools", "call", "tasks", "task"), "features"),
    **dict.fromkeys(("servers", "find", "lock"), "servers"),
    **dict.fromkeys(("add", "remove"), "adding"),
    "approve": "approving",
    **dict.fromkeys(("record", "replay", "audit"), "recordings"),
    **dict.fromkeys(("open", "sessions", "close"), "sessions"),
    "completion": "help",
    "shell": "shell.shell",
}


def command_named(name: str) -> AnyCommand:
    """Import and return the command that has this name in the table."""
    import_module(f".{MODULES.get(name, name)}", __package__)
    from .command import DECLARED

    command: AnyCommand = DECLARED[name]
    return command
