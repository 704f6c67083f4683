"""The guard against server-side request forgery: which URLs named by a server may be requested.

There are two gates: `assert_safe_url` checks the URL before a request is made, and `check_address`
checks the IP address about to be connected to, since a harmless name may resolve to a private one.
The tables follow the IANA special-purpose registries, because `ipaddress.is_private` differs
between Python versions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urljoin, urlsplit

from ..errors.authorization import SsrfError
from ..framing.browser_url import is_meant_as_ipv4, parse_canonical_ipv4
from ..framing.uri import DEFAULT_PORTS

# By the reason why they are not public; the first that fits is named.
_FORBIDDEN = {
    "unspecified": ("0.0.0.0/8", "::/128"),
    "loopback": ("127.0.0.0/8", "::1/128"),
    "private": ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
    "carrier-grade NAT": ("100.64.0.0/10",),
    "link-local": ("169.254.0.0/16", "fe80::/10"),
    "multicast": ("224.0.0.0/4", "ff00::/8"),
    "broadcast": ("255.255.255.255/32",),
    "Teredo": ("2001::/32",),
    "reserved": (
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24"),
        *("203.0.113.0/24", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "3fff::/20"),
    ),
}
_RANGES = [
    (ip_network(network), reason) for reason, networks in _FORBIDDEN.items() for network in networks
]

_GLOBAL_UNICAST = IPv6Network("2000::/3")

# IPv6 addresses with an IPv4 address in them, and how far its last bit is from the end.
_EMBEDDING = [
    (IPv6Network("::ffff:0:0/96"), 0, "IPv4-mapped"),
    (IPv6Network("::/96"), 0, "IPv4-compatible"),
    (IPv6Network("64:ff9b::/96"), 0, "NAT64"),
    (IPv6Network("2002::/16"), 80, "6to4"),
]


def forbidden_reason(address: IPv4Address | IPv6Address) -> str | None:
    """Return the kind of an address that is not public ("IPv4-mapped private"), None if it is."""
    if getattr(address, "scope_id", None) is not None:
        return "zoned"
    reason = next((reason for network, reason in _RANGES if address in network), None)
    if reason is not None or isinstance(address, IPv4Address):
        return reason
    for network, shift, name in _EMBEDDING:
        if address in network:
            embedded = forbidden_reason(IPv4Address((int(address) >> shift) & 0xFFFFFFFF))
            # Networks without IPv4 reach public hosts through NAT64; the others are not in use.
            if embedded is None and name == "NAT64":
                return None
            return f"{name} {embedded}" if embedded else name
    return None if address in _GLOBAL_UNICAST else "reserved"


# Names that resolve to the machine itself or only inside its network (RFC 6761, 6762, 8375, 9476).
_LOCAL_NAMES = (
    *(".localhost", ".localdomain", ".local", ".internal", ".intranet", ".home.arpa", ".lan"),
)

_PLAIN_URL = re.compile(r"[!-~]+", re.ASCII)
_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?:\.(?!-)[A-Za-z0-9_-]{1,63})*", re.ASCII)

_LOCAL_HINT = "for local development set local_development=True"


@dataclass(frozen=True)
class UrlPolicy:
    """The user's exceptions to the rule: https URLs on the issuer's own public host.

    ``allow_insecure_http``: http as well. ``allow_loopback``: loopback, private and link-local
    hosts as well. ``allowed_hosts``: hosts where an endpoint may be. ``trusted_origins``, as
    `origin_of` spells them, may be private. ``server_origin``: the MCP server's.
    """

    allow_insecure_http: bool = False
    allow_loopback: bool = False
    allowed_hosts: frozenset[str] = frozenset()
    trusted_origins: frozenset[str] = frozenset()
    server_origin: str | None = None


def assert_safe_url(url: str, issuer_url: str | None, policy: UrlPolicy) -> None:
    """Raise `SsrfError` unless ``url``, named by a server, may be requested.

    Its scheme must be https, or http if the policy allows it. Its host must be public in any
    spelling and, unless ``issuer_url`` is None, the issuer's or an allowed one.
    """
    parts, host = _parse(url)
    if parts.scheme == "http":
        if not policy.allow_insecure_http:
            raise SsrfError(url, f"only https is allowed; {_LOCAL_HINT}")
    elif parts.scheme != "https":
        raise SsrfError(url, f"the scheme {parts.scheme!r} is not https")
    if origin_of(url) in policy.trusted_origins:
        return
    local = _local_reason(url, host)
    if local is not None:
        if not policy.allow_loopback:
            raise SsrfError(url, f"the host is not public ({local}); {_LOCAL_HINT}")
        return
    if issuer_url is None or host == host_of(issuer_url):
        return
    if host not in {allowed.lower().rstrip(".") for allowed in policy.allowed_hosts}:
        raise SsrfError(
            url, f"the host is neither the host of {without_query(issuer_url)} nor in allowed_hosts"
        )


def check_address(address: str, url: str, policy: UrlPolicy) -> None:
    """Raise `SsrfError` unless a request for ``url`` may connect to ``address``, as resolved."""
    if policy.allow_loopback or origin_of(url) in policy.trusted_origins:
        return
    try:
        reason = forbidden_reason(ip_address(address))
    except ValueError:
        reason = "unreadable"
    if reason is not None:
        found = f"the host resolves to {address}, which is not public ({reason})"
        raise SsrfError(url, f"{found}; {_LOCAL_HINT}")


@lru_cache(maxsize=64)  # every request asks for the same few
def origin_of(url: str) -> str:
    """Return scheme, host and port of ``url`` in one spelling: ``https://example.com:443``."""
    parts, host = _parse(url)
    try:
        port = parts.port
    except ValueError:
        raise SsrfError(url, "it names no valid port") from None
    port = DEFAULT_PORTS.get(parts.scheme) if port is None else port
    return f"{parts.scheme}://{host}:{port}"


