"""Cookies: some load balancers use one to send a client back to the same server.

Source: RFC 6265, cut down to the needs of a client. Cookies are kept in memory, never
appear in a repr, and are sent only to the exact origin (scheme, host and port) that set them,
whatever their ``Domain`` says.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..framing.headers import Headers
from ..framing.uri import Url
from .clocks import http_date

_MAX_ORIGINS = 20
_MAX_COOKIES = 50  # of one origin; RFC 6265, section 6.1 asks for no less
_MAX_SIZE = 4096  # of name and value together, likewise
_MAX_PATH = 1024
_MAX_TOTAL = 32 * 1024  # of all cookies of one origin; servers take no longer heads

_PRINTABLE = re.compile(r"[ -~\x80-\xff]*")


class _Cookie(NamedTuple):
    name: str
    value: str
    path: str
    expires: float | None

    def __repr__(self) -> str:
        return f"<cookie {self.name}>"


class CookieJar:
    """The cookies of one client. ``now`` gives the time of day in seconds since 1970."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._origins: dict[tuple[str, str, int], dict[tuple[str, str], _Cookie]] = {}

    def store(self, url: Url, headers: Headers) -> None:
        """Store the cookies that the ``Set-Cookie`` fields of a response from ``url`` set."""
        for field in headers.get_all("set-cookie"):
            self._store(url, field)

    def has_any(self, url: Url) -> bool:
        """Whether the origin of ``url`` has set cookies."""
        return bool(self._origins) and url.origin in self._origins

    def header_for(self, url: Url, own: str = "") -> str:
        """Return the value of ``Cookie`` for a request to ``url``; empty: send none.

        ``own`` is the value that the caller sends already. Where it has a cookie of the same name
        as one of the jar, only the caller's is sent.
        """
        cookies = self._origins.get(url.origin)
        if not cookies:
            return own
        now = self._now()
        for key in [key for key, cookie in cookies.items() if _is_over(cookie, now)]:
            del cookies[key]
        named = {pair.partition("=")[0].strip() for pair in own.split(";")}
        found = [
            cookie
            for cookie in cookies.values()
            if cookie.name not in named and _path_matches(url.path, cookie.path)
        ]
        found.sort(key=lambda cookie: -len(cookie.path))  # section 5.4: longer paths first
        return "; ".join([own] * bool(own) + [f"{cookie.name}={cookie.value}" for cookie in found])

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
        cookie = _Cookie(name, value, path, self._expiry(attributes))
        if url.origin not in self._origins and len(self._origins) >= _MAX_ORIGINS:
            del self._origins[next(iter(self._origins))]
        cookies = self._origins.setdefault(url.origin, {})
        cookies.pop((cookie.name, cookie.path), None)
        if _is_over(cookie, self._now()):
            return
        cookies[cookie.name, cookie.path] = cookie
        while len(cookies) > _MAX_COOKIES or _size_of(cookies.values()) > _MAX_TOTAL:
            del cookies[next(iter(cookies))]

    def _expiry(self, attributes: dict[str, str]) -> float | None:
        age = attributes.get("max-age", "")
        if re.fullmatch(r"-?\d{1,15}", age):
            return self._now() + max(int(age), 0)
        return http_date(attributes.get("expires", ""))

    def __repr__(self) -> str:
        return f"<CookieJar of {sum(map(len, self._origins.values()))} cookies>"


def _size_of(cookies: Iterable[_Cookie]) -> int:
    return sum(len(cookie.name) + len(cookie.value) + len(cookie.path) for cookie in cookies)


def _is_over(cookie: _Cookie, now: float) -> bool:
    return cookie.expires is not None and cookie.expires <= now


def _path_matches(path: str, cookie_path: str) -> bool:
    """Section 5.1.4: equal, or below it."""
    below = cookie_path if cookie_path.endswith("/") else cookie_path + "/"
    return path == cookie_path or path.startswith(below)
