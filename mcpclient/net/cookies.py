"""Cookies: some load balancers use one to send a client back to the same server.

Source: RFC 6265, cut down to the needs of a client. Cookies are kept in memory, never
appear in a repr, and are sent only to the exact origin (scheme, host and port) that set them,
whatever their ``Domain`` says.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from operator import itemgetter
from typing import NamedTuple

from ..framing.headers import Headers
from ..framing.uri import Url
from .http_dates import http_date

_MAX_COOKIES = 50  # RFC 6265, section 6.1 asks for no less
_MAX_SIZE = 4096  # of name and value together, likewise
_MAX_PATH = 1024
_MAX_TOTAL = 32 * 1024  # of all cookies; servers take no longer heads

_PRINTABLE = re.compile(r"[ -~\x80-\xff]*")


class _Cookie(NamedTuple):
    value: str
    expires: float | None

    def __repr__(self) -> str:
        return "<cookie>"


class CookieJar:
    """The cookies of one client. ``now`` gives the time of day in seconds since 1970."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        # By origin, path and name, the oldest first.
        self._cookies: dict[tuple[tuple[str, str, int], str, str], _Cookie] = {}

    def store(self, url: Url, headers: Headers) -> None:
        """Store the cookies that the ``Set-Cookie`` fields of a response from ``url`` set."""
        for field in headers.get_all("set-cookie"):
            self._store(url, field)

    def __bool__(self) -> bool:
        return bool(self._cookies)

    def header_for(self, url: Url, own: str = "") -> str:
        """Return the value of ``Cookie`` for a request to ``url``; empty: send none.

        ``own`` is the value that the caller sends already. Where it has a cookie of the same name
        as one of the jar, only the caller's is sent.
        """
        now = self._now()
        named = {pair.partition("=")[0].strip() for pair in own.split(";")}
        found = [
            (-len(path), f"{name}={cookie.value}")
            for (origin, path, name), cookie in self._cookies.items()
            if origin == url.origin and name not in named and _path_matches(url.path, path)
            if cookie.expires is None or cookie.expires > now
        ]
        found.sort(key=itemgetter(0))  # section 5.4: longer paths first
        return "; ".join([own] * bool(own) + [pair for _, pair in found])

    def _store(self, url: Url, field: str) -> None:
        pair, *texts = field.split(";")
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name or len(pair) > _MAX_SIZE or not _PRINTABLE.fullmatch(pair):
            return
        attributes = {}
        for text in texts:
            key, _, setting = text.partition("=")
            attributes[key.strip().lower()] = setting.strip()
        if "secure" in attributes and not url.secure:
            return
        domain = attributes.get("domain", "").lstrip(".").lower()
        if domain and url.host != domain and not url.host.endswith("." + domain):
            return
        path = attributes.get("path", "")
        if not path.startswith("/"):
            path = url.path.rpartition("/")[0] or "/"
        if len(path) > _MAX_PATH:
            return
        expires = self._expiry(attributes)
        self._cookies.pop((url.origin, path, name), None)
        if expires is None or expires > self._now():
            self._cookies[url.origin, path, name] = _Cookie(value, expires)
        while len(self._cookies) > _MAX_COOKIES or self._size() > _MAX_TOTAL:
            del self._cookies[next(iter(self._cookies))]

    def _expiry(self, attributes: dict[str, str]) -> float | None:
        age = attributes.get("max-age", "")
        if re.fullmatch(r"-?\d{1,15}", age):
            return self._now() + max(int(age), 0)
        return http_date(attributes.get("expires", ""))

    def _size(self) -> int:
        return sum(
            len(name) + len(path) + len(cookie.value)
            for (_, path, name), cookie in self._cookies.items()
        )

    def __repr__(self) -> str:
        return f"<CookieJar of {len(self._cookies)} cookies>"


def _path_matches(path: str, cookie_path: str) -> bool:
    """Section 5.1.4: equal, or below it."""
    below = cookie_path if cookie_path.endswith("/") else cookie_path + "/"
    return path == cookie_path or path.startswith(below)
