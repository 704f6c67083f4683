"""What a caller may name as a server, and the transport that reaches it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Callable, Union

from ..errors import UsageError
from ..framing.uri import Url, parse_url
from ..transports.base import Transport
from ..transports.legacy_sse import LegacySseTransport
from ..transports.stdio import StdioTransport
from ..transports.streamable_http import StreamableHttpTransport
from .options import Options

__all__ = ["Route", "Target", "route_to"]

Target = Union[str, "os.PathLike[str]", Sequence[str], Mapping[str, Any], Transport]
"""A URL, a command (string or list), a path to a script, a configuration mapping, a transport."""

# Which program runs a script, by the ending of its name.
_INTERPRETERS = {
    ".py": sys.executable,
    ".js": "node",
    ".mjs": "node",
    ".cjs": "node",
}

_URL_SCHEMES = ("http://", "https://", "ws://", "wss://")


@dataclass(frozen=True)
class Route:
    """How to reach a server, as often as necessary.

    ``open`` makes a transport; ``open_legacy`` one for HTTP+SSE at the same URL, None where that
    is no possibility. ``key`` identifies the server for what is remembered of it.
    """

    shown: str
    key: str
    open: Callable[[], Transport]
    open_legacy: Callable[[], Transport] | None = None


def route_to(target: Target, options: Options) -> Route:
    """Find out what ``target`` names. Raises `UsageError` when that cannot be told."""
    if isinstance(target, Transport):
        return Route(target.description, f"transport:{id(target)}", lambda: target)
    if isinstance(target, Mapping):
        return _configured(target, options)
    if isinstance(target, str) and target.strip().lower().startswith(_URL_SCHEMES):
        return _to_url(target, options)
    if isinstance(target, (str, os.PathLike)):
        return _to_command(_command_of(target), options)
    if isinstance(target, Sequence) and all(
        isinstance(part, (str, os.PathLike)) for part in target
    ):
        return _to_command([os.fspath(part) for part in target], options)
    raise UsageError(f"not a URL, a command, a script, a configuration or a transport: {target!r}")


def _command_of(text: str | os.PathLike[str]) -> list[str]:
    path = os.fspath(text)
    interpreter = _INTERPRETERS.get(os.path.splitext(path)[1].lower())
    if interpreter is not None and os.path.exists(path):
        return [interpreter, path]
    if isinstance(text, os.PathLike) or os.path.isfile(path):
        return [path]
    try:
        return shlex.split(path, posix=os.name != "nt")
    except ValueError as error:
        raise UsageError(f"not a command line: {path!r}: {error}") from None


def _to_command(command: list[str], options: Options) -> Route:
    if not command:
        raise UsageError("the command is empty")
    if options.transport not in (None, "stdio"):
        raise UsageError(f"transport={options.transport!r} needs a URL, not a command")

    def open_stdio() -> Transport:
        return StdioTransport(
            command,
            env=options.env,
            inherit_env=options.inherit_env,
            cwd=options.cwd,
            stderr=options.stderr,
            ladder=options.stop_ladder,
            max_message_size=options.max_message_size,
        )

    key = repr((command, os.fspath(options.cwd) if options.cwd is not None else os.getcwd()))
    return Route(shlex.join(command), key, open_stdio)


def _to_url(text: str, options: Options) -> Route:
    url = parse_url(text)
    if url.scheme not in ("http", "https"):
        raise UsageError(f"no transport for {url.scheme} URLs: {url.shown}")
    if options.transport not in (None, "http", "sse"):
        raise UsageError(f"transport={options.transport!r} does not fit {url.shown}")

    def open_http() -> Transport:
        return StreamableHttpTransport(
            url,
            headers=options.headers,
            max_message_size=options.max_message_size,
            listen_wait=options.listen_wait,
            liveness=options.liveness,
        )

    def open_sse() -> Transport:
        return LegacySseTransport(
            url, headers=options.headers, max_message_size=options.max_message_size
        )

    if options.transport == "sse":
        return Route(url.shown, f"sse:{url}", open_sse)
    legacy = open_sse if options.transport is None else None
    return Route(url.shown, _key_of(url), open_http, legacy)


def _key_of(url: Url) -> str:
    return f"http:{url.scheme}://{url.authority}{url.path}"


# The names that configuration files use for the transports.
_TRANSPORT_NAMES = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "sse": "sse",
    "remote": None,
}


def _configured(config: Mapping[str, Any], options: Options) -> Route:
    """Read one server's entry as the usual configuration files write it."""
    servers = config.get("mcpServers")
    if isinstance(servers, Mapping):
        if len(servers) != 1:
            raise UsageError(f"a client connects to one server; configured are {len(servers)}")
        return _configured(next(iter(servers.values())), options)
    kind = config.get("type") or config.get("transport")
    if kind is not None:
        if kind not in _TRANSPORT_NAMES:
            raise UsageError(f"unknown transport type in the configuration: {kind!r}")
        options = replace(options, transport=options.transport or _TRANSPORT_NAMES[kind])
    if isinstance(config.get("url"), str):
        headers = config.get("headers")
        if headers and options.headers is None:
            options = replace(options, headers=headers)
        return _to_url(config["url"], options)
    command = config.get("command")
    if not command:
        raise UsageError("a server's configuration needs a command or a url")
    words = [command] if isinstance(command, str) else list(command)
    words += [str(argument) for argument in config.get("args", ())]
    return _to_command(
        words,
        replace(
            options,
            env=options.env or config.get("env") or config.get("environment"),
            cwd=options.cwd or config.get("cwd"),
        ),
    )
