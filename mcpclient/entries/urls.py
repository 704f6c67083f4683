"""The canonical form of a server's URL, so that the URL judged is the one connected to.

Source: RFC 3986, section 6.2 (normalization); RFC 5890 for names beyond ASCII."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import unquote_to_bytes, urlsplit

from ..errors import UsageError
from ..framing.browser_url import is_meant_as_ipv4, parse_canonical_ipv4
from ..framing.uri import DEFAULT_PORTS, parse_url

_ENCODED_DOT = re.compile("%2e", re.IGNORECASE)
# What servers read in different ways: separators and signs that are encoded, and parameters.
_AMBIGUOUS = re.compile("%(?:2f|5c|25|3b|[01][0-9a-f]|7f)|[;\\\\]|%(?![0-9a-f]{2})", re.IGNORECASE)
_MAX_DECODINGS = 3
# What different parsers read differently: space, line, paragraph, control and format characters.
_REFUSED_CATEGORIES = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Cs"})


@dataclass(frozen=True)
class CanonicalUrl:
    """A URL in the canonical form that is judged and connected to.

    ``userinfo`` is as written, without the ``@``; ``port`` is never None; ``query`` has no ``?``.
    """

    scheme: str
    userinfo: str
    host: str
    port: int
    path: str
    query: str

    @property
    def has_usual_port(self) -> bool:
        """Whether the port is the scheme's default, so that it need not be written."""
        return self.port == DEFAULT_PORTS.get(self.scheme)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.has_usual_port or not host else f":{self.port}"
        user = f"{self.userinfo}@" if self.userinfo else ""
        query = f"?{self.query}" if self.query else ""
        return f"{self.scheme}://{user}{host}{port}{self.path}{query}"

    def __repr__(self) -> str:
        return f"CanonicalUrl({replace(self, userinfo='', query='')!s})"


def canonical_url(text: str) -> CanonicalUrl:
    """Return a server's URL in its one spelling; the fragment is dropped.

    Raises `UsageError`, without credentials or query, for a string that is not the URL of a server,
    and for white space, control characters and backslashes, which parsers disagree on.
    """
    text = text.strip()
    if "\\" in text or any(unicodedata.category(each) in _REFUSED_CATEGORIES for each in text):
        raise UsageError("the URL holds white space, a control character or a backslash")
    url = parse_url(text)
    parts = urlsplit(text)
    if url.scheme == "unix":
        return CanonicalUrl("unix", "", "", 0, _without_dots(parts.path), "")
    # A server that drops empty segments first goes up from another one.
    if _joined(_without_dots(parts.path)) != _without_dots(_joined(parts.path)):
        raise UsageError("the URL's path goes up from an empty segment")
    host = canonical_host(url.host)
    userinfo = parts.netloc.rpartition("@")[0]
    return CanonicalUrl(
        url.scheme, userinfo, host, url.port, _without_dots(parts.path), parts.query
    )


def canonical_host(host: str) -> str:
    """Return a host in lower case, ASCII, without a trailing dot, an address in its usual form.

    Raises `UsageError` for anything that is neither a name nor an address.
    """
    host = ascii_host(host)
    if "%" in host:
        raise UsageError("the URL's host is percent-encoded, or has a zone")
    if ":" in host:
        try:
            address = IPv6Address(host)
        except ValueError:
            raise UsageError("the URL's host is not an IPv6 address") from None
        return str(address.ipv4_mapped or address.compressed)  # both connect to the same
    host = host[:-1] if host.endswith(".") else host
    if not host or "" in host.split("."):
        raise UsageError("the URL's host is not a name")
    if is_meant_as_ipv4(host):
        number = parse_canonical_ipv4(host)
        if number is None:
            raise UsageError("the URL's host is not an IPv4 address")
        return str(IPv4Address(number))
    return host


def ascii_host(host: str) -> str:
    """Return a host, or some labels of one, in lower case and ASCII. Raises `UsageError`."""
    try:
        return (host if host.isascii() else host.encode("idna").decode("ascii")).lower()
    except ValueError:
        raise UsageError("the URL's host is not a name") from None


def segments_of(path: str) -> list[str]:
    """Return the segments of a path, without percent-encoding, each octet as one character."""
    return [unquote_to_bytes(each).decode("latin-1") for each in (path or "/").split("/")]


def is_plain_segment(segment: str) -> bool:
    """Whether a segment of a path, as written, means the same to each server."""
    return bool(segment) and _AMBIGUOUS.search(segment) is None


def readings_of(path: str) -> Iterator[list[str]]:
    """Yield the segments of each path that a server may read in one.

    As it is, and decoded once or more often, with and without parameters and empty segments.
    """
    for _ in range(_MAX_DECODINGS):
        yield segments_of(path)
        path = unquote_to_bytes(path).decode("latin-1").replace("\\", "/")
        for plain in (path, re.sub(";[^/]*", "", path)):
            yield segments_of(_without_dots(plain))
            yield segments_of(_without_dots(_joined(plain)))


def _joined(path: str) -> str:
    return re.sub("/+", "/", path)


def _without_dots(path: str) -> str:
    """Remove ``.`` and ``..``, in whatever spelling (RFC 3986, section 5.2.4)."""
    segments = path.split("/")
    kept: list[str] = []
    for segment in segments[1:]:
        plain = _ENCODED_DOT.sub(".", segment)
        if plain == "..":
            del kept[-1:]
        elif plain != ".":
            kept.append(segment)
    if kept != segments[1:] and _ENCODED_DOT.sub(".", segments[-1]) in (".", ".."):
        kept.append("")  # a folder stays one
    return "".join(f"/{segment}" for segment in kept)
