"""A URL that a server names: what the guard lets pass leads to where it seems to lead."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import ip_address

from mcpclient.auth.url_guard import (
    UrlPolicy,
    assert_safe_url,
    check_address,
    host_of,
    origin_of,
    resolve,
    without_query,
)
from mcpclient.errors import SsrfError, UsageError
from mcpclient.framing.uri import parse_url

from ..inputs import lines_of

STRICT = UrlPolicy()


def target(data: bytes) -> None:
    url, issuer = lines_of(data, 2)
    without_query(url)
    with suppress(SsrfError):
        assert isinstance(resolve("https://a.example/b", url), str)
    for policy in (STRICT, UrlPolicy(allow_insecure_http=True, allow_loopback=True)):
        for named_by in (None, issuer or "https://issuer.example"):
            try:
                assert_safe_url(url, named_by, policy)
            except SsrfError as error:
                str(error)
            else:
                check(url, policy)


def check(url: str, policy: UrlPolicy) -> None:
    """Whoever parses the URL in order to connect sees the host that was judged."""
    try:
        parsed = parse_url(url)
    except UsageError:
        return
    host = host_of(url)
    assert parsed.credentials is None
    assert parsed.host.rstrip(".") == host or ip_address(parsed.host) == ip_address(host)
    assert origin_of(str(parsed)) == origin_of(url)
    try:
        address = str(ip_address(host))
    except ValueError:
        return
    check_address(address, url, policy)
