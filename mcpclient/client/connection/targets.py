"""What a caller may name as a server, and how it is reached."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Literal, Union

from ...display import shown_command
from ...errors import UsageError
from ...lazy import OnDemand
from ...net.paths import absolute_path
from ...net.process.stderr import (
    FirstStart,
    SecondStart,
    StderrCopy,
    StderrTarget,
    WithheldComplaint,
)
from ...protocol.negotiation import PROBE, Era, era_of
from ...transports.base import Transport
from ...transports.stdio import StdioTransport
from .options import Options, Route, refuse

if TYPE_CHECKING:
    import difflib
    import shlex

    from ...sandbox import rights
    from ...sandbox.rights import Sandbox
    from . import applications, url_routes
    from .applications import AsgiApp, ServerObject
else:
    difflib = OnDemand("difflib")
    shlex = OnDemand("shlex")
    rights = OnDemand("...sandbox.rights", __name__)
    applications = OnDemand(".applications", __name__)
    url_routes = OnDemand(".url_routes", __name__)

Target = Union[
    str,
    "os.PathLike[str]",
    Sequence[str],
    Mapping[str, Any],
    Transport,
    Callable[[Any, Any, Any], Awaitable[None]],
    "AsgiApp",
    "ServerObject",
]
"""A URL, a command (string or list), a path to a script, a configuration mapping, a transport, an
ASGI application, or a server object of the Python SDK or of fastmcp."""

# Which program runs a script, by the ending of its name.
_INTERPRETERS = {
    ".py": sys.executable,
    ".js": "node",
    ".mjs": "node",
    ".cjs": "node",
}

SCRIPT_ENDINGS = tuple(_INTERPRETERS)
"""How the names of scripts end that are run as they are."""

_URL = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://")


def route_to(target: Target, options: Options) -> Route:
    """Return how to reach what ``target`` names. Raises `UsageError` when that is not clear."""
    if isinstance(target, Transport):
        refuse(options, ("auth", "env", "cwd", "sandbox"), "a transport of your own")
        return Route(target.description, None, lambda: target)
    if isinstance(target, Mapping):
        return _configured(target, options)
    if isinstance(target, str) and _URL.match(target):
        return _to_url(target, options)
    if isinstance(target, (str, os.PathLike)):
        return _to_command(_command_of(target), options)
    if isinstance(target, Sequence) and all(
        isinstance(part, (str, os.PathLike)) for part in target
    ):
        return _to_command([os.fspath(part) for part in target], options)
    route = applications.route_to_application(target, options)
    if route is not None:
        return route
    # Whatever it is, it may hold a secret: only its type is told.
    kinds = [type(target), *map(type, target if isinstance(target, (list, tuple)) else ())]
    shown = " of ".join(dict.fromkeys(kind.__name__ for kind in kinds if kind is not str))
    raise UsageError(f"not a URL, a command, a script, a configuration or a transport: {shown}")


def destination_of(target: Target) -> str | list[str] | None:
    """Return the URL or the whole command that connecting to ``target`` uses, for judging it.

    None for a transport, which is neither. Raises `UsageError` as `route_to` does.
    """
    if isinstance(target, Mapping):
        entry = entry_of(target)
        return entry["url"] if isinstance(entry.get("url"), str) else _words_in(entry)
    if isinstance(target, str) and _URL.match(target):
        return target
    if isinstance(target, (str, os.PathLike)):
        return _command_of(target)
    return [os.fspath(part) for part in target] if isinstance(target, Sequence) else None


def _command_of(text: str | os.PathLike[str]) -> list[str]:
    path = os.path.expanduser(os.fspath(text))
    interpreter = _INTERPRETERS.get(os.path.splitext(path)[1].lower())
    if interpreter is not None and os.path.exists(path):
        return [interpreter, os.path.abspath(path)]  # the server may start in another folder
    if os.path.isfile(path) and (isinstance(text, os.PathLike) or os.path.dirname(path)):
        return [os.path.abspath(path)]
    if isinstance(text, os.PathLike) or os.path.isfile(path):
        return [path]  # a bare name, to be searched on PATH
    try:
        return words_of(path)
    except ValueError as error:
        raise UsageError(f"not a command line: {shown_command([path])!r}: {error}") from None


def words_of(text: str, *, windows: bool = os.name == "nt") -> list[str]:
    """Split a command line as a shell does. On Windows a backslash separates folders.

    Raises ValueError for a quote that does not close.
    """
    if not windows:
        return shlex.split(text)
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = lexer.escape = ""
    lexer.quotes = '"'
    return list(lexer)


def _to_command(command: list[str], options: Options) -> Route:
    if not command:
        raise UsageError("the command is empty")
    if options.transport not in (None, "stdio"):
        raise UsageError(f"transport={options.transport!r} needs a URL, not a command")
    refuse(options, ("auth", "headers"), "a command")

    launches = _Launches(command, options)
    key = repr((command, absolute_path() if options.cwd is None else os.fspath(options.cwd)))
    shown = shown_command(command)
    return Route(
        shown,
        key,
        launches.first,
        open_again=launches.again,
        destination=command,
        opened=launches.opened,
    )


class _Launches:
    """Makes the transports of a server process.

    What it writes besides messages is not shown again when it is started a second time, nor what it
    writes about the probe, if it is of the handshake era.
    """

    def __init__(self, command: list[str], options: Options) -> None:
        self._command = command
        self._options = options
        self._first: tuple[FirstStart, Transport] | None = None
        self._complaint: WithheldComplaint | None = None

    def first(self) -> Transport:
        """Return a transport that starts the server."""
        self._complaint = WithheldComplaint(self._options.stderr, PROBE)
        stderr = FirstStart(self._complaint)
        transport = self._transport(stderr)
        self._first = stderr, transport
        return transport

    def again(self) -> Transport:
        """Return one that starts it because it has ended at the first start."""
        assert self._first is not None, "there was no first start"
        stderr, transport = self._first
        if self._complaint is not None:
            self._complaint.restarted()
        return self._transport(SecondStart(stderr), transport.skipped)

    def opened(self, version: str | None) -> None:
        """Show what the server wrote about the probe, unless that was refused."""
        if self._complaint is not None:
            is_refused = version is not None and era_of(version) is Era.HANDSHAKE
            self._complaint.decide(is_unknown=is_refused)

    def _transport(self, stderr: StderrTarget, known: Sequence[str] = ()) -> Transport:
        options = self._options
        recorder = options.network.recorder
        if recorder is not None:
            recorder.learn(options.env or {})
            # Whoever begins to listen, now or later, hears it, too.
            stderr = StderrCopy(stderr, recorder.stderr_line, lambda: recorder.is_on)
        return StdioTransport(
            self._command,
            env=options.env,
            inherit_env=options.inherit_env,
            cwd=options.cwd,
            stderr=stderr,
            ladder=options.stop_ladder,
            sandbox=None if options.sandbox is None else rights.Sandbox.of(options.sandbox),
            max_message_size=options.max_message_size,
            known_lines=known,
            peer=options.name or "",
        )


def _to_url(text: str, options: Options) -> Route:
    return url_routes.route_to_url(text, options)._replace(destination=text)


TRANSPORT_NAMES: dict[str, str | None] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "https": "http",
    "http-stream": "http",
    "streamable": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamablehttp": "http",
    "sse": "sse",
    "ws": "ws",
    "websocket": "ws",
    "socket": "socket",
    "remote": None,
}
"""What configuration files call the transports, in lower case; None: found out from the URL."""

TRANSPORTS = tuple(dict.fromkeys(filter(None, TRANSPORT_NAMES.values())))
"""The values of the option ``transport``."""


# The keys of an entry. Those that only other programs read are here to be no misspelling of these.
_KEYS = (
    *("command", "args", "env", "environment", "cwd", "url", "headers", "type", "transport"),
    *("mcpServers", "envFile", "enabled", "disabled", "timeout", "tools", "auth", "oauth", "name"),
    *("sandbox", "sandboxEnabled"),
)


def _configured(config: Mapping[str, Any], options: Options) -> Route:
    """Read one server's entry as the usual configuration files write it."""
    config = entry_of(config)
    _refuse_misspelled(config)
    kind = config.get("type") or config.get("transport")
    if kind is not None:
        if not isinstance(kind, str) or kind.lower() not in TRANSPORT_NAMES:
            raise UsageError(f"unknown transport type in the configuration: {kind!r}")
        options = options._replace(transport=options.transport or TRANSPORT_NAMES[kind.lower()])
    if isinstance(config.get("url"), str):
        headers = options.headers or _mapping_in(config, "headers")
        return _to_url(config["url"], options._replace(headers=headers))
    words = _words_in(config)
    cwd = options.cwd or config.get("cwd")
    if cwd is not None and not isinstance(cwd, (str, os.PathLike)):
        raise UsageError("cwd in a server's configuration is a string")
    return _to_command(
        words,
        options._replace(
            env=options.env or _mapping_in(config, "env") or _mapping_in(config, "environment"),
            cwd=cwd,
            sandbox=_sandbox_of(options.sandbox, config),
        ),
    )


