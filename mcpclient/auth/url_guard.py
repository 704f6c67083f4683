"""Where a URL that a server named may point: the guard against server-side request forgery.

There are two gates: `assert_safe_url` checks the URL before a request is made, and `check_address`
checks the IP address about to be connected to, since a harmless name may resolve to a private one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import SplitResult, urljoin, urlsplit

from ..errors import SsrfError
from ..framing.uri import DEFAULT_PORTS
from .special_addresses import forbidden_reason, is_meant_as_ipv4, parse_canonical_ipv4

# Names that resolve to the machine itself or only inside its network (RFC 6761, 6762, 8375, 9476).
_LOCAL_NAMES = {"localhost", "localdomain", "local", "internal", "intranet", "home.arpa", "lan"}

_PLAIN_URL = re.compile(r"[!-~]+", re.ASCII)
_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?:\.(?!-)[A-Za-z0-9_-]{1,63})*", re.ASCII)

_LOCAL_HINT = "for local development set local_development=True"


@dataclass(frozen=True)
class UrlPolicy:
    """What the user allows beyond https URLs on the issuer's own public host.

    ``allow_insecure_http``: http as well. ``allow_loopback``: loopback, private and link-local
    hosts as well. ``allowed_hosts``: hosts where an endpoint may be, besides the issuer's.
    ``trusted_origins``: origins that the user named, in the spelling of `origin_of`; they may be
    private. ``server_origin``: that of the MCP server.
    """

    allow_insecure_http: bool = False
    allow_loopback: bool = False
    allowed_hosts: frozenset[str] = frozenset()
    trusted_origins: frozenset[str] = frozenset()
    server_origin: str | None = None


def assert_safe_url(url: str, issuer_url: str | None, policy: UrlPolicy) -> None:
    """Raise `SsrfError` unless ``url``, named by a server, may be requested.

    Its scheme must be https, or http when the policy allows it. Its host must not be local or
    private in any spelling, and must be the host of ``issuer_url`` or an allowed one. With
    ``issuer_url`` None it may be any public host.
    """
    parts = _split(url)
    host = _normal_host(url, parts)
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
            url, f"the host is not that of {without_query(issuer_url)} and not in allowed_hosts"
        )


def check_address(address: str, url: str, policy: UrlPolicy) -> None:
    """Raise `SsrfError` unless a request for ``url`` may connect to the IP ``address``.

    Call it with the address of the connection itself, after the name was resolved.
    """
    if policy.allow_loopback or origin_of(url) in policy.trusted_origins:
        return
    try:
        reason = forbidden_reason(ip_address(address))
    except ValueError:
        reason = "unreadable"
    if reason is not None:
        raise SsrfError(
            url,
            f"the host resolves to {address}, which is not public ({reason}); {_LOCAL_HINT}",
        )


def origin_of(url: str) -> str:
    """Scheme, host and port of ``url``, in one spelling: ``https://example.com:443``."""
    parts = _split(url)
    return f"{parts.scheme}://{_normal_host(url, parts)}:{_port(url, parts)}"


def host_of(url: str) -> str:
    """The host of ``url`` in lower case, without brackets or trailing dot."""
    return _normal_host(url, _split(url))


def resolve(base: str, reference: str) -> str:
    """The URL that ``reference``, which a server named, stands for relative to ``base``.

    It is not checked, and may point anywhere. Raises `SsrfError` when it cannot be read.
    """
    try:
        return urljoin(base, reference)
    except ValueError:
        raise SsrfError(reference, "it is not a URL") from None


def without_query(url: str) -> str:
    """``url`` without credentials, query and fragment: an issuer, say, whose path tells tenants
    apart. What may have a key in its path is shown by `display.shown_url`.
    """
    shown = re.split(r"[?#]", url, maxsplit=1)[0]
    scheme, separator, rest = shown.partition("://")
    authority, slash, path = rest.partition("/")
    return scheme + separator + authority.rpartition("@")[2] + slash + path


def _split(url: str) -> SplitResult:
    # Backslashes, spaces and control characters are read differently by different parsers.
    if not _PLAIN_URL.fullmatch(url) or "\\" in url:
        raise SsrfError(url, "it contains characters that a URL may not contain")
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        raise SsrfError(url, "it is not a URL") from None
    if not host:
        raise SsrfError(url, "it names no host")
    if "@" in parts.netloc:
        raise SsrfError(url, "it holds credentials")
    return parts


def _port(url: str, parts: SplitResult) -> int | None:
    try:
        port = parts.port
    except ValueError:
        raise SsrfError(url, "it names no valid port") from None
    return DEFAULT_PORTS.get(parts.scheme) if port is None else port


def _normal_host(url: str, parts: SplitResult) -> str:
    host = parts.hostname or ""
    if parts.netloc.startswith("["):
        if "%" in host:
            raise SsrfError(url, "its address has a zone")
        try:
            return str(IPv6Address(host))
        except ValueError:
            raise SsrfError(url, "its host is not a valid IPv6 address") from None
    host = host[:-1] if host.endswith(".") else host
    if not _HOST_NAME.fullmatch(host):
        # Percent-encoded and other disguised hosts end here; a resolver might decode them.
        raise SsrfError(url, "its host is not a plain name or address")
    return host


def _local_reason(url: str, host: str) -> str | None:
    if ":" in host:
        return forbidden_reason(IPv6Address(host))
    if is_meant_as_ipv4(host):
        number = parse_canonical_ipv4(host)
        if number is None:
            raise SsrfError(url, "its host is not a valid IPv4 address")
        return forbidden_reason(IPv4Address(number))
    if any(host == name or host.endswith("." + name) for name in _LOCAL_NAMES):
        return "local"
    return None
