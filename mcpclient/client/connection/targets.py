"""The targets that a caller names as servers: the way to each, and its default name."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Union

from ...display import shown_command
from ...errors import UsageError
from ...net.paths import absolute_path, is_bundle, with_home
from ...protocol.negotiation import PROBE, Era, era_of
from ...transports.base import Transport
from .options import Options, Route, refuse

if TYPE_CHECKING:
    from ...net.process.stderr import ProbeFilter, StderrTarget
    from .applications import AsgiApp, ServerObject

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
"""A URL, a command (string or list), a path to a script or a bundle, a configuration mapping, a
transport, an ASGI application, or a server object of the Python SDK or of fastmcp."""

_URL = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://")


def mapping_of(target: object) -> Mapping[str, Any] | None:
    """Return the entry that a target is, or that names the bundle that it is; None for others."""
    if is_bundle(target):
        return {"bundle": target}
    return target if isinstance(target, Mapping) else None


def route_to(target: Target, options: Options) -> Route:
    """Return the route to ``target``. Raises `UsageError` when it is not clear."""
    if isinstance(target, Transport):
        refuse(options, ("auth", "env", "cwd", "sandbox"), "a transport of your own")
        return Route(target.description, None, lambda: target)
    destination = destination_of(target)
    if isinstance(destination, str):
        if destination[:2].lower() == "ws":  # a copy that lacks more than one part names all
            from ...transports import websocket  # noqa: F401
        from .url_routes import route_to_url

        remote: Route = route_to_url(destination, options)
        return remote._replace(destination=destination)
    if destination is not None:
        return _to_command(destination, options)
    from .applications import route_to_application

    route: Route | None = route_to_application(target, options)
    if route is not None:
        return route
    # The target may hold a secret, so the message names only its type.
    kinds = [type(target), *map(type, target if isinstance(target, (list, tuple)) else ())]
    shown = " of ".join(dict.fromkeys(kind.__name__ for kind in kinds if kind is not str))
    raise UsageError(f"not a URL, a command, a script, a configuration or a transport: {shown}")


def destination_of(target: Target) -> str | list[str] | None:
    """Return the URL or the whole command of ``target``, for judging it; None: it has neither.

    A mapping is read first, see `client.configured`. Raises `UsageError` as `route_to` does.
    """
    if isinstance(target, str) and _URL.match(target):
        return target
    if isinstance(target, (str, os.PathLike)):
        return _command_of(target)
    if isinstance(target, Sequence) and all(isinstance(one, (str, os.PathLike)) for one in target):
        return [os.fspath(part) for part in target]
    return None


def _command_of(text: str | os.PathLike[str]) -> list[str]:
    from ...net.process.launch import INTERPRETERS

    path = with_home(os.fspath(text))
    interpreter = INTERPRETERS.get(os.path.splitext(path)[1].lower())
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
    import shlex

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
    folder = absolute_path() if options.cwd is None else os.fspath(options.cwd)
    return Route(
        shown_command(command),
        repr((command, folder)),
        launches.first,
        open_again=launches.again,
        destination=command,
        opened=launches.opened,
    )


class _Launches:
    """Makes the transports of a server process, and hides its output about the probe."""

    def __init__(self, command: list[str], options: Options) -> None:
        self._command = command
        self._options = options
        self._first: tuple[ProbeFilter, Transport] | None = None

    def first(self) -> Transport:
        from ...net.process.stderr import ProbeFilter

        stderr = ProbeFilter(self._options.stderr, PROBE)
        transport = self._transport(stderr)
        self._first = stderr, transport
        return transport

    def again(self) -> Transport:
        """Return a transport that starts the server again after it exited at the first start."""
        assert self._first is not None, "there was no first start"
        stderr, transport = self._first
        stderr.restarted()
        return self._transport(self._options.stderr, transport.skipped)

    def opened(self, version: str | None) -> None:
        """Show the server's output, but that about the probe only unless it refused the probe."""
        assert self._first is not None, "there was no start"
        is_refused = version is not None and era_of(version) is Era.HANDSHAKE
        self._first[0].decide(is_unknown=is_refused)

    def _transport(self, stderr: StderrTarget, known: Sequence[str] = ()) -> Transport:
        from ...transports.stdio import StdioTransport

        options, sandbox = self._options, None
        if options.sandbox is not None:
            from ...sandbox.rights import Sandbox

            sandbox = Sandbox.of(options.sandbox)
        recorder = options.network.recorder
        if recorder is not None:
            from ...net.process.stderr import StderrCopy

            recorder.learn(options.env or {})
            # A transcript that begins later gets the lines from then on.
            stderr = StderrCopy(stderr, recorder.stderr_line, lambda: recorder.is_on)
        return StdioTransport(
            self._command,
            env=options.env,
            inherit_env=options.inherit_env,
            cwd=options.cwd,
            stderr=stderr,
            ladder=options.stop_ladder,
            sandbox=sandbox,
            max_message_size=options.max_message_size,
            known_lines=known,
            peer=options.name or "",
        )
