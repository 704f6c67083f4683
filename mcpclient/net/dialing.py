"""Opening connections: TCP, TLS, Unix-domain sockets, and through proxies."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from typing import Callable, TypeVar

from ..errors import ConnectFailed, ConnectKind, LossKind
from ..framing.uri import Url
from .cookies import CookieJar
from .happy_eyeballs import connect_socket
from .network_options import NetworkOptions
from .recorder import Recorder
from .tls import TlsContexts, explain_tls_error
from .tunnel import Tunnel, proxy_headers

P = TypeVar("P", bound=asyncio.BaseProtocol)


class Dialer:
    """Opens connections to servers. One dialer serves all connections of a client.

    ``cookies``: those that servers have set over its connections. ``recorder``: see
    `NetworkOptions`.
    """

    def __init__(self, options: NetworkOptions | None = None) -> None:
        self._options = options or NetworkOptions()
        self._tls = TlsContexts(self._options)
        self.cookies: CookieJar = CookieJar()
        self.reached = "nothing"
        """How far the last attempt to connect has come: "nothing", "tcp" or "connected"."""
        self.recorder: Recorder | None = self._options.recorder

    async def dial(self, url: Url, protocol: Callable[[], P]) -> P:
        """Connect to the host of ``url`` and return the protocol, connected.

        Raises `ConnectFailed`, and `UsageError` for options that cannot be used. Safe to cancel:
        a half-open connection is closed.
        """
        proxy = self._options.proxy_for(url)
        if proxy is None:
            return await self._reach(url, protocol, url)
        if url.scheme == "http":  # the proxy forwards such requests, see `request_target`
            return await self._reach(proxy, protocol, url)
        tunnel = await self._reach(proxy, lambda: Tunnel(proxy, url), url)
        try:
            await tunnel.establish()
            self.reached = "tcp"
            owner = await tunnel.hand_over(protocol, self._tls.for_server if url.secure else None)
            self.reached = "connected"
            return owner
        except OSError as error:
            tunnel.abort()
            kind, reason = explain_failure(error, url)
            raise ConnectFailed(url.shown, reason, (error,), kind) from error
        except BaseException:
            tunnel.abort()
            raise

    def request_target(self, url: Url) -> tuple[str, list[tuple[str, str]]]:
        """Return the target of a request for ``url``, and the header fields for the next hop.

        A proxy that forwards requests has to be told the whole URL (RFC 9112, section 3.2.2), and
        expects its credentials in every request.
        """
        proxy = self._options.proxy_for(url) if url.scheme == "http" else None
        if proxy is None:
            return url.target, []
        return str(url), proxy_headers(proxy)

    async def _reach(self, peer: Url, protocol: Callable[[], P], url: Url) -> P:
        """Connect to ``peer``, which is the server of ``url`` or a proxy on the way to it."""
        loop = asyncio.get_running_loop()
        context: ssl.SSLContext | None = None
        if peer.secure:
            context = self._tls.for_server if peer is url else self._tls.for_proxy
        path = url.target if url.scheme == "unix" else self._options.unix_socket
        self.reached = "nothing"
        try:
            if path is None:
                connected_socket = await connect_socket(peer.host, peer.port)
                self.reached = "tcp" if peer is url else "nothing"
                _, connected = await loop.create_connection(
                    protocol,
                    sock=connected_socket,
                    ssl=context,
                    server_hostname=peer.host if context is not None else None,
                )
            else:
                _, connected = await loop.create_unix_connection(
                    protocol,
                    os.fspath(path),
                    ssl=context,
                    server_hostname=peer.host if context is not None else None,
                )
        except (OSError, NotImplementedError) as error:
            if path is None or isinstance(error, ssl.SSLError):
                kind, reason = explain_failure(error, peer)
            else:
                kind, reason = _explain_unix(error, path)
            if peer is not url:
                kind, reason = ConnectKind.PROXY, f"its proxy cannot be reached: {reason}"
            raise ConnectFailed(url.shown, reason, (error,), kind) from error
        self.reached = "connected" if peer is url else "nothing"
        return connected


def explain_loss(error: Exception | None, url: Url) -> tuple[LossKind, str]:
    """Say why a connection to ``url`` ended; None: the server closed it."""
    if isinstance(error, ssl.SSLError):
        kind, reason = explain_tls_error(error, url.host, url.port)
        is_ours = kind == ConnectKind.CLIENT_CERTIFICATE
        return LossKind.CLIENT_CERTIFICATE if is_ours else LossKind.DROPPED, reason
    return LossKind.DROPPED, str(error or "closed by the server")


def explain_failure(error: Exception, peer: Url) -> tuple[ConnectKind, str]:
    """Say why no connection to ``peer`` could be made."""
    if isinstance(error, socket.gaierror):
        reason = f"the host name {peer.host!r} cannot be resolved: {error.strerror}"
        return ConnectKind.UNKNOWN_HOST, reason
    if isinstance(error, ssl.SSLError):
        return explain_tls_error(error, peer.host, peer.port)
    if isinstance(error, ConnectionRefusedError):
        return ConnectKind.REFUSED, f"nothing listens on {peer.host} port {peer.port}"
    if isinstance(error, ConnectionResetError) and peer.secure:
        return ConnectKind.CLIENT_CERTIFICATE, (
            f"{peer.host} port {peer.port} closed the connection during the TLS handshake: it may "
            "not speak TLS, or demand a client certificate"
        )
    return ConnectKind.OTHER, str(error)


def _explain_unix(error: Exception, path: str | os.PathLike[str]) -> tuple[ConnectKind, str]:
    name = os.fspath(path)
    if isinstance(error, FileNotFoundError):
        return ConnectKind.REFUSED, f"there is no socket {name!r}"
    if isinstance(error, ConnectionRefusedError):
        return ConnectKind.REFUSED, f"nothing listens on the socket {name!r}"
    if isinstance(error, NotImplementedError):
        return ConnectKind.OTHER, "this system's event loop has no Unix-domain sockets"
    return ConnectKind.OTHER, f"the socket {name!r} cannot be used: {error}"
