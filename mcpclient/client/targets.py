"""What a caller may name as a server, and the transport that reaches it."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Callable, Union

from ..errors import UsageError
from ..framing.uri import Url, parse_url
from ..net.dialing import Dialer
from ..net.websocket import WebSocketSettings
from ..transports.authorized import Authorizer, Credentials, authorizer_in, http_url
from ..transports.base import Transport
from ..transports.legacy_sse import LegacySseTransport
from ..transports.line_socket import LineSocketTransport
from ..transports.stdio import StdioTransport
from ..transports.streamable_http import StreamableHttpTransport
from ..transports.websocket import WebSocketTransport
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

_URL = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://")


@dataclass(frozen=True)
class Route:
    """How to reach a server, as often as necessary.

    ``open`` makes a transport; ``open_legacy`` one for HTTP+SSE at the same URL, None where that
    is no possibility. ``key`` identifies the server for what is remembered of it; None: nothing
    can be. ``authorizer`` is what its transports are given, where it is more than fixed headers.
    """

    shown: str
    key: str | None
    open: Callable[[], Transport]
    open_legacy: Callable[[], Transport] | None = None
    authorizer: Authorizer | None = None


def route_to(target: Target, options: Options) -> Route:
    """Find out what ``target`` names. Raises `UsageError` when that cannot be told."""
    if isinstance(target, Transport):
        _refuse_auth(options, "a transport of your own")
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
    _refuse_auth(options, "a command")

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


# What ``transport`` may be pinned to for the schemes of URLs.
_TRANSPORTS = {
    "http": ("http", "sse"),
    "https": ("http", "sse"),
    "ws": ("ws",),
    "wss": ("ws",),
    "tcp": ("socket",),
    "unix": ("socket",),
}


def _to_url(text: str, options: Options) -> Route:
    url = parse_url(text)
    if options.transport == "ws" and url.scheme in ("http", "https"):
        url = url._replace(scheme="ws" + url.scheme[len("http") :])
    if options.transport not in (None, *_TRANSPORTS[url.scheme]):
        raise UsageError(f"transport={options.transport!r} does not fit {url.shown}")
    dialer = Dialer(options.network)
    if url.scheme in ("tcp", "unix"):
        _refuse_auth(options, f"a {url.scheme} socket")
        return _to_socket(url, options, dialer)
    credentials = _credentials_for(url, options)
    if url.scheme in ("ws", "wss"):
        return _to_websocket(url, options, dialer, credentials)
    authorizer, _ = authorizer_in(credentials)

    def open_http() -> Transport:
        return StreamableHttpTransport(
            url,
            headers=options.headers,
            credentials=credentials,
            max_message_size=options.max_message_size,
            listen_wait=options.listen_wait,
            liveness=options.liveness,
            dialer=dialer,
        )

    def open_sse() -> Transport:
        return LegacySseTransport(
            url,
            headers=options.headers,
            credentials=credentials,
            max_message_size=options.max_message_size,
            dialer=dialer,
        )

    if options.transport == "sse":
        return Route(url.shown, f"sse:{url}", open_sse, authorizer=authorizer)
    legacy = open_sse if options.transport is None else None
    return Route(url.shown, _key_of(url), open_http, legacy, authorizer)


def _credentials_for(url: Url, options: Options) -> Credentials | None:
    auth = options.auth
    if auth is None:
        return None
    if isinstance(auth, str):
        if not auth.strip():
            raise UsageError("auth is an empty token")
        return {"Authorization": f"Bearer {auth.strip()}"}
    return auth.credentials(http_url(url), options.network)


def _refuse_auth(options: Options, target: str) -> None:
    if options.auth is not None:
        raise UsageError(f"auth needs an HTTP or WebSocket URL, not {target}")


def _to_websocket(
    url: Url, options: Options, dialer: Dialer, credentials: Credentials | None
) -> Route:
    settings = WebSocketSettings(
        options.max_message_size, options.ping_interval, options.ping_timeout
    )

    def open_websocket() -> Transport:
        return WebSocketTransport(
            url,
            headers=options.headers,
            credentials=credentials,
            settings=settings,
            dialer=dialer,
        )

    authorizer, _ = authorizer_in(credentials)
    return Route(url.shown, f"ws:{url}", open_websocket, authorizer=authorizer)


def _to_socket(url: Url, options: Options, dialer: Dialer) -> Route:
    def open_socket() -> Transport:
        return LineSocketTransport(url, max_message_size=options.max_message_size, dialer=dialer)

    return Route(url.shown, f"socket:{url}", open_socket)


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
    "ws": "ws",
    "websocket": "ws",
    "remote": None,
}


def _configured(config: Mapping[str, Any], options: Options) -> Route:
    """Read one server's entry as the usual configuration files write it."""
    servers = config.get("mcpServers")
    if isinstance(servers, Mapping):
        if len(servers) != 1:
            raise UsageError(f"a client connects to one server; configured are {len(servers)}")
        config = next(iter(servers.values()))
        if not isinstance(config, Mapping):
            raise UsageError("a server's configuration is a mapping")
    kind = config.get("type") or config.get("transport")
    if kind is not None:
        if not isinstance(kind, str) or kind not in _TRANSPORT_NAMES:
            raise UsageError(f"unknown transport type in the configuration: {kind!r}")
        options = replace(options, transport=options.transport or _TRANSPORT_NAMES[kind])
    if isinstance(config.get("url"), str):
        headers = options.headers or _mapping_in(config, "headers")
        return _to_url(config["url"], replace(options, headers=headers))
    command = config.get("command")
    if not command:
        raise UsageError("a server's configuration needs a command or a url")
    arguments = config.get("args") or []
    if not isinstance(command, (str, list)) or not isinstance(arguments, (list, tuple)):
        raise UsageError("command and args in a server's configuration are a string and a list")
    words = [command] if isinstance(command, str) else [str(word) for word in command]
    words += [str(argument) for argument in arguments]
    return _to_command(
        words,
        replace(
            options,
            env=options.env or _mapping_in(config, "env") or _mapping_in(config, "environment"),
            cwd=options.cwd or config.get("cwd"),
        ),
    )


def _mapping_in(config: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    value = config.get(name) or None
    if value is not None and not isinstance(value, Mapping):
        raise UsageError(f"{name} in a server's configuration is a mapping")
    return value
