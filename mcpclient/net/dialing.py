"""Opening connections: TCP, TLS, Unix-domain sockets, and through proxies.

TCP addresses are tried concurrently (RFC 8305). asyncio can do that as well, but when its
`create_connection` is cancelled meanwhile, a connected socket can be left behind, on every Python
up to 3.13 at least.
"""

from __future__ import annotations

import asyncio
import copy
import os
import socket
import sys
from collections import deque
from contextlib import suppress
from functools import cached_property, partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Callable, NamedTuple, TypeVar

from ..errors import ConnectFailed, ConnectionLost, ConnectKind, LossKind, McpError, UsageError
from ..framing.uri import Url
from .cookies import CookieJar
from .network_options import NetworkOptions
from .recorder import Recorder
from .stream import HeldTransport

if TYPE_CHECKING:
    import ssl

    from .proxies import Tunnel
    from .tls import TlsContexts

P = TypeVar("P", bound=asyncio.BaseProtocol)

AddressCheck = Callable[[str], None]
"""Takes an IP address, and raises `McpError` for one that must not be connected to."""


# Seconds to read the certificate of a server that is not trusted.
_READS_WITHIN = 5.0


class _Peer(HeldTransport, asyncio.Protocol):
    """The peer of a connection that carries nothing."""


class Dialer:
    """Opens connections to servers. One dialer serves all connections of a client.

    ``cookies``: those that servers have set over its connections. ``recorder``: see
    `NetworkOptions`.
    """

    def __init__(self, options: NetworkOptions | None = None) -> None:
        self._options = options or NetworkOptions()
        self._forwards = self._options.proxy_auth is None  # a login by Negotiate is a connection's
        self.cookies: CookieJar = CookieJar()
        self.reached: str = "nothing"
        """The progress of the last attempt to connect: "nothing", "tcp" or "connected"."""
        self.recorder: Recorder | None = self._options.recorder

    @cached_property
    def _tls(self) -> TlsContexts:
        from .tls import TlsContexts

        return TlsContexts(self._options)

    async def dial(
        self, url: Url, protocol: Callable[[], P], check: AddressCheck | None = None
    ) -> P:
        """Connect to the host of ``url`` and return the protocol, connected.

        ``check``: see `connect_socket`. Behind a proxy that resolves the name, which all but
        those at socks5 URLs do, no address is checked.

        Raises `ConnectFailed`, and `UsageError` for options that cannot be used. Safe to cancel:
        a half-open connection is closed.
        """
        try:
            proxy = self._options.proxy_for(url)
            if proxy is None:
                return await self._reach(url, protocol, url, check)
            from .proxies import Tunnel, is_socks

            if is_socks(proxy):
                return await self._dial_by_socks(proxy, url, protocol, check)
            if url.scheme == "http" and self._forwards:  # see `request_target`
                return await self._reach(proxy, protocol, url)
            tunnel = partial(Tunnel, proxy, url, self._options.proxy_auth)
            return await self._dial_through(tunnel, proxy, url, protocol)
        except ConnectFailed as error:
            if error.kind is not ConnectKind.UNKNOWN_AUTHORITY:
                raise
            if await self._tls.add_keychains():
                return await self.dial(url, protocol, check)
            issuer = await self._issuer(url, check)
            if not issuer:
                raise
            reason = f"{error.reason}: {issuer}"
            raise ConnectFailed(url.shown, reason, error.attempts, error.kind) from error.__cause__

    async def _issuer(self, url: Url, check: AddressCheck | None) -> str:
        """Return the issuer of a certificate that is not trusted, which a proxy may have put there.

        A failed handshake does not give the certificate, so a connection of its own reads it. That
        carries nothing else; a proxy on the way is verified as always.
        """
        from ..framing.der import issuer_of

        other = copy.copy(self)
        other._tls = self._tls.unverified()
        with suppress(McpError, asyncio.TimeoutError, TimeoutError):
            peer = await asyncio.wait_for(other.dial(url, _Peer, check), _READS_WITHIN)
            issuer = issuer_of(peer.certificate)
            peer.abort()
            return issuer
        return ""

    async def _dial_by_socks(
        self, proxy: Url, url: Url, protocol: Callable[[], P], check: AddressCheck | None
    ) -> P:
        if self._options.proxy_auth is not None:
            raise UsageError("proxy_auth is for HTTP proxies, and the proxy is one of SOCKS")
        hosts = [url.host]
        if proxy.scheme == "socks5":
            try:
                addresses = await addresses_of(url.host, url.port, check)
            except OSError as error:
                kind, reason = explain_failure(error, url)
                raise ConnectFailed(url.shown, reason, (error,), kind) from error
            hosts = [str(address.name[0]) for address in addresses]
        from .proxies import SocksTunnel

        failures: list[ConnectFailed] = []
        for host in hosts:
            tunnel = partial(SocksTunnel, proxy, url, host)
            try:
                return await self._dial_through(tunnel, proxy, url, protocol)
            except ConnectFailed as error:
                failures.append(error)
                if error.kind not in (ConnectKind.OTHER, ConnectKind.REFUSED):
                    break
        raise failures[0]

    async def _dial_through(
        self, tunnel_to: Callable[[], Tunnel], proxy: Url, url: Url, protocol: Callable[[], P]
    ) -> P:
        tunnel = await self._reach(proxy, tunnel_to, url)
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

        A forwarding proxy needs the whole URL (RFC 9112, section 3.2.2), and its credentials in
        every request.
        """
        proxy = self._options.proxy_for(url) if url.scheme == "http" and self._forwards else None
        if proxy is None:
            return url.target, []
        from .proxies import is_socks, proxy_headers

        if is_socks(proxy):
            return url.target, []
        return str(url), proxy_headers(proxy)

    async def _reach(
        self, peer: Url, protocol: Callable[[], P], url: Url, check: AddressCheck | None = None
    ) -> P:
        """Connect to ``peer``, which is the server of ``url`` or a proxy on the way to it."""
        loop = asyncio.get_running_loop()
        context: ssl.SSLContext | None = None
        if peer.secure:
            context = self._tls.for_server if peer is url else self._tls.for_proxy
        host_name = None if context is None else peer.host
        path = url.target if url.scheme == "unix" else self._options.unix_socket
        self.reached = "nothing"
        try:
            if path is None:
                connected_socket = await connect_socket(peer.host, peer.port, check)
                self.reached = "tcp" if peer is url else "nothing"
                _, connected = await loop.create_connection(
                    protocol, sock=connected_socket, ssl=context, server_hostname=host_name
                )
            elif os.fspath(path).startswith(_PIPES):
                if context is not None:
                    raise UsageError("there is no TLS over a named pipe: write http://, or ws://")
                create_pipe_connection = getattr(loop, "create_pipe_connection", None)
                if create_pipe_connection is None:
                    raise UsageError("only the event loop of Windows has named pipes (Proactor)")
                _, connected = await create_pipe_connection(protocol, os.fspath(path))
            else:
                _, connected = await loop.create_unix_connection(
                    protocol, os.fspath(path), ssl=context, server_hostname=host_name
                )
        except (OSError, NotImplementedError) as error:
            kind, reason = explain_failure(error, peer, None if path is None else os.fspath(path))
            if peer is not url:
                kind, reason = ConnectKind.PROXY, f"its proxy cannot be reached: {reason}"
            raise ConnectFailed(url.shown, reason, (error,), kind) from error
        self.reached = "connected" if peer is url else "nothing"
        return connected


def _explain_tls(error: Exception | None, peer: Url) -> tuple[ConnectKind, str] | None:
    """Return why TLS with ``peer`` failed; None for another error. It does not import ``ssl``."""
    if "ssl" not in sys.modules:
        return None
    import ssl

    if not isinstance(error, ssl.SSLError):
        return None
    from .tls import explain_tls_error

    return explain_tls_error(error, peer.host, peer.port)


def explain_loss(error: Exception | None, url: Url) -> tuple[LossKind, str]:
    """Return why a connection to ``url`` ended; ``error`` None: the server closed it."""
    failure = _explain_tls(error, url)
    if failure is not None:
        kind, reason = failure
        is_ours = kind == ConnectKind.CLIENT_CERTIFICATE
        return LossKind.CLIENT_CERTIFICATE if is_ours else LossKind.DROPPED, reason
    return LossKind.DROPPED, str(error or "closed by the server")


def lost_connection(
    error: Exception | None, url: Url, closed: str = "", *, shown: str = ""
) -> ConnectionLost:
    """Return the error for a connection that ended.

    ``closed``: how, where the server closed it. ``shown``: the user's name for the URL.
    """
    kind, reason = explain_loss(error, url)
    reason += closed if error is None else ""
    return ConnectionLost(f"the connection to {shown or url.shown} was lost: {reason}", kind)


def explain_failure(
    error: Exception, peer: Url, path: str | None = None
) -> tuple[ConnectKind, str]:
    """Return why no connection to ``peer`` could be made; ``path``: at that socket."""
    if isinstance(error, socket.gaierror):
        reason = f"the host name {peer.host!r} cannot be resolved: {error.strerror}"
        return ConnectKind.UNKNOWN_HOST, reason
    failure = _explain_tls(error, peer)
    if failure is not None:
        return failure
    if isinstance(error, ConnectionRefusedError):
        place = f"{peer.host} port {peer.port}" if path is None else f"the socket {path!r}"
        return ConnectKind.REFUSED, f"nothing listens on {place}"
    if path is not None and isinstance(error, FileNotFoundError):
        return ConnectKind.REFUSED, f"there is no socket {path!r}"
    if isinstance(error, NotImplementedError):
        return ConnectKind.OTHER, "this system's event loop has no Unix-domain sockets"
    if path is not None:
        return ConnectKind.OTHER, f"the socket {path!r} cannot be used: {error}"
    if isinstance(error, ConnectionResetError) and peer.secure:
        return ConnectKind.CLIENT_CERTIFICATE, (
            f"{peer.host} port {peer.port} closed the connection during the TLS handshake: it may "
            "not speak TLS, or demand a client certificate"
        )
    return ConnectKind.OTHER, str(error)


_PIPES = "\\\\.\\pipe\\"  # the names of Windows begin with this


# Seconds before the next address of a host is tried beside the earlier ones (RFC 8305).
_NEXT_ADDRESS_AFTER = 0.25


class Address(NamedTuple):
    """One address of a host: its family, and the name that `socket.connect` takes."""

    family: int
    name: tuple[object, ...]


async def connect_socket(host: str, port: int, check: AddressCheck | None = None) -> socket.socket:
    """Return a socket that is connected to ``host``, a name or an IP address.

    The name is resolved once, and only addresses that pass ``check`` are connected to. Raises the
    error of ``check`` when none passes, and the first `OSError` when none can be reached. Safe to
    cancel.
    """
    addresses = await addresses_of(host, port, check)
    if len(addresses) == 1:
        return await _connect(addresses[0])
    return await _race(deque(addresses))


async def addresses_of(host: str, port: int, check: AddressCheck | None = None) -> list[Address]:
    """Return the addresses of a host, alternating between the families (RFC 8305, section 4).

    ``check``: see `connect_socket`. Raises `OSError` for a name that cannot be resolved.
    """
    addresses = await _resolve(host, port)
    if check is None:
        return addresses
    allowed: list[Address] = []
    refusals: list[McpError] = []
    for address in addresses:
        try:
            check(str(address.name[0]))
            allowed.append(address)
        except McpError as error:
            refusals.append(error)
    if refusals and not allowed:
        raise refusals[0]
    return allowed


async def _resolve(host: str, port: int) -> list[Address]:
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError):
            socket.inet_pton(family, host)
            return [Address(family, (host, port))]
    # As bytes: for a string, the resolver's thread would look up the codec "idna", which has errors
    # of its own, and on Python 3.9 is not always found while another thread imports something.
    name = host.encode("ascii")
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return _alternating([Address(family, name) for family, _, _, _, name in found])


def _alternating(addresses: list[Address]) -> list[Address]:
    preferred = [address for address in addresses if address.family == addresses[0].family]
    others = [address for address in addresses if address.family != addresses[0].family]
    pairs = zip_longest(preferred, others)
    return [address for pair in pairs for address in pair if address is not None]


async def _connect(address: Address) -> socket.socket:
    connecting = socket.socket(address.family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        connecting.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connecting, address.name)
    except BaseException:
        connecting.close()
        raise
    return connecting


async def _race(waiting: deque[Address]) -> socket.socket:
    """Try the addresses in order, each a moment after the one before; the first to connect wins."""
    loop = asyncio.get_running_loop()
    attempts: set[asyncio.Task[socket.socket]] = set()
    errors: list[BaseException] = []
    try:
        while waiting or attempts:
            if waiting:
                attempts.add(loop.create_task(_connect(waiting.popleft())))
            timeout = _NEXT_ADDRESS_AFTER if waiting else None
            done, _ = await asyncio.wait(
                attempts, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
            )
            for attempt in done:
                attempts.remove(attempt)
                error = attempt.exception()
                if error is None:
                    return attempt.result()
                errors.append(error)
    finally:
        for attempt in attempts:
            attempt.cancel()
            attempt.add_done_callback(_close_result)
    raise errors[0]


def _close_result(attempt: asyncio.Task[socket.socket]) -> None:
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()
