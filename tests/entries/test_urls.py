"""F-MANY-9: one spelling for each URL, the same for the policy and for the connection."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.entries.urls import canonical_url
from mcpclient.errors import UsageError
from mcpclient.framing.uri import parse_url
from tests.support.tables import each_row

SAME = {
    "case": ("HTTPS://Example.COM/Path", "https://example.com/Path"),
    "default port": ("https://example.com:443/", "https://example.com/"),
    "another port": ("https://example.com:8443", "https://example.com:8443"),
    "no path": ("http://example.com", "http://example.com"),
    "trailing dot": ("https://example.com./a", "https://example.com/a"),
    "dots": ("https://x/a/./b/../c", "https://x/a/c"),
    "encoded dots": ("https://x/a/%2e%2E/%2e/c", "https://x/c"),
    "dots above the root": ("https://x/../../a", "https://x/a"),
    "a folder stays one": ("https://x/a/b/..", "https://x/a/"),
    "full width": ("https://ｅvil.com/", "https://evil.com/"),
    "ideographic full stop": ("https://evil。com/", "https://evil.com/"),
    "beyond ASCII": ("https://bücher.example/", "https://xn--bcher-kva.example/"),
    "address as one number": ("http://2130706433/", "http://127.0.0.1/"),
    "address in octal and hex": ("http://0177.0x0.1/", "http://127.0.0.1/"),
    "address in full width": ("http://１２７.0.0.1/", "http://127.0.0.1/"),
    "IPv6": ("http://[0:0:0:0:0:0:0:1]:80/", "http://[::1]/"),
    "IPv4 in IPv6": ("http://[::ffff:7f00:1]/", "http://127.0.0.1/"),
    "fragment": ("https://x/a#b", "https://x/a"),
    "query": ("https://x/a?b=../c", "https://x/a?b=../c"),
    "user": ("https://u:p@x/a", "https://u:p@x/a"),
    "space around": (" https://x/a\n", "https://x/a"),
    "WebSocket": ("WSS://X:443/a", "wss://x/a"),
    "stream": ("tcp://X:9000", "tcp://x:9000"),
    "socket": ("unix:///run/../tmp/s", "unix:///tmp/s"),
}


@each_row(("written", "canonical"), SAME.values())
def test_the_one_spelling(written: str, canonical: str) -> None:
    """F-MANY-9"""
    found = canonical_url(written)
    assert str(found) == canonical
    assert canonical_url(canonical) == found


REFUSED = [
    *("https://evil.com\\@good.com/", "https://good.com/a b", "https://good\t.com/"),
    *("https://good.com\u200b/", "https://a\u2028b/", "https://%65vil.com/", "https:///a"),
    *("https://a..b/", "https://./", "https://1.2.3.4.5/", "https://0x1g.1.1.256/", "file:///a"),
    *("https://x/a//../b", "https://x/a//%2e%2E/b"),
    *("https://[::1", "https://[::1%25eth0]/", "https://x:99999/", "npx", ""),
    *("https://" + "a" * 64 + "é/", "https://é..b/"),
]


@each_row("written", REFUSED)
def test_what_parsers_disagree_on_is_refused(written: str) -> None:
    """F-MANY-9: backslashes, white space, control characters, disguised hosts."""
    with pytest.raises(UsageError):
        canonical_url(written)


def test_neither_text_nor_error_shows_credentials() -> None:
    assert "SECRET" not in repr(canonical_url("https://u:SECRET@x/?k=SECRET"))
    with pytest.raises(UsageError) as caught:
        canonical_url("https://u:SECRET@x:y/")
    assert "SECRET" not in str(caught.value)


@given(st.text("htps:/.@%2eE[]:0aA?#\\ é", max_size=25).map(lambda text: f"https://{text}"))
def test_what_is_judged_is_what_is_connected_to(text: str) -> None:
    """F-MANY-9: the spelling is stable, and the parser that connects reads the same host."""
    try:
        found = canonical_url(text)
    except UsageError:
        return
    assert canonical_url(str(found)) == found
    connected = parse_url(str(found))
    assert (connected.scheme, connected.host, connected.port) == (
        found.scheme,
        found.host,
        found.port,
    )
