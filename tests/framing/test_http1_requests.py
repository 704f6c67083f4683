"""F-SHOW-10: the head of a request, as strictly as a server for one browser can be."""

from __future__ import annotations

import pytest

from mcpclient.errors import ProtocolViolation, UsageError
from mcpclient.framing.http1 import encode_response_head, parse_request_head


def test_a_request_of_a_browser() -> None:
    head = parse_request_head(
        b"POST /api/x?a=1 HTTP/1.1\r\nHost: 127.0.0.1:8\r\nContent-Length: 12\r\nA: b\r\n\r\n"
    )
    assert (head.method, head.target, head.length) == ("POST", "/api/x?a=1", 12)
    assert (head.headers["host"], head.headers["a"]) == ("127.0.0.1:8", "b")


def test_a_request_without_a_body() -> None:
    assert parse_request_head(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").length == 0


@pytest.mark.parametrize(
    "head",
    [
        b"GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/2.0\r\nHost: h\r\n\r\n",
        b"get / HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
        b"\r\n\r\n",
        b"\xff\xfe\r\n\r\n",
    ],
)
def test_anything_else_is_refused(head: bytes) -> None:
    """F-SHOW-10: what two readers could read in two ways is not read at all."""
    with pytest.raises(ProtocolViolation):
        parse_request_head(head)


def test_the_head_of_a_response() -> None:
    head = encode_response_head(404, [("Content-Length", "0"), ("A", "b")])
    assert head == b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nA: b\r\n\r\n"


def test_a_header_cannot_hold_another() -> None:
    with pytest.raises(UsageError):
        encode_response_head(200, [("A", "b\r\nSet-Cookie: c")])
