"""URLs of servers: what a connection needs of them, and nothing secret in a message (F-AUTH-12)."""

from __future__ import annotations

import base64

import pytest

from mcpclient.errors import UsageError
from mcpclient.framing.uri import parse_url, resolve_url
from tests.support.tables import each_row


@each_row(
    ("text", "parsed"),
    [
        ("http://localhost:3000", ("http", "localhost", 3000, "/")),
        ("https://Example.COM/mcp", ("https", "example.com", 443, "/mcp")),
        ("  HTTPS://example.com/a?b=c#d ", ("https", "example.com", 443, "/a?b=c")),
        ("ws://h?x=1", ("ws", "h", 80, "/?x=1")),
        ("wss://h/", ("wss", "h", 443, "/")),
        ("http://[::1]:8080/x", ("http", "::1", 8080, "/x")),
        ("http://127.0.0.1:80/x", ("http", "127.0.0.1", 80, "/x")),
        ("http://h:0/", ("http", "h", 0, "/")),
        ("http://bücher.example/", ("http", "xn--bcher-kva.example", 80, "/")),
        ("http://h/ä b%20c", ("http", "h", 80, "/%C3%A4%20b%20c")),
        ("http://h/a;b=1/c:d@e", ("http", "h", 80, "/a;b=1/c:d@e")),
        ("http://h/?q=a?b/c&d=é", ("http", "h", 80, "/?q=a?b/c&d=%C3%A9")),
    ],
)
def test_parsing(text: str, parsed: tuple[str, str, int, str]) -> None:
    """F-HTTP-11: one URL is enough, written as people write it."""
    url = parse_url(text)
    assert (url.scheme, url.host, url.port, url.target) == parsed
    assert url.credentials is None


@each_row(
    ("userinfo", "pair"),
    [("user:pass", b"user:pass"), ("user", b"user:"), ("a%40b:c%3Ad", b"a@b:c:d"), (":x", b":x")],
)
def test_userinfo_becomes_basic_credentials(userinfo: str, pair: bytes) -> None:
    """F-AUTH-13: userinfo is sent as Basic authorization, decoded, and stays out of the text."""
    url = parse_url(f"https://{userinfo}@example.com/mcp?token=t")
    assert url.credentials == "Basic " + base64.b64encode(pair).decode()
    assert url.authority == "example.com"
    assert url.shown == "https://example.com/mcp"
    assert repr(url) == "Url('https://example.com/mcp')"
    assert "@" not in str(url)


@each_row(
    "text",
    [
        "http://user:s3cret@h:port/",
        "http://user:s3cret/s3cret@host/",
        "http://user:s3cret@ho\u2100st/",
        "http://user:s3cret@/",
        "ftp://user:s3cret@host/?s3cret",
        "http://user:p#s3cret@a b/",
        "http://user:s3cret?x@host/",
        "http://user:s3cret#x@host/",
        "user:s3cret@host/",
        "user:s3cret?x@host//y",
        "host/mcp?url=ftp://s3cret",
        "http://a b/?token=s3cret",
    ],
)
def test_errors_hold_no_secret(text: str) -> None:
    """F-AUTH-12: neither password nor query of a bad URL reaches the exception."""
    with pytest.raises(UsageError) as caught:
        parse_url(text)
    assert "s3cret" not in repr(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@each_row(
    ("reference", "resolved"),
    [
        ("/messages?sessionId=1", "https://h:8443/messages?sessionId=1"),
        ("messages", "https://h:8443/a/messages"),
        ("?x=1", "https://h:8443/a/sse?x=1"),
        ("//other/x", "https://other/x"),
        ("http://other/x ", "http://other/x"),
        ("../../up", "https://h:8443/up"),
    ],
)
def test_resolving(reference: str, resolved: str) -> None:
    """F-HTTP-10, F-HTTP-8: endpoints and redirects are seen from the URL they came from."""
    url = resolve_url(parse_url("https://user:pass@h:8443/a/sse"), reference)
    assert str(url) == resolved
    assert url.credentials is None


@each_row(
    ("text", "shown"),
    [
        ("ftp://user:pass@host/path?key=1#x", "'ftp://host/path'"),
        ("tcp://user@host?key=1", "'tcp://host'"),
        ("http://user:pa#ss@a b/", "'http://…'"),
        ("host/mcp", "'host/mcp'"),
        ("ftp://host/" + "x" * 189, "'ftp://host/" + "x" * 189 + "'"),
        ("ftp://host/" + "x" * 190, "'ftp://host/" + "x" * 189 + "…'"),
    ],
)
def test_errors_show_the_rest_of_the_url(text: str, shown: str) -> None:
    """F-HTTP-11: what is not secret is shown, as far as a user would read it."""
    with pytest.raises(UsageError) as caught:
        parse_url(text)
    assert shown in str(caught.value)


def test_the_longest_host() -> None:
    """F-HTTP-11: a name of DNS has 253 characters at most."""
    assert parse_url("http://" + "h" * 253).host == "h" * 253
    with pytest.raises(UsageError):
        parse_url("http://" + "h" * 254)
