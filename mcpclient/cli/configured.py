"""The servers of configuration files, as the command line finds and shows them."""

from __future__ import annotations

import getpass
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..config.config import Config, ServerConfig
from ..config.scopes import discover_configs
from ..display import shown_command, shown_url
from ..entries.applications import APPLICATIONS
from ..entries.variables import InputsOption, InputSpec
from ..errors import ServerUnavailable, UsageError
from ..framing.escaping import escape_line
from ..gate.gate import Approvals
from ..gate.load import load_config
from ..net.login.storage import keep_answer
from ..net.login.terminal import Terminal
from ..suggestions import did_you_mean, there_are
from .command import Server
from .layout import fill, wrapped
from .output import columns_of

OURS = ("mcpclient", "claude-code")
"""The applications whose files apply to this folder, and whose entries are like ours."""


_CONNECT = "Connect to it, now and from now on?"


def configured(
    name: str,
    path: str | None,
    line: str = "",
    *,
    unseen: bool = False,
    otherwise: Server | None = None,
) -> tuple[Server, str]:
    """Return the named server, from the file at ``path`` or from those that apply to this folder.

    The second item is the tool that ``server.tool`` or ``server__tool`` names, otherwise "".
    ``line``: a suggestion for a name that is not configured. ``unseen``: as `load` has
    ``foreign``. ``otherwise``: the server that the name means by itself, as a path does. A disabled
    server is connected when it is named, with a note that says so. On a terminal the user is asked
    to agree to a server of a project's file, and for the inputs that it needs. Raises `UsageError`
    for a name that is not configured, or an entry that cannot be used, and `ServerUnavailable` for
    a server that may not be connected.
    """
    config = _asked(name, path, unseen)
    server = config.servers.get(name)
    if server is not None:
        return server_of(server, config), ""
    own, application = split_application(name)
    for place in paths_of(application) if own and application and path is None else ():
        foreign = _asked(own, place, True)
        if own in foreign.servers:
            return server_of(foreign.servers[own], foreign, name), ""
    owner, tool = split_name(name, config.servers)
    if tool:
        return configured(owner, path)[0], tool
    is_known = name in {each.server for each in config.problems}
    is_told = path is not None and not config.servers  # the error says why
    if otherwise is None or is_known or is_told:
        raise _not_there(name, config, line, path)
    return otherwise, ""


def split_application(word: str) -> tuple[str, str]:
    """Return the server and the application in ``NAME@APPLICATION``; for others the word and ""."""
    name, _, application = word.rpartition("@")
    return (name, application) if application in APPLICATIONS else (word, "")


def paths_of(application: str) -> list[str]:
    """Return the files of an application that are on this machine."""
    return [place.path for place in discover_configs() if place.application == application]


def is_name(name: str, path: str | None) -> bool:
    """Whether a name belongs to a configured server."""
    try:
        return name in load(path).servers
    except UsageError:
        return False


def _asked(name: str, path: str | None, foreign: bool) -> Config:
    """Load the configuration; on a terminal the user agrees to one server, and gives its inputs."""
    terminal = Terminal()
    config = load(path, enabled=name, foreign=foreign)
    wanted, server = config.inputs.get(name), config.servers.get(name)
    is_refused = server is not None and server.state != "ready"
    if not wanted or is_refused or not terminal.is_interactive:
        return config

    def ask(spec: InputSpec) -> str | None:
        return ask_for_input(spec, terminal) if spec.id in wanted else None

    return load(path, enabled=name, inputs=ask, foreign=foreign)


def split_name(name: str, servers: Iterable[str]) -> tuple[str, str]:
    """Return the server and the tool in ``server.tool`` or ``server__tool``, two "" for others."""
    found = [each for each in servers if name.startswith((f"{each}.", f"{each}__"))]
    server = max(found, key=len, default="")
    rest = name[len(server) :]
    return (server, rest[1 if rest[0] == "." else 2 :]) if server else ("", "")


def server_of(server: ServerConfig, config: Config, typed: str = "") -> Server:
    """Return a configured server as a command takes it, with the problems of its entry.

    ``typed``: its name as the user typed it, where that differs. Raises `ServerUnavailable` for one
    that may not be connected.
    """
    name = server.name
    if server.state != "ready":
        raise _unavailable(server, typed or name)
    options = {**server.options, "name": name, "trusted": server.trusted}
    disabled = f"{name!r} is disabled in {server.source}; it is connected because you named it"
    warnings = [str(each) for each in config.problems if each.server == name]
    return Server(server.target, options, "" if server.enabled else disabled, warnings, server)


def _unavailable(server: ServerConfig, typed: str) -> ServerUnavailable:
    error = ServerUnavailable(server.name, server.state, server.reason)
    if server.state == "needs_approval":
        if Terminal().is_interactive:  # and the user has just said no
            error.advise(f"To be asked again: mcpclient approve {shlex.quote(typed)}")
        else:
            name, file = shlex.quote(server.name), shlex.quote(server.source)
            error.advise(
                "Run it on a terminal to be asked, or vouch for its file by naming it: "
                f"{name} --config {file}"
            )
    return error


