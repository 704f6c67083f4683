from __future__ import annotations

import pytest

from mcpclient.auth.url_guard import (
    UrlPolicy,
    assert_safe_url,
    check_address,
    origin_of,
    resolve,
    without_query,
)
from mcpclient.errors import SsrfError
from tests.support.tables import each_row

ISSUER = "https://auth.example"
STRICT = UrlPolicy()


def reason_for(url: str, policy: UrlPolicy = STRICT, issuer: str | None = None) -> str:
    with pytest.raises(SsrfError) as caught:
        assert_safe_url(url, issuer, policy)
    assert caught.value.url == url
    return caught.value.reason


@each_row(
    ("url", "reason"),
    [
        ("http://auth.example/", "only https"),
        ("file:///etc/passwd", "names no host"),
        ("ftp://auth.example/", "not https"),
        ("javascript:alert(1)", "names no host"),
        ("//auth.example/", "not https"),
        ("", "characters"),
        ("https://", "names no host"),
        ("https://user:pass@auth.example/", "credentials"),
        ("https://auth.example@127.0.0.1/", "credentials"),
        ("https://auth.example\\@127.0.0.1/", "characters"),
        ("https://auth.example/\r\nX: y", "characters"),
        ("https:// auth.example/", "characters"),
        ("https://auth.example:99999/", "port"),
        ("https://auth.example:x/", "port"),
        ("https://[::1/", "not a URL"),
        ("https://[nonsense]/", "not a"),
        ("https://[::g]/", "not a"),
        ("https://[127.0.0.1]/", "not a"),
        ("https://[v1.example]/", "not a valid IPv6"),
        ("https://[fe80::1%25eth0]/", "zone"),
        ("https://[0:0:0:0:0:0:0:1]/", "loopback"),
        ("https://127.0.0.1/", "loopback"),
        ("https://127.1/", "loopback"),
        ("https://0x7f.1/", "loopback"),
        ("https://2130706433/", "loopback"),
        ("https://017700000001/", "loopback"),
        ("https://127.0.0.1./", "loopback"),
        ("https://10.0.0.1/", "private"),
        ("https://169.254.169.254/latest/meta-data", "link-local"),
        ("https://[::1]/", "loopback"),
        ("https://[::ffff:7f00:1]/", "loopback"),
        ("https://[64:ff9b::7f00:1]/", "loopback"),
        ("https://[2002:7f00:1::]/", "loopback"),
        ("https://[2001::1]/", "Teredo"),
        ("https://1.2.3.4.5/", "IPv4"),
        ("https://1.2.3.0x100/", "IPv4"),
        ("https://evil.0x/", "IPv4"),
        ("https://localhost/", "local"),
        ("https://LOCALHOST./", "local"),
        ("https://app.localhost/", "local"),
        ("https://metadata.google.internal/", "local"),
        ("https://printer.local/", "local"),
        ("https://localhost.localdomain/", "local"),
        ("https://wiki.intranet/", "local"),
        ("https://nas.lan/", "local"),
        ("https://router.home.arpa/", "local"),
        ("https://%31%32%37.0.0.1/", "plain name"),
        ("https://127.0.0.1%2f.example/", "plain name"),
        ("https://１２７.0.0.1/", "characters"),
        ("https://127。0。0。1/", "characters"),
        ("https://auth..example/", "plain name"),
        ("https://auth.example../", "plain name"),
        ("https://-auth.example/", "plain name"),
    ],
)
def test_everything_else_does_not(url: str, reason: str) -> None:
    """F-AUTH-10: schemes, disguised hosts and local addresses in every spelling."""
    assert reason in reason_for(url)


def test_the_host_must_be_the_issuers_or_an_allowed_one() -> None:
    """F-AUTH-10: origin must match the issuer or allowed_hosts."""
    assert_safe_url("https://auth.example:8443/token", ISSUER, STRICT)
    assert "allowed_hosts" in reason_for("https://evil.example/token", issuer=ISSUER)
    for host in ("auth.example.evil", "evilauth.example", "evil.auth.example", "example"):
        assert "allowed_hosts" in reason_for(f"https://{host}/token", issuer=ISSUER)
    allowed = UrlPolicy(allowed_hosts=frozenset({"Tokens.Example."}))
    assert_safe_url("https://tokens.example/token", ISSUER, allowed)


def test_a_public_address_may_be_connected_to() -> None:
    """F-AUTH-10: and a string that is not an address may not."""
    check_address("8.8.8.8", "https://auth.example/", STRICT)
    with pytest.raises(SsrfError, match="unreadable"):
        check_address("example", "https://auth.example/", STRICT)


def test_an_origin_the_user_named_may_be_private() -> None:
    """F-AUTH-10: a server inside the company is where the user said; no other address is, and http
    is not used.
    """
    policy = UrlPolicy(trusted_origins=frozenset({origin_of("https://10.0.0.1:8443/mcp")}))
    assert_safe_url("https://10.0.0.1:8443/.well-known/x", "https://10.0.0.1:8443", policy)
    check_address("10.0.0.1", "https://10.0.0.1:8443/x", policy)
    assert "private" in reason_for("https://10.0.0.1/x", policy)
    assert "only https" in reason_for("http://10.0.0.1:8443/x", policy)
    for address in ("127.0.0.1", "10.0.0.1", "::1", "::ffff:10.0.0.1", "fe80::1"):
        with pytest.raises(SsrfError, match="resolves to"):  # of a public name
            check_address(address, "https://auth.example/token", policy)


def test_a_reference_of_a_server() -> None:
    """F-AUTH-10: seen from where it stands; what cannot be parsed is refused as any bad URL."""
    assert resolve("https://a.example/b/c", "d?e") == "https://a.example/b/d?e"
    with pytest.raises(SsrfError, match="not a URL"):
        resolve("https://a.example/", "//[")


def test_shown_urls_hold_no_secrets() -> None:
    """F-AUTH-12: credentials, query and fragment are not shown."""
    assert without_query("https://user:secret@h.example/p?code=1#f") == "https://h.example/p"
    assert without_query("https://h.example") == "https://h.example"
    assert without_query("https://h.example/@a/b") == "https://h.example/@a/b"
