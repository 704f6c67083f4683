"""Servers that are named by a URL, and the transports that reach them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from ...errors import UsageError
from ...framing.uri import Url, http_url, parse_url
from ...net.dialing import Dialer
from ...net.network_options import Negotiate
from ...transports.base import Transport
from ...transports.http_messages import Credentials, authorizer_in
from ...transports.streamable_http import StreamableHttpTransport
from .options import Options, Route, refuse

# The transports that the option ``transport`` may name, by the scheme of the URL.
_TRANSPORTS = {
    "http": ("http", "sse"),
    "https": ("http", "sse"),
    "ws": ("ws",),
    "wss": ("ws",),
    "tcp": ("socket",),
    "unix": ("socket",),
}


def route_to_url(text: str, options: Options) -> Route:
    """Return the route to the server at a URL. Raises `UsageError`."""
    url = parse_url(text)
    refuse(options, ("env", "cwd", "sandbox"), "a URL")
    if options.transport == "ws" and url.scheme in ("http", "https"):
        url = url._replace(scheme="ws" + url.scheme[len("http") :])
    if options.transport not in (None, *_TRANSPORTS[url.scheme]):
        raise UsageError(f"transport={options.transport!r} does not fit {url.shown}")
    dialer, size = Dialer(options.network), options.max_message_size
    if url.scheme in ("tcp", "unix"):
        from ...transports.line_socket import LineSocketTransport

        refuse(options, ("auth", "headers"), f"a {url.scheme} socket")
        socket_transport = LineSocketTransport
        open_socket = partial(socket_transport, url, max_message_size=size, dialer=dialer)
        return Route(url.shown, f"socket:{url}", open_socket)
    credentials = credentials_for(url, options)
    authorizer, settings = authorizer_in(credentials), settings_of(options, credentials)
    if url.scheme in ("ws", "wss"):
        from ...transports.websocket import WebSocketTransport

        open_websocket = partial(
            WebSocketTransport,
            url,
            ping_interval=options.ping_interval,
            ping_timeout=options.ping_timeout,
            dialer=dialer,
            **settings,
        )
        return Route(url.shown, f"ws:{url}", open_websocket, authorizer=authorizer)
    open_http = partial(
        StreamableHttpTransport,
        url,
        listen_wait=options.listen_wait,
        liveness=options.liveness,
        dialer=dialer,
        **settings,
    )

    def open_sse() -> Transport:
        from ...transports.legacy_sse import LegacySseTransport

        return LegacySseTransport(url, dialer=dialer, **settings)

    if options.transport == "sse":
        return Route(url.shown, f"sse:{url}", open_sse, authorizer=authorizer)
    legacy = open_sse if options.transport is None else None
    return Route(
        url.shown, f"http:{url.scheme}://{url.authority}{url.path}", open_http, legacy, authorizer
    )


def settings_of(options: Options, credentials: Credentials | None) -> dict[str, Any]:
    """Return the arguments that the transports over HTTP share."""
    size = options.max_message_size
    return {"headers": options.headers, "credentials": credentials, "max_message_size": size}


def credentials_for(url: Url, options: Options) -> Credentials | None:
    """Return the credentials for requests to ``url``. Raises `UsageError`."""
    if isinstance(options.headers, Mapping):
        _check_authorization(options.headers)
    auth = options.auth
    if auth is None:
        return None
    if isinstance(auth, str):
        if not auth.strip():
            error = UsageError("auth is an empty token")
            raise error.advise("Set the variable that was to hold the token, or leave out {auth}")
        if _SCHEME.match(auth):
            raise _said_twice("the token begins with Bearer, which is put before it")
        return {"Authorization": f"Bearer {auth.strip()}"}
    if url.credentials is not None and hasattr(auth, "account"):
        error = UsageError("the URL has a user name, and {auth} is a login of its own")
        raise error.advise("Leave out the user name and the password, or {auth}.")
    if isinstance(auth, Negotiate):
        from ...net.kerberos import NegotiateAuthorizer

        authorizer: Credentials = NegotiateAuthorizer(auth, http_url(url))
        return authorizer
    from ...net.login import authentication

    credentials: Credentials = authentication.credentials_for(auth, http_url(url), options.network)
    return credentials


_SCHEME = re.compile(r"(?i)\s*bearer\s")


def _said_twice(reason: str) -> UsageError:
    return UsageError(reason).advise("Write Bearer once: a token as {auth} goes without it.")


def _check_authorization(headers: Mapping[str, str]) -> None:
    """Refuse an Authorization header that no server accepts, as wrong variables produce it."""
    for name, value in headers.items():
        if not isinstance(value, str) or str(name).lower() != "authorization":
            continue
        if re.match(r"(?i)\s*bearer\s+bearer\b", value):
            raise _said_twice("the Authorization header says Bearer twice")
        if re.fullmatch(r"(?i)\s*bearer\s*", value):
            error = UsageError("the Authorization header says Bearer, and no token follows")
            raise error.advise("Set the variable that was to hold the token.")
