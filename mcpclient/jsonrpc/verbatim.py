"""Messages that are passed on: their ``params``, ``result`` and ``error`` keep their text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

from .codec import VERBATIM_MEMBERS, VerbatimObject, decode, scan, takes_too_much

_OPENING = re.compile(r"[\ufeff \t\r\n]*\{[ \t\r\n]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
_ENDING = re.compile(r"[ \t\r\n]*\}[ \t\r\n]*")

# What nearly all messages have before their first brace, and may have behind its object: members
# that name the message.
_KEYS = {'"params":': "params", '"result":': "result", ',"error":': "error", ' "error":': "error"}
_KEY_LENGTH = 9
_NAMES = r'"(?:jsonrpc|id|method)": ?(?:"[^"\\]*"|-?\d+)'
_TAIL = re.compile(rf"(?:, ?{_NAMES})*\}}")


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is read by `json`, and refused by other decoders")


_scan_strictly: Callable[[str, int], tuple[Any, int]] = vars(
    json.JSONDecoder(parse_constant=_refuse)
)["scan_once"]


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
    start = string.find("{", 1)
    before = string[:start]
    name = _KEYS.get(before.rstrip(" ")[-_KEY_LENGTH:])
    if name is None or start < 0 or "\\" in before:  # it may be the end of a string
        return None
    value, end = _scan_strictly(string, start)
    behind = string[end:]
    if behind != "}" and _TAIL.fullmatch(behind) is None:
        return None
    names = f"{before}0{behind}"  # the message without its content
    message, end_of_names = scan(names, 0)
    if end_of_names < len(names):
        return None
    message[name] = VerbatimObject(value, _text(string, line, start, end))
    return message  # type: ignore[no-any-return]


def _decode_members(string: str, line: bytes) -> dict[str, Any]:
    message: dict[str, Any] = {}
    found = _OPENING.match(string)
    while found is not None:
        name, at = scan(string, found.end())
        colon = _COLON.match(string, at)
        if colon is None or type(name) is not str:
            break
        start = colon.end()
        value, end = _scan_strictly(string, start)
        if name in VERBATIM_MEMBERS and type(value) is dict:
            value = VerbatimObject(value, _text(string, line, start, end))
        message[name] = value
        ending = _ENDING.fullmatch(string, end)
        if ending is not None:
            return message
        found = _COMMA.match(string, end)
    raise ValueError("it is not an object with members")


def _text(string: str, line: bytes, start: int, end: int) -> bytes | memoryview:
    """Return a part of a string, in one line; ``line``: the bytes of the string, if there are."""
    if line and "\n" not in string and "\r" not in string:
        if not string.isascii():
            end = len(line) - len(string[end:].encode())
            start = len(string[:start].encode())
        return memoryview(line)[start:end]
    # Between values, line ends are white space.
    return string[start:end].replace("\n", " ").replace("\r", " ").encode()