def host_of(url: str) -> str:
    """Return the host of ``url`` in lower case, without brackets or trailing dot."""
    return _parse(url)[1]


def resolve(base: str, reference: str) -> str:
    """Resolve a server's ``reference`` against ``base``, without a check. Raises `SsrfError`."""
    try:
        return urljoin(base, reference)
    except ValueError:
        raise SsrfError(reference, "it is not a URL") from None


def without_query(url: str) -> str:
    """Return ``url`` without credentials, query and fragment.

    It is for issuers, whose paths tell tenants apart; `display.shown_url` hides keys in paths too.
    """
    scheme, separator, rest = re.split(r"[?#]", url, maxsplit=1)[0].partition("://")
    authority, slash, path = rest.partition("/")
    return scheme + separator + authority.rpartition("@")[2] + slash + path


def _parse(url: str) -> tuple[SplitResult, str]:
    """Return the parts of ``url``, and its host as `host_of` does."""
    # Backslashes, spaces and control characters are read differently by different parsers.
    if not _PLAIN_URL.fullmatch(url) or "\\" in url:
        raise SsrfError(url, "it contains characters that are not allowed in a URL")
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise SsrfError(url, "it is not a URL") from None
    if not host:
        raise SsrfError(url, "it names no host")
    if "@" in parts.netloc:
        raise SsrfError(url, "it holds credentials")
    if parts.netloc.startswith("["):
        if "%" in host:
            raise SsrfError(url, "its address has a zone")
        try:
            return parts, str(IPv6Address(host))
        except ValueError:
            raise SsrfError(url, "its host is not a valid IPv6 address") from None
    host = host[:-1] if host.endswith(".") else host
    if not _HOST_NAME.fullmatch(host):
        # Percent-encoded and other disguised hosts end here; a resolver might decode them.
        raise SsrfError(url, "its host is not a plain name or address")
    return parts, host


def _local_reason(url: str, host: str) -> str | None:
    if ":" in host:
        return forbidden_reason(IPv6Address(host))
    if is_meant_as_ipv4(host):
        number = parse_canonical_ipv4(host)
        if number is None:
            raise SsrfError(url, "its host is not a valid IPv4 address")
        return forbidden_reason(IPv4Address(number))
    return "local" if f".{host}".endswith(_LOCAL_NAMES) else None
