"""URLs of servers (RFC 3986, RFC 9110 section 4), parsed once into the parts of a connection."""

from __future__ import annotations

import base64
import re
from typing import NamedTuple
from urllib.parse import quote, unquote, unquote_to_bytes, urljoin, urlsplit

from ..display import shown_path
from ..errors import UsageError

DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
"""The default port of each scheme."""

LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")
"""The usual spellings of the loopback host."""

SOCKS_PORTS = {"socks5": 1080, "socks5h": 1080}
"""The usual port of a SOCKS proxy, by scheme."""

# Plain byte streams: one has no default port, the other no port at all.
_STREAM_PORTS = {"tcp": -1, "unix": 0}
_PORTS = {**DEFAULT_PORTS, **SOCKS_PORTS, **_STREAM_PORTS}
_SECURE = ("https", "wss")
_MAX_SHOWN_LENGTH = 200
_MAX_HOST_LENGTH = 253  # RFC 1035, section 2.3.4, without the dot of the root
_NEVER_IN_A_HOST = re.compile(r'[\x00-\x20<>"[\\\]^`{|}\x7f]')
# Everything a path or query may hold unescaped (RFC 3986 section 3.3), and escapes.
_AS_IS = "/:@!$&'()*+,;=-._~%"


class Url(NamedTuple):
    """One parsed URL.

    ``target``: path and query, percent-encoded. ``credentials``: the value for ``Authorization``
    for the URL's userinfo; None when it has no userinfo.
    """

    scheme: str
    host: str
    port: int
    target: str
    credentials: str | None

    @property
    def secure(self) -> bool:
        """Whether the connection is encrypted."""
        return self.scheme in _SECURE

    @property
    def authority(self) -> str:
        """The value of the ``Host`` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port, which two URLs of one origin share (RFC 6454)."""
        return self.scheme, self.host, self.port

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def shown(self) -> str:
        """The URL for messages: without credentials, query, and parts that look like a key."""
        return f"{self.scheme}://{self.authority}{shown_path(self.path)}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    def __repr__(self) -> str:
        return f"Url({self.shown!r})"


def parse_url(text: str, *, of_proxy: bool = False) -> Url:
    """Parse an absolute http, https, ws, wss, tcp or unix URL; the fragment is dropped.

    ``of_proxy``: the URL of a SOCKS proxy is accepted as well.

    A unix URL has no host, and its target is the path of the socket, not percent-encoded. Raises
    `UsageError`, which names the fault and shows neither credentials nor query.
    """
    try:
        parts = urlsplit(text.strip())
        port = parts.port
        host = _ascii_host(parts.hostname or "")
        target = quote(parts.path, safe=_AS_IS) or "/"
        if parts.query:
            target += "?" + quote(parts.query, safe=_AS_IS + "?")
        credentials = _basic(parts.netloc)
    except ValueError:  # its text may quote the password
        raise UsageError(f"not a URL: {_shown(text)!r}: bad host, port or encoding") from None
    scheme = parts.scheme  # urlsplit has made it lower case
    if scheme == "unix" and not host and len(parts.path) > 1:
        return Url(scheme, "", _PORTS[scheme], unquote(parts.path), None)
    if scheme not in _PORTS or (scheme in SOCKS_PORTS and not of_proxy):
        raise UsageError(f"not an http, https, ws, wss, tcp or unix URL: {_shown(text)!r}")
    if scheme == "unix":
        raise UsageError(f"not the URL of a socket, like unix:///path: {_shown(text)!r}")
    if not host:
        raise UsageError(f"a URL without a host: {_shown(text)!r}")
    if scheme == "tcp" and port is None:
        raise UsageError(f"a tcp URL without a port: {_shown(text)!r}")
    return Url(scheme, host, _PORTS[scheme] if port is None else port, target, credentials)


def http_url(url: Url) -> str:
    """Return ``url`` with the scheme http or https, also for a WebSocket, which HTTP opens."""
    return str(url._replace(scheme=url.scheme.replace("ws", "http")))


def resolve_url(base: Url, reference: str) -> Url:
    """Resolve ``reference`` against ``base``. Raises `UsageError` as `parse_url` does."""
    try:
        joined = urljoin(str(base), reference.strip())
    except ValueError:
        raise UsageError(f"not a URL: {_shown(reference)!r}") from None
    return parse_url(joined)


def _shown(text: str) -> str:
    """The text without userinfo, query and fragment, for messages, and cut where it is too long.

    Often the text is not a URL because of an unescaped character in its password. So everything up
    to the last @ counts as userinfo, and where an @ follows a ? or #, only the scheme is shown.
    """
    scheme = re.match("(?:[^/?#@]*//)?", text)
    start = scheme.group() if scheme else ""
    address, *query = re.split("[?#]", text[len(start) :], maxsplit=1)
    shown = start + ("…" if "@" in "".join(query) else address.rpartition("@")[2])
    return shown if len(shown) <= _MAX_SHOWN_LENGTH else shown[:_MAX_SHOWN_LENGTH] + "…"


def _ascii_host(host: str) -> str:
    if len(host) > _MAX_HOST_LENGTH:
        raise ValueError("no host has so long a name")
    encoded = host if host.isascii() else host.encode("idna").decode("ascii")
    if _NEVER_IN_A_HOST.search(encoded):
        raise ValueError("the host holds a character that no host has")
    return encoded.lower()


def _basic(netloc: str) -> str | None:
    userinfo, separator, _ = netloc.rpartition("@")
    if not separator:
        return None
    user, _, password = userinfo.partition(":")
    pair = unquote_to_bytes(user) + b":" + unquote_to_bytes(password)
    return "Basic " + base64.b64encode(pair).decode("ascii")
