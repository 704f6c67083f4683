"""HTTP/1.1 as a small server sees it (RFC 9112): the head of a request in, that of a response out.

`framing.http1` turned around, and only as much of it as a browser on the same machine needs: one
request on each connection, whose body has a ``Content-Length``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import NamedTuple

from ..errors import ProtocolViolation
from .headers import Headers, encode_header, parse_fields

_REQUEST_LINE = re.compile(r"([A-Z]{1,20}) (/[!-~]*) HTTP/1\.[01]\r?\n")
_LENGTH = re.compile(r"[0-9]{1,15}")


class RequestHead(NamedTuple):
    """A request line and its fields. ``length``: how many bytes of body follow."""

    method: str
    target: str
    headers: Headers
    length: int


def parse_request_head(head: bytes) -> RequestHead:
    """Parse everything up to the empty line, that line included.

    Raises `ProtocolViolation` for what is no request for a path, or has anything but one ``Host``,
    or a body whose length it does not say.
    """
    text = head.decode("latin-1")
    line = _REQUEST_LINE.match(text)
    if line is None:
        raise ProtocolViolation("not a request for a path in HTTP/1")
    headers = parse_fields(text[line.end() :].rstrip("\r\n") + "\r\n")
    if len(headers.get_all("host")) != 1:  # RFC 9112, section 3.2
        raise ProtocolViolation("a request names one Host")
    if "transfer-encoding" in headers:
        raise ProtocolViolation("a request says how long its body is")
    length = headers.get("content-length", "0")
    if not _LENGTH.fullmatch(length):
        raise ProtocolViolation("a Content-Length is a number")
    return RequestHead(line[1], line[2], headers, int(length))


def encode_response_head(status: int, headers: Iterable[tuple[str, str]]) -> bytes:
    """Return the status line and the fields, with the empty line that ends them.

    Raises `UsageError` for fields that HTTP does not allow.
    """
    first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode("ascii")
    return b"".join([first, *(encode_header(*header) for header in headers), b"\r\n"])