def _sandbox_of(
    given: Sandbox | Literal["required"] | None, config: Mapping[str, Any]
) -> Sandbox | Literal["required"] | None:
    """Return the sandbox that a caller gives, or else the one that the entry states."""
    states_one = "sandbox" in config or "sandboxEnabled" in config
    if states_one and (given is None or given == "required"):
        return rights.sandbox_in(config) or given
    return given


def _refuse_misspelled(config: Mapping[str, Any]) -> None:
    """Raise `UsageError` for a key that is nearly a known one; others are for other programs."""
    for name in config:
        if isinstance(name, str) and name not in _KEYS:
            near = difflib.get_close_matches(name, _KEYS, n=1, cutoff=0.8)
            if near:
                raise UsageError(
                    f"unknown key {name!r} in a server's configuration; did you mean {near[0]!r}?"
                )


def entry_of(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the one entry of ``{"mcpServers": {…}}``, or what is one already."""
    servers = config.get("mcpServers")
    if not isinstance(servers, Mapping):
        return config
    if len(servers) != 1:
        names = ", ".join(map(repr, servers)) or "none"
        raise UsageError(
            f"a client connects to one server, and the configuration names {len(servers)}: "
            f"{names}; give the entry of one, or use mcpclient.connect_all() for all"
        )
    entry = next(iter(servers.values()))
    if not isinstance(entry, Mapping):
        raise UsageError("a server's configuration is a mapping")
    return entry


def _words_in(entry: Mapping[str, Any]) -> list[str]:
    """Return the whole command of an entry."""
    command = entry.get("command")
    if not command:
        found = ", ".join(map(repr, entry)) or "nothing"
        raise UsageError(f"a server's configuration needs a command or a url; it has {found}")
    arguments = entry.get("args") or []
    if not isinstance(command, (str, list)) or not isinstance(arguments, (list, tuple)):
        raise UsageError("command and args in a server's configuration are a string and a list")
    words = [command] if isinstance(command, str) else [str(word) for word in command]
    return words + [str(argument) for argument in arguments]


def _mapping_in(config: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    value = config.get(name) or None
    if value is not None and not isinstance(value, Mapping):
        raise UsageError(f"{name} in a server's configuration is a mapping")
    return value
