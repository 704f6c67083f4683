"""URLs, absolute in the first line and as a reference in the second one."""

from __future__ import annotations

from mcpclient.errors import UsageError
from mcpclient.framing.http1 import encode_request
from mcpclient.framing.uri import Url, parse_url, resolve_url

from ..inputs import lines_of


def target(data: bytes) -> None:
    absolute, reference = lines_of(data, 2)
    try:
        url = parse_url(absolute)
        check(url)
        check(resolve_url(url, reference))
    except UsageError:
        pass


def check(url: Url) -> None:
    repr(url)
    assert (url.host + url.target).isprintable() or url.scheme == "unix"
    if url.scheme in ("tcp", "unix"):
        return
    # It can be requested, and read again it is the same.
    encode_request("GET", url.target, [("Host", url.authority)])
    assert parse_url(str(url)) == url._replace(credentials=None)