def load(
    path: str | None,
    *,
    enabled: str | None = None,
    inputs: InputsOption = None,
    foreign: bool = False,
    otherwise: str | None = None,
    say: Callable[[str], object] | None = None,
) -> Config:
    """Load the configuration; the user is asked about the server ``enabled`` only, on a terminal.

    ``foreign``: the user has not named the file, so its servers need approval as well. Raises
    `UsageError` for a named file that does not exist, and ``otherwise`` where there are no servers.
    ``say`` takes each problem of the files.
    """
    if path is not None:
        try:
            os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            raise UsageError(f"there is no file {path!r}") from None
        except OSError:
            pass  # its reader says why

    def ask(server: ServerConfig) -> bool:
        note = ", which you have not agreed to yet"
        return server.name == enabled and agrees(_CONNECT, [server], note)

    is_named = path is not None and not foreign
    approvals = None if is_named else Approvals(ask if Terminal().is_interactive else None)
    names = [] if enabled is None else [enabled]
    config = load_config(path, approvals=approvals, enabled=names, inputs=inputs)
    if otherwise is not None and not config.servers:
        raise none_configured(config, otherwise)
    if say is not None:
        for problem in config.problems:
            say(str(problem))
    return config


def none_configured(config: Config, said: str) -> UsageError:
    """Return the error for a configuration without servers, with the problems of its files."""
    return UsageError("\n".join([said, *map(str, config.problems)]))


def agrees(question: str, servers: Iterable[ServerConfig], note: str = "") -> bool:
    """Show everything that would run or be reached, and ask the user to agree to it."""
    columns = columns_of(sys.stderr)
    for server in servers:
        said = escape_line(f"{server.source} has a server {server.name!r}{note}:")
        shown = [fill(said, columns)]
        for line in server.sheet.lines() if server.sheet is not None else [shown_target(server)]:
            shown += wrapped(line, columns or sys.maxsize, "      ", "  ")
        print("\n".join(shown), file=sys.stderr, flush=True)
    return says_yes(question)


def says_yes(question: str) -> bool:
    """Ask a question with yes or no; no is the default."""
    return ask_line(f"{question} [y/N] ").lower() in ("y", "yes")


_ROOM = 3  # columns for a space, the answer and the cursor


def ask_line(prompt: str) -> str:
    """Ask for a line, which is typed behind the prompt; "" where none comes."""
    columns = columns_of(sys.stderr)
    shown = fill(escape_line(prompt.rstrip()), columns and columns - _ROOM)
    print(f"{shown} ", end="", file=sys.stderr, flush=True)
    try:
        return input().strip()
    except EOFError:
        return ""


def doctored(failed: Sequence[str], path: str | None) -> list[str]:
    """Return the line that names the doctor for the first of the failed servers of a file."""
    return [f"what to do about it: {_line('doctor', path, failed[0])}"] if failed else []


def _line(command: str, path: str | None, *words: str) -> str:
    return shlex.join(["mcpclient", command, *(["--config", path] if path else []), *words])


def shown_target(server: ServerConfig) -> str:
    """Return the target of a server's entry on one line, without possible secrets."""
    target = server.written if server.written is not None else server.target
    if isinstance(target, str):
        return escape_line(shown_url(target))
    if isinstance(target, Mapping) or not isinstance(target, (list, tuple)):
        return ""
    return escape_line(shown_command(list(map(str, target))))


def _not_there(name: str, config: Config, line: str, path: str | None) -> UsageError:
    about = [each for each in config.problems if each.server == name or not each.server]
    about.sort(key=lambda each: each.severity)  # errors before warnings
    broken = [str(each).replace(": error: ", ": ", 1) for each in about]
    is_known = any(each.server == name for each in about)
    if is_known or (broken and not config.servers):
        broken[0] = broken[0].replace(": warning: ", ": ", 1)
        listed = _line("servers", path, "--no-connect")
        return UsageError("\n".join(broken)).advise(
            f"Correct the file; {listed} lists all its problems."
        )
    hint = did_you_mean(name, config.servers) or there_are(config.servers)
    said = f"which server? The configuration has no server {name!r}; {hint}"
    error = UsageError("\n".join([said, *broken]))
    ways = "Or give a URL or a script first, or the server's command last, after --"
    return error.advise(f"{ways}:\n{line}" if line else ways)


_HIDDEN = "(what you type is not shown) "


def ask_for_input(spec: InputSpec, terminal: Terminal) -> str | None:
    """Ask for one input. None: there was no answer, so its default applies."""
    default = "" if spec.default is None else f" [{spec.default}]"
    terminal.say(escape_line(f"{spec.description or spec.id}{default}:"))
    numbered = {str(number): choice for number, choice in enumerate(spec.choices, 1)}
    for number, choice in numbered.items():
        terminal.say(escape_line(f"  {number}. {choice}"))
    try:
        typed = getpass.getpass(_HIDDEN, sys.stderr) if spec.password else input().strip()
    except EOFError:
        return None
    typed = numbered.get(typed, typed)
    if spec.kept and (typed or spec.need != "required" or spec.default):
        keep_answer(spec.kept, typed)
    return typed or None
