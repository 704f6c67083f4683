"""Messages to JSON text and back, where one bad message costs only itself.

Outgoing text is what ``JSON.stringify`` would write: compact UTF-8, with non-ASCII characters left
as they are. Incoming text is read as leniently as by `json` (NaN and duplicate keys are accepted),
and may begin with a BOM. When a message cannot be read at all, its text is searched for the id of
the request that it answers, so that this one call fails at once instead of waiting for its timeout.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..errors import UsageError
from .messages import RequestId
from .weight import MOST_MEMORY, takes_too_much

__all__ = ["MalformedMessage", "decode", "encode", "find_response_id"]

_scan: Callable[[str, int], tuple[Any, int]] = vars(json.JSONDecoder())["scan_once"]
_WHITE_SPACE = " \t\r\n"


def _encoder() -> Callable[[Any, Any], Iterable[str]]:
    """Make once what `json.JSONEncoder` makes for each message: that takes a third of the time.

    Reference loops are not looked for; they run into the recursion limit.
    """
    encoder = json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # this interpreter has no accelerator
        return encoder.iterencode
    encode_string = json.encoder.encode_basestring
    accelerated: Callable[[Any, Any], Iterable[str]] = make(
        None, encoder.default, encode_string, None, ":", ",", False, False, False
    )
    return accelerated


_encode = _encoder()


class MalformedMessage(ValueError):
    """Text that is not JSON. ``request_id`` names the request it seems to answer, if any."""

    def __init__(self, reason: str, request_id: RequestId | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.request_id = request_id


def encode(message: Mapping[str, Any]) -> bytes:
    """Return the message as one line of UTF-8 JSON, without a line end.

    Raises `UsageError` for what JSON cannot carry: other types, NaN and infinities, reference
    loops, nesting beyond the interpreter's recursion limit, lone surrogates.
    """
    try:
        return "".join(_encode(message, 0)).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{message.get('method', 'the answer')}: cannot be sent as JSON: {error}"
        ) from None


def decode(text: bytes | str) -> Any:
    """Return the JSON value of ``text``.

    Raises `MalformedMessage` for anything else: invalid UTF-8, no JSON, nesting too deep, an
    integer with more digits than the interpreter converts, or text made of so many small values
    that they would take far more memory than it does.
    """
    try:
        string = str(text, "utf-8") if isinstance(text, bytes) else text
        if string.startswith("\ufeff"):
            string = string[1:]
        string = string.strip(_WHITE_SPACE)
        if takes_too_much(string):
            raise ValueError(f"its values would take over {MOST_MEMORY >> 20} MiB of memory")
        value, end = _scan(string, 0)
        if end < len(string):
            raise json.JSONDecodeError("Extra data", string, end)
        return value
    except (ValueError, RecursionError, StopIteration) as error:
        raise MalformedMessage(_explain(error), find_response_id(text)) from None


def _explain(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at character {error.pos}"
    if isinstance(error, RecursionError):
        return "JSON nested too deeply"
    if isinstance(error, StopIteration):
        return f"not JSON: Expecting value at character {error.value}"
    return f"not representable: {error}"


# One step of a scan over JSON text: a whole string, one that the end cuts off (which no token may
# follow, and no other way of matching is tried), a bracket, or a comma or colon.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[{}\[\],:]', re.DOTALL)
_ID = rb'(?:(-?\d{1,18})|"([^"\\\x00-\x1f]{0,256})")'
_ID_MEMBER = re.compile(rb"\s*:\s*" + _ID + rb"\s*[,}]")
# An id among the last members, after the result or error or beside the version.
_JSONRPC = rb'"jsonrpc"\s*:\s*"2\.0"'
_ID_AT_END = re.compile(
    rb"(?:\}|"
    + _JSONRPC
    + rb')\s*,\s*"id"\s*:\s*'
    + _ID
    + rb"\s*(?:,\s*"
    + _JSONRPC
    + rb"\s*)?\}\s*$"
)
_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")
# How much of a broken message is searched: its id stands near one of the ends.
_SCANNED = 64 * 1024
_SCANNED_END = 512


def find_response_id(start: bytes | str, end: bytes | str | None = None) -> RequestId | None:
    """Return the id of a response whose text does not parse, or None if it cannot be told.

    ``start`` is the text, or its first bytes when ``end`` gives the last ones. Looks for a
    top-level ``id`` near the start, then for one among the last members. Text that is not an
    object, or that has a top-level ``method``, is not a response.
    """
    head = _as_bytes(start[:_SCANNED])
    if _OBJECT.match(head) is None:
        return None
    found, has_method = _scan_top_level(head)
    if found is not None or has_method:
        return found
    tail = start if end is None else end
    at_end = _ID_AT_END.search(_as_bytes(tail[-_SCANNED_END:]))
    return _id_of(at_end) if at_end else None


def _as_bytes(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "replace")


def _scan_top_level(text: bytes) -> tuple[RequestId | None, bool]:
    """Return the top-level id, if there is one, and whether there is a top-level method."""
    depth = 0
    is_key = False
    found: RequestId | None = None
    for token in _TOKEN.finditer(text):
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
            if symbol == b'"method"':
                return None, True
            if symbol == b'"id"':
                value = _ID_MEMBER.match(text, token.end())
                found = _id_of(value) if value else None
    return found, False


def _id_of(match: re.Match[bytes]) -> RequestId:
    number, string = match.groups()
    return int(number) if number is not None else bytes(string).decode("utf-8", "replace")
