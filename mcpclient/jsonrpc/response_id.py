"""The request id in a response that is not valid JSON: its call fails at once, not by timeout."""

from __future__ import annotations

import re

from .messages import RequestId

# One step of a scan over JSON text: a whole string, one that the end cuts off (which no token may
# follow, and no other way of matching is tried), a bracket, or a comma or colon.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[{}\[\],:]', re.DOTALL)
_ID = rb'(?:(-?\d{1,18})|"([^"\\\x00-\x1f]{0,256})")'
_ID_MEMBER = re.compile(rb"\s*:\s*" + _ID + rb"\s*[,}]")
# An id among the last members, after the result or error or beside the version.
_JSONRPC = rb'"jsonrpc"\s*:\s*"2\.0"'
_ID_AT_END = re.compile(
    rb'(?:\}|%b)\s*,\s*"id"\s*:\s*%b\s*(?:,\s*%b\s*)?\}\s*$' % (_JSONRPC, _ID, _JSONRPC)
)
_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")
# Bytes of a broken message that are searched at either end, where the id is.
_SCANNED = 64 * 1024
_SCANNED_END = 512


def find_response_id(
    start: bytes | str, end: bytes | str | None = None, *, of_request: bool = False
) -> RequestId | None:
    """Return the id of a response whose text does not parse, or None if it cannot be told.

    ``start``: the text, or its first bytes when ``end`` gives the last ones. Looks for a top-level
    ``id`` near the start, then among the last members, unless there is a top-level ``method``.
    ``of_request``: only where there is one.
    """
    head = _as_bytes(start[:_SCANNED])
    if _OBJECT.match(head) is None:
        return None
    depth = 0
    is_key = has_method = False
    found: RequestId | None = None
    for token in _TOKEN.finditer(head):
        symbol = token.group()
        if symbol in (b"{", b"["):
            depth += 1
            is_key = depth == 1
        elif symbol in (b"}", b"]"):
            depth -= 1
        elif symbol == b",":
            is_key = depth == 1
        elif depth == 1 and is_key and symbol != b":":
            is_key = False
            has_method |= symbol == b'"method"'
            if symbol == b'"id"':
                value = _ID_MEMBER.match(head, token.end())
                found = _id_of(value) if value else None
    if has_method != of_request:
        return None
    if found is not None:
        return found
    tail = start if end is None else end
    at_end = _ID_AT_END.search(_as_bytes(tail[-_SCANNED_END:]))
    return _id_of(at_end) if at_end else None


def _as_bytes(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "replace")


def _id_of(match: re.Match[bytes]) -> RequestId:
    number, string = match.groups()
    return int(number) if number is not None else bytes(string).decode("utf-8", "replace")
