"""Cookies: one Set-Cookie field in each line."""

from __future__ import annotations

from mcpclient.framing.headers import Headers, encode_header
from mcpclient.framing.uri import parse_url
from mcpclient.net.cookies import CookieJar
from mcpclient.net.http_dates import retry_after_seconds

HOME = parse_url("https://shop.example/a/b")
ELSEWHERE = [
    parse_url(url)
    for url in (
        "http://shop.example/a/b",
        "https://shop.example:444/a/b",
        "https://www.shop.example/a/b",
        "https://other.example/a/b",
    )
]


def target(data: bytes) -> None:
    jar = CookieJar(now=lambda: 1_700_000_000.0)
    for field in data.decode("latin-1").split("\n"):
        assert retry_after_seconds(field, 5.0) >= 0
        jar.store(HOME, Headers([("Set-Cookie", field)]))
    cookie = jar.header_for(HOME, "own=1")
    assert cookie.startswith("own=1")
    encode_header("Cookie", cookie)
    for url in ELSEWHERE:
        assert jar.header_for(url) == ""
