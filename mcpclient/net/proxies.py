"""HTTP and SOCKS proxies: choosing the one for a URL, and the tunnel through it.

No standard defines ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``; this follows
what curl and `urllib.request` have in common. The latter is not used, since importing it is slow.
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Callable, TypeVar, Union

from ..errors import ConnectFailed, ConnectKind, UsageError, negotiated_scheme
from ..framing.http1 import GatheredResponse, ResponseHead, encode_request
from ..framing.socks5 import MAX_LOGIN_LENGTH, Socks5Handshake
from ..framing.uri import SOCKS_PORTS, Url, parse_url
from .futures import resolve
from .stream import HeldTransport

if TYPE_CHECKING:
    import ssl

    from .network_options import Negotiate

ProxyChoice = Union[str, bool, None]
"""A proxy's URL for everything, None for the environment's rules, False for no proxy."""

# The variables for the proxy of each scheme. A WebSocket falls back to the variable of HTTP.
_VARIABLES = {
    "http": ("http_proxy", "all_proxy"),
    "https": ("https_proxy", "all_proxy"),
    "ws": ("ws_proxy", "http_proxy", "all_proxy"),
    "wss": ("wss_proxy", "https_proxy", "all_proxy"),
}


class ProxyRules:
    """The rules of one client. Raises `UsageError` for an unusable ``proxy``.

    ``proxy``: False for none, or the URL of the one for everything. With None the variables of
    ``environ`` decide: a name in lower case goes before one in upper case, and ``NO_PROXY`` lists
    hosts reached directly.
    """

    def __init__(self, proxy: ProxyChoice, environ: Mapping[str, str]) -> None:
        if not (proxy is None or proxy is False or isinstance(proxy, str)):
            shown = "True" if proxy is True else type(proxy).__name__  # it may hold a password
            raise UsageError(f"proxy is a URL, None or False, not {shown}")
        self._chosen = _parse_proxy(proxy, "proxy") if isinstance(proxy, str) else None
        if proxy is not None:
            environ = {}
        # An empty name in lower case hides the other.
        names = set(environ)  # unlike os.environ of Windows, a set tells the two cases apart
        self._variables = {
            name.lower(): value.strip()
            for name, value in environ.items()
            if name.lower().endswith("_proxy") and (name.islower() or name.lower() not in names)
        }
        if "REQUEST_METHOD" in names and "http_proxy" not in names:
            # In a CGI program HTTP_PROXY is the request header "Proxy", which any client may set.
            self._variables.pop("http_proxy", None)

    def proxy_for(self, url: Url) -> Url | None:
        """Return the proxy for a URL, None for a direct connection.

        Raises `UsageError` when the environment names one that cannot be used.
        """
        if self._chosen is not None:
            return self._chosen
        names = _VARIABLES.get(url.scheme, ())
        name = next((name for name in names if self._variables.get(name)), None)
        if name is None or _is_direct(url, self._variables.get("no_proxy", "")):
            return None
        return _parse_proxy(self._variables[name], name)


def _parse_proxy(text: str, source: str) -> Url:
    text = text.strip()
    scheme, separator, _ = text.partition("://")
    if not separator:
        text, scheme = f"http://{text}", "http"
    scheme = scheme.lower()
    if scheme == "socks":  # so desktops write it, whose own programs then speak SOCKS 5
        text, scheme = f"socks5h{text[len(scheme) :]}", "socks5h"
    if scheme.startswith("socks4"):
        raise UsageError(f"{source} names a SOCKS 4 proxy; only SOCKS 5 is supported: socks5://")
    if scheme not in ("http", "https", *SOCKS_PORTS):
        raise UsageError(
            f"{source} is not the URL of an HTTP or SOCKS proxy: its scheme is {scheme!r}"
        )
    try:
        url = parse_url(text, of_proxy=True)
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from None
    if is_socks(url) and any(len(part) > MAX_LOGIN_LENGTH for part in _login(url) or ()):
        raise UsageError(
            f"{source}: user and password of a SOCKS proxy have at most {MAX_LOGIN_LENGTH} bytes"
        )
    return url


def is_socks(proxy: Url) -> bool:
    """Whether a proxy speaks SOCKS, and so tunnels every connection."""
    return proxy.scheme in SOCKS_PORTS


def _login(proxy: Url) -> tuple[bytes, bytes] | None:
    if proxy.credentials is None:
        return None
    user, _, password = base64.b64decode(proxy.credentials.partition(" ")[2]).partition(b":")
    return user, password


_ENTRY = re.compile(r"(?:\[([^\]]+)\]|([^:]*))(?::(\d+))?")


def _is_direct(url: Url, listed: str) -> bool:
    """Return whether an entry of ``NO_PROXY`` covers a URL.

    An entry is ``*``, a name with all that is below it, an address or a network. It may have a
    port, but for an IPv6 address without brackets.
    """
    own = url.host.rstrip(".")
    for entry in re.split(r"[\s,]+", listed.lower()):
        match = _ENTRY.fullmatch(entry)
        host, port = (match[1] or match[2], match[3]) if match else (entry, None)
        if port and int(port) != url.port:
            continue
        with suppress(ValueError):
            if ipaddress.ip_address(own) in ipaddress.ip_network(host, strict=False):
                return True
        name = host if host == "*" else host.removeprefix("*").strip(".")
        if name and (name in ("*", own) or own.endswith("." + name)):
            return True
    return False


P = TypeVar("P", bound=asyncio.BaseProtocol)


def proxy_headers(proxy: Url) -> list[tuple[str, str]]:
    """Return the header fields for the proxy itself."""
    return [("Proxy-Authorization", proxy.credentials)] if proxy.credentials else []


class Tunnel(HeldTransport, asyncio.Protocol):
    """Asks an HTTP proxy for a connection to ``url``; `hand_over` gives it to another protocol.

    ``login``: how the user logs in at the proxy, instead of by credentials in its URL.
    """

    def __init__(self, proxy: Url, url: Url, login: Negotiate | None = None) -> None:
        self._proxy = proxy
        self._url = url
        self._login = login
        self._challenge: bytes | None = None  # the proxy's message in a login that goes on
        self._answer = GatheredResponse()
        self._established: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lost: Exception | None = None

    async def establish(self) -> None:
        """Have the proxy connect. Raises `ConnectFailed` with the proxy's reason."""
        if self._login is None:
            await self._connect(proxy_headers(self._proxy))
            return
        from .kerberos import Handshake

        handshake = Handshake(self._login, self._proxy.host, self.certificate)
        self._challenge = b""
        while self._challenge is not None:
            credentials = await handshake.answer(self._challenge)
            self._challenge, self._answer = None, GatheredResponse()
            self._established = asyncio.get_running_loop().create_future()
            await self._connect([("Proxy-Authorization", credentials)])
        assert self._answer.head is not None
        # A proxy need not prove its identity: traffic that matters is encrypted for the server.
        handshake.finish(self._answer.head.headers.get("proxy-authenticate", ""), mutual=False)

    async def _connect(self, fields: list[tuple[str, str]]) -> None:
        """Send a request, and wait until it is accepted, or the login goes on."""
        assert self._transport is not None
        host = f"[{self._url.host}]" if ":" in self._url.host else self._url.host
        target = f"{host}:{self._url.port}"
        self._answer.parser.start("CONNECT")
        self._transport.write(encode_request("CONNECT", target, [("Host", target), *fields]))
        await self._established

    async def hand_over(self, protocol: Callable[[], P], tls: ssl.SSLContext | None) -> P:
        """Give the connection, encrypted first with ``tls``, to a new protocol and return that."""
        transport = self._transport
        assert transport is not None
        if tls is not None:
            if self._proxy.secure and sys.version_info < (3, 11):
                reason = "TLS inside the TLS of a proxy needs Python 3.11; use an http:// proxy"
                raise ConnectFailed(self._url.shown, reason, kind=ConnectKind.PROXY)
            # This object stays the protocol until the next one can be given the connection:
            # `start_tls` never calls connection_made, and an alert may come before it returns.
            encrypted = await asyncio.get_running_loop().start_tls(
                transport, self, tls, server_hostname=self._url.host
            )
            if encrypted is None or self._lost is not None:
                raise self._lost or ConnectionResetError("closed during the TLS handshake")
            transport = encrypted
        owner = protocol()
        transport.set_protocol(owner)
        owner.connection_made(transport)
        transport.resume_reading()
        return owner

    # asyncio.Protocol

    def data_received(self, data: bytes) -> None:
        head = self._answer.feed(data)
        fault = self._answer.parser.fault
        if head is not None:
            self._take_answer(head)
        elif fault is not None:
            self._fail(f"{self._shown}: {fault.reason}")
        if self._challenge and self._answer.is_complete:
            resolve(self._established, None)

    def _take_answer(self, head: ResponseHead) -> None:
        if 200 <= head.status < 300:
            self._succeed(self._answer.parser.trailing)
        elif head.status == 407 and self._login is not None:
            from .kerberos import challenge_in

            self._challenge = challenge_in(head.headers.get("proxy-authenticate", ""))
            if not self._challenge:
                reason = f"{self._shown} does not accept the login by Negotiate (407)"
                self._fail(reason, ConnectKind.PROXY_LOGIN)
        elif head.status in (401, 407) and self._proxy.credentials is None:
            scheme = negotiated_scheme(head.headers.get("proxy-authenticate", ""))
            kind = ConnectKind.PROXY_NEGOTIATE if scheme else ConnectKind.PROXY_CREDENTIALS
            asked = f", by {scheme}" if scheme else ""
            self._fail(f"{self._shown} asks for credentials ({head.status}{asked})", kind)
        elif head.status in (401, 407):  # 401 is wrong here, but what tinyproxy answers
            reason = f"{self._shown} does not accept the credentials in its URL ({head.status})"
            self._fail(reason, ConnectKind.PROXY_CREDENTIALS)
        else:
            where = f"{self._url.host} port {self._url.port}"
            answer = f"{head.status} {head.reason}".strip()
            self._fail(f"{self._shown} refused to connect to {where}: {answer}")

    def _succeed(self, trailing: bytes) -> None:
        assert self._transport is not None
        if trailing:
            self._fail(f"{self._shown} sent bytes behind its answer to CONNECT")
            return
        # Bytes that follow are for the next protocol.
        self._transport.pause_reading()
        resolve(self._established, None)

    @property
    def _shown(self) -> str:
        return f"the proxy {self._proxy.shown.rstrip('/')}"

    def eof_received(self) -> None:
        self._fail(f"{self._shown} closed the connection without answering")

    def connection_lost(self, exc: Exception | None) -> None:
        self.abort()  # Python 3.9 and 3.10 warn of a TLS transport that was lost, but not closed
        self._lost = exc or ConnectionResetError("the connection was closed")
        self._fail(f"{self._shown} closed the connection without answering")

    def _fail(self, reason: str, kind: ConnectKind = ConnectKind.PROXY) -> None:
        resolve(self._established, None, ConnectFailed(self._url.shown, reason, kind=kind))


