"""F-SHOW-10: the head of a request, as strictly as a server for one browser can be."""

from __future__ import annotations

import pytest

from mcpclient.errors import ProtocolViolation
from mcpclient.framing.http1 import parse_request_head
from tests.support.tables import each_row


@each_row(
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
