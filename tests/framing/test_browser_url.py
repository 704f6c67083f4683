"""The host that a browser goes to, compared with what Node's ``new URL`` made of the same URLs.

It proves F-API-10.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit

from hypothesis import given
from hypothesis import strategies as st

from mcpclient.framing.browser_url import browser_host, parse_canonical_ipv4
from tests.support.properties import examples
from tests.support.tables import each_row

# Each URL with its host in Node 20, empty where it is neither http nor https, null where `new URL`
# throws. Made of odd hosts, ports, separators and users, with characters put in at random.
CAPTURED: list[tuple[str, str | None]] = json.loads(
    (Path(__file__).parent / "browser_urls.json").read_text(encoding="utf-8")
)


def test_what_is_read_alike_has_the_host_that_everybody_sees() -> None:
    """F-API-10"""
    alike = [(url, host) for url, host in CAPTURED if browser_host(url)]
    assert 20 < len(alike) < len(CAPTURED) / 2
    for url, host in alike:
        assert host and url.isprintable()
        assert (urlsplit(url).hostname or "").encode("idna").decode() == host.strip("[]")


@each_row(
    "url",
    [
        "https://example.com",
        "https://example.com:8443/connect?state=a%20b&x=%7B#top",
        "HTTPS://User:pw@Example.COM:/",
        "http://127.0.0.1:1/",
        "http://[0::1]/",
        "https://m\u00fcnchen.example/stra\u00dfe?\u65e5\u672c",
        "https://\u65e5\u672c\u8a9e.jp/",
        "https://xn--mnchen-3ya.example/",
        "https://my_host.example/a;b,c/(d)?e=[f]",
    ],
)
def test_ordinary_urls(url: str) -> None:
    assert browser_host(url)


@examples(60)
@given(
    st.text(max_size=30), st.sampled_from(["", "https:", "http://", "https://[", "https://xn--"])
)
def test_any_text(text: str, start: str) -> None:
    """Nothing is raised, and a host is ASCII."""
    host = browser_host(start + text)
    assert host.isascii() and host == host.lower()


@each_row(
    ("text", "number"),
    [
        *(("127.1", 0x7F000001), ("0x7f.0.0x1", 0x7F000001), ("0177.0.0.01.", 0x7F000001)),
        *(("2130706433", 0x7F000001), ("0x", 0), ("4294967295", 2**32 - 1)),
        *(("4294967296", None), ("1.2.3.256", None), ("256.1", None), ("1.2.3.4.5", None)),
        *(("08", None), ("a", None), ("", None), ("1" * 2000, None), ("0xg", None), ("-1", None)),
        *(("+1", None), (" 1", None), ("1_0", None), ("1e3", None), ("１２７.0.0.1", None)),
        *(("1..2", None), (".1", None), ("127.0.0.1..", None), ("1.2.3.", 0x01020003)),
    ],
)
def test_an_ipv4_address_in_any_spelling(text: str, number: int | None) -> None:
    """F-AUTH-10: as inet_aton reads it."""
    assert parse_canonical_ipv4(text) == number