_SOCKS_FAILURES = {
    1: (ConnectKind.PROXY, "failed to connect to {where}"),
    2: (ConnectKind.PROXY, "has a rule against a connection to {where}"),
    3: (ConnectKind.OTHER, "cannot reach the network of {where}"),
    4: (ConnectKind.OTHER, "cannot reach {where}"),
    5: (ConnectKind.REFUSED, "says that nothing listens on {where}"),
    6: (ConnectKind.OTHER, "cannot reach {where}: the time to live (TTL) has run out"),
    7: (ConnectKind.PROXY, "does not offer connections (CONNECT)"),
    8: (ConnectKind.OTHER, "does not take {where} as an address; use {other}://"),
}


class SocksTunnel(Tunnel):
    """Asks a SOCKS proxy for a connection to the port of ``url`` on ``host``.

    ``host``: an address of the host of ``url``, or its name, which the proxy resolves.
    """

    def __init__(self, proxy: Url, url: Url, host: str) -> None:
        super().__init__(proxy, url)
        self._host = host
        packed: str | bytes = host
        with suppress(ValueError):
            packed = ipaddress.ip_address(host).packed
        self._handshake = Socks5Handshake(packed, url.port, _login(proxy))

    async def establish(self) -> None:
        assert self._transport is not None
        self._transport.write(self._handshake.greeting)
        await self._established

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        handshake = self._handshake
        self._transport.write(handshake.feed(data))
        if handshake.connected:
            self._succeed(handshake.trailing)
        elif handshake.fault:
            self._fail(f"{self._shown} {handshake.fault}")
        elif handshake.login_refused and self._proxy.credentials is None:
            self._fail(f"{self._shown} asks for credentials", ConnectKind.PROXY_CREDENTIALS)
        elif handshake.login_refused:
            reason = f"{self._shown} does not accept the credentials in its URL"
            self._fail(reason, ConnectKind.PROXY_CREDENTIALS)
        elif handshake.reply:
            unknown = ConnectKind.PROXY, "failed for an unknown reason"
            kind, failure = _SOCKS_FAILURES.get(handshake.reply, unknown)
            address = "" if self._host == self._url.host else f" ({self._host})"
            other = "socks5" if self._proxy.scheme == "socks5h" else "socks5h"
            where = f"{self._url.host}{address} port {self._url.port}"
            failure = failure.format(where=where, other=other)
            self._fail(f"{self._shown} {failure} (SOCKS reply {handshake.reply})", kind)
