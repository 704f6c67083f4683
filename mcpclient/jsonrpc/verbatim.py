"""Messages that are passed on: their ``params``, ``result`` and ``error`` keep their text."""

from __future__ import annotations

import re
from typing import Any

from .codec import VERBATIM_MEMBERS, VerbatimObject, decode, scan, takes_too_much

_OPENING = re.compile(r"[\ufeff \t\r\n]*\{[ \t\r\n]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
_ENDING = re.compile(r"[ \t\r\n]*\}[ \t\r\n]*")

# Messages as nearly all are written: their content in one member, before it or behind it only
# members that name the message, and at most one space between them.
_NAMES = r'"(?:jsonrpc|id|method)": ?(?:"[^"\\]*"|-?\d+)'
_HEAD = re.compile(rf'\{{((?:{_NAMES}, ?)*)"(params|result|error)": ?(?=\{{)')
_TAIL = re.compile(rf"((?:, ?{_NAMES})*)\}}")


def decode_verbatim(text: bytes | str) -> Any:
    """Decode a message as `codec.decode` does, with a `VerbatimObject` for its content."""
    try:
        string, line = (text, b"") if isinstance(text, str) else (str(text, "utf-8"), text)
        if not takes_too_much(string):
            return _decode_plain(string, line) or _decode_members(string, line)
    except (ValueError, RecursionError, StopIteration):
        pass
    return decode(text)  # raises, or it is not an object


def _decode_plain(string: str, line: bytes) -> dict[str, Any] | None:
    head = _HEAD.match(string)
    if head is None:
        return None
    start = head.end()
    value, end = scan(string, start)
    tail = _TAIL.fullmatch(string, end)
    if tail is None:
        return None
    before, name = head.groups()
    names = (before + tail.group(1)[1:]).rstrip(", ")
    message: dict[str, Any] = scan("{" + names + "}", 0)[0]
    message[name] = _kept(value, string, line, start, end)
    return message


def _kept(value: dict[str, Any], string: str, line: bytes, start: int, end: int) -> dict[str, Any]:
    # Words that `json` reads, and other decoders refuse. In a string, they do no harm.
    if string.find("NaN", start, end) >= 0 or string.find("Infinity", start, end) >= 0:
        return value
    return VerbatimObject(value, _text(string, line, start, end))


def _decode_members(string: str, line: bytes) -> dict[str, Any]:
    message: dict[str, Any] = {}
    found = _OPENING.match(string)
    while found is not None:
        name, at = scan(string, found.end())
        colon = _COLON.match(string, at)
        if colon is None or type(name) is not str:
            break
        start = colon.end()
        value, end = scan(string, start)
        if name in VERBATIM_MEMBERS and type(value) is dict:
            value = _kept(value, string, line, start, end)
        message[name] = value
        ending = _ENDING.fullmatch(string, end)
        if ending is not None:
            return message
        found = _COMMA.match(string, end)
    raise ValueError("it is not an object with members")


def _text(string: str, line: bytes, start: int, end: int) -> bytes | memoryview:
    """Return a part of a string, in one line; ``line``: the bytes of the string, if there are."""
    if line and b"\n" not in line and b"\r" not in line:
        if not string.isascii():
            end = len(line) - len(string[end:].encode())
            start = len(string[:start].encode())
        return memoryview(line)[start:end]
    # Between values, line ends are white space.
    return string[start:end].replace("\n", " ").replace("\r", " ").encode()
