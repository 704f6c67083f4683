"""Messages that are passed on: their ``params``, ``result`` and ``error`` keep their text."""

from __future__ import annotations

import re
from typing import Any

from .codec import VERBATIM_MEMBERS, VerbatimObject, decode, scan, takes_too_much

_OPENING = re.compile(r"[\ufeff \t\r\n]*\{[ \t\r\n]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
_ENDING = re.compile(r"[ \t\r\n]*\}[ \t\r\n]*")

# Words that `json` reads, and other decoders refuse. In a string, they do no harm.
_NOT_JSON = re.compile("NaN|Infinity")


def decode_verbatim(text: bytes | str) -> Any:
    """Decode a message as `codec.decode` does, with a `VerbatimObject` for its content."""
    try:
        string, line = (text, b"") if isinstance(text, str) else (str(text, "utf-8"), text)
        if not takes_too_much(string):
            return _decode_members(string, line)
    except (ValueError, RecursionError, StopIteration):
        pass
    return decode(text)  # which says what is wrong, or it is not an object


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
        is_kept = name in VERBATIM_MEMBERS and type(value) is dict
        if is_kept and not _NOT_JSON.search(string, start, end):
            value = VerbatimObject(value, _text(string, line, start, end))
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
