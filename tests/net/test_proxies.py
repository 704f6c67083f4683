from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import UsageError
from mcpclient.framing.uri import parse_url
from mcpclient.net.proxies import ProxyChoice, ProxyRules
from tests.support.tables import each_row

PROXY = "http://proxy.test:3128"


def chosen(url: str, environ: dict[str, str], proxy: ProxyChoice = None) -> str | None:
    found = ProxyRules(proxy, environ).proxy_for(parse_url(url))
    return None if found is None else found.shown.rstrip("/")


class WindowsEnvironment(dict[str, str]):
    """`os.environ` as Windows has it: names in upper case, found in any."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(str(name).upper())


def test_windows_has_only_names_in_upper_case() -> None:
    """F-HTTP-12: and a stranger's header is not taken for a proxy there, either."""
    environ = WindowsEnvironment({"HTTP_PROXY": PROXY})
    assert chosen("http://a.test", environ) == PROXY
    environ["REQUEST_METHOD"] = "GET"
    assert chosen("http://a.test", environ) is None


COVERED = [
    ("*", "http://anything.test"),
    ("a.test", "http://a.test"),
    ("a.test", "http://A.test."),
    ("a.test", "http://sub.a.test"),
    (".a.test", "http://sub.a.test"),
    ("*.a.test", "http://sub.a.test"),
    (".a.test", "http://a.test"),
    ("b.test, a.test", "http://a.test"),
    ("b.test a.test", "http://a.test"),
    ("A.TEST", "http://a.test"),
    ("a.test:80", "http://a.test"),
    ("a.test:8080", "http://a.test:8080"),
    ("127.0.0.1", "http://127.0.0.1:9000"),
    ("10.0.0.0/8", "http://10.20.30.40"),
    ("10.0.0.0/8:80", "http://10.20.30.40"),
    ("::1", "http://[::1]:9000"),
    ("[::1]:9000", "http://[::1]:9000"),
    ("fd00::/8", "http://[fd12::1]"),
    ("0:0:0:0:0:0:0:1", "http://[::1]"),
]

NOT_COVERED = [
    ("", "http://a.test"),
    (",, ,", "http://a.test"),
    ("a.test", "http://ba.test"),
    ("a.test", "http://a.test.b"),
    ("a.test:81", "http://a.test"),
    ("10.0.0.0/8", "http://11.0.0.1"),
    ("10.0.0.0/8", "http://ten.test"),
    ("10.0.0.0/x", "http://10.0.0.1"),
    ("0.0.0.0/0", "http://[::1]"),
    ("10.0.0.1/40", "http://10.0.0.1"),
    ("[::1]:9000", "http://[::1]"),
    ("a.test:b", "http://a.test"),
    (".", "http://a.test"),
]


@each_row(("exceptions", "url"), COVERED)
def test_no_proxy_names_what_is_reached_directly(exceptions: str, url: str) -> None:
    """F-HTTP-12: names and their subdomains, addresses, networks, ports and a star."""
    assert chosen(url, {"HTTP_PROXY": PROXY, "NO_PROXY": exceptions}) is None


@each_row(("exceptions", "url"), NOT_COVERED)
def test_no_proxy_names_nothing_else(exceptions: str, url: str) -> None:
    """F-HTTP-12: what is not named goes through the proxy."""
    assert chosen(url, {"HTTP_PROXY": PROXY, "NO_PROXY": exceptions}) == PROXY


@each_row(
    ("proxy", "reason"),
    [
        ("socks4://proxy.test:1080", "SOCKS 4 proxy; only SOCKS 5 is supported"),
        ("SOCKS4A://proxy.test:1080", "SOCKS 4 proxy; only SOCKS 5 is supported"),
        ("socks5://u:secret@", "without a host"),
        (f"socks5://u:{'secret' * 43}@proxy.test", "have at most 255 bytes"),
        ("ftp://proxy.test", "its scheme is 'ftp'"),
        ("http://", "without a host"),
        ("", "without a host"),
        ("http://u:secret@proxy.test:port", "not a URL"),
    ],
)
def test_what_is_no_http_proxy_is_refused(proxy: str, reason: str) -> None:
    """F-HTTP-12: one clear error that names where the proxy came from."""
    with pytest.raises(UsageError, match=reason) as caught:
        ProxyRules(proxy, {})
    assert "proxy" in str(caught.value)
    assert "secret" not in str(caught.value)


@each_row(
    ("written", "expected"),
    [
        ("socks5://proxy.test", "socks5://proxy.test"),
        ("SOCKS5H://u:p@proxy.test:1080", "socks5h://proxy.test"),
        ("socks5://proxy.test:80/", "socks5://proxy.test:80"),
        ("socks://127.0.0.1:9050/", "socks5h://127.0.0.1:9050"),
    ],
)
def test_a_socks_proxy_has_a_url_of_its_own(written: str, expected: str) -> None:
    """F-HTTP-15: in proxy= and in every variable; its port is 1080, and NO_PROXY holds for it."""
    for name in ("HTTPS_PROXY", "ALL_PROXY"):
        assert chosen("https://a.test", {name: written}) == expected
        assert chosen("https://a.test", {name: written, "NO_PROXY": "a.test"}) is None
    assert chosen("http://a.test", {}, written) == expected


def test_a_proxy_that_is_no_text_is_refused() -> None:
    """F-HTTP-12: True is not a choice, and what else is given is not shown."""
    with pytest.raises(UsageError, match="a URL, None or False, not True"):
        ProxyRules(True, {})
    secret: Any = b"http://user:secret@proxy.test"
    with pytest.raises(UsageError, match=r"not bytes$"):
        ProxyRules(secret, {})
