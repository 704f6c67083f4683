"""Which proxy a URL is reached through: the caller's choice, or the environment's rules.

No standard defines ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``; this follows
what curl and `urllib.request` have in common. The latter is not used, since importing it is slow.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping
from typing import NamedTuple, Union

from ..errors import UsageError
from ..framing.uri import Url, parse_url

ProxyChoice = Union[str, bool, None]
"""A proxy's URL for everything, None for the environment's rules, False for no proxy."""

# Where the proxy for a scheme is looked up. A WebSocket falls back to the variable of HTTP.
_VARIABLES = {
    "http": ("http_proxy", "all_proxy"),
    "https": ("https_proxy", "all_proxy"),
    "ws": ("ws_proxy", "http_proxy", "all_proxy"),
    "wss": ("wss_proxy", "https_proxy", "all_proxy"),
}


class ProxyRules:
    """The rules of one client.

    ``chosen`` is used for every URL. Without it the variables of ``environ`` decide: a name in
    lower case goes before one in upper case, and ``NO_PROXY`` lists what is reached directly.
    """

    def __init__(self, chosen: Url | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._chosen = chosen
        self._variables = _proxy_variables(environ or {})
        self._direct = tuple(_read_direct(self._variables.pop("no_proxy", "")))

    @classmethod
    def of(cls, proxy: ProxyChoice, environ: Mapping[str, str]) -> ProxyRules:
        """Make the rules from the caller's choice. Raises `UsageError` for an unusable one."""
        if proxy is False:
            return cls()
        if proxy is None:
            return cls(environ=environ)
        if not isinstance(proxy, str):
            shown = "True" if proxy is True else type(proxy).__name__  # it may hold a password
            raise UsageError(f"proxy is a URL, None or False, not {shown}")
        return cls(_parse_proxy(proxy, "proxy"))

    def proxy_for(self, url: Url) -> Url | None:
        """Return the proxy for a URL, None for a direct connection.

        Raises `UsageError` when the environment names one that cannot be used.
        """
        if self._chosen is not None:
            return self._chosen
        names = _VARIABLES.get(url.scheme, ())
        name = next((name for name in names if self._variables.get(name)), None)
        if name is None or any(entry.covers(url) for entry in self._direct):
            return None
        return _parse_proxy(self._variables[name], name)


def _proxy_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables by their names in lower case; an empty one in lower case hides the other."""
    names = set(environ)  # unlike os.environ of Windows, a set tells the two cases apart
    found = {}
    for name, value in environ.items():
        if name.lower().endswith("_proxy") and (name.islower() or name.lower() not in names):
            found[name.lower()] = value.strip()
    if "REQUEST_METHOD" in names and "http_proxy" not in names:
        # In a CGI program HTTP_PROXY is the request header "Proxy", which anybody may set.
        found.pop("http_proxy", None)
    return found


def _parse_proxy(text: str, source: str) -> Url:
    text = text.strip()
    scheme, separator, _ = text.partition("://")
    if not separator:
        text, scheme = f"http://{text}", "http"
    if scheme.lower().startswith("socks"):
        raise UsageError(
            f"{source} names a SOCKS proxy, which is not supported; give the URL of an HTTP proxy"
        )
    if scheme.lower() not in ("http", "https"):
        raise UsageError(f"{source} is not the URL of an HTTP proxy: its scheme is {scheme!r}")
    try:
        return parse_url(text)
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from None


class _DirectEntry(NamedTuple):
    """One entry of ``NO_PROXY``.

    ``host``: a name with all that is below it, ``*`` for any, empty for none. ``network``: number
    of address bits, address, and how many low bits do not count. ``port``: None for any.
    """

    host: str
    network: tuple[int, int, int] | None
    port: int | None

    def covers(self, url: Url) -> bool:
        if self.port is not None and self.port != url.port:
            return False
        if self.network is not None:
            bits, address, ignored = self.network
            found = _address(url.host)
            return found is not None and found[0] == bits and found[1] >> ignored == address
        host = url.host.rstrip(".")
        return self.host == "*" or host == self.host or host.endswith("." + self.host)


_ENTRY = re.compile(r"(?:\[([^\]]+)\]|([^:]*)|(.*:.*:.*?))(?::(\d+))?")


def _read_direct(text: str) -> Iterator[_DirectEntry]:
    for entry in re.split(r"[\s,]+", text.lower()):
        match = _ENTRY.fullmatch(entry)
        if not entry or match is None:
            continue
        bracketed, plain, address, port = match.groups()
        if address is not None:  # an IPv6 address without brackets has no port
            host, port = entry, None
        else:
            host = bracketed or plain
        network = _network(host)
        name = host if host == "*" else host.removeprefix("*").strip(".")
        yield _DirectEntry(name, network, int(port) if port else None)


def _network(text: str) -> tuple[int, int, int] | None:
    host, slash, prefix = text.partition("/")
    found = _address(host)
    if found is None or (slash and not prefix.isdecimal()):
        return None
    bits, address = found
    ignored = max(bits - int(prefix), 0) if slash else 0
    return bits, address >> ignored, ignored


def _address(text: str) -> tuple[int, int] | None:
    """The number of bits of an IP address, and its value; None for a name."""
    for family, bits in ((socket.AF_INET, 32), (socket.AF_INET6, 128)):
        try:
            return bits, int.from_bytes(socket.inet_pton(family, text), "big")
        except (OSError, ValueError):
            continue
    return None
