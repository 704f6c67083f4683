"""Messages that are passed on: their ``params`` and ``result`` keep the text they were read from.

A large message is not decoded as a whole, since its values would take several times its size: only
the places where its members begin and end are found, and small members are decoded.
"""

from __future__ import annotations

import re
from typing import Any

from .codec import MalformedMessage, VerbatimObject, decode, scan
from .response_id import find_response_id

LARGE = 4 * 1024 * 1024
"""Bytes or characters from which a message is large."""

_KEPT = ("params", "result")

# Members of a large object that are decoded have at most so many bytes.
_SMALL = 64 * 1024

_OPENING = re.compile(r"[\ufeff \t\r\n]*\{[ \t\r\n]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
_ENDING = re.compile(r"[ \t\r\n]*\}[ \t\r\n]*")

# Words that `json` reads, and other decoders refuse. In a string, they do no harm.
_NOT_JSON = re.compile("NaN|Infinity")

_SPACE = re.compile(rb"[ \t\r\n]*")
_SCALAR = re.compile(rb"[^ \t\r\n,\]}]+")
# The text up to a bracket or a quote that has to be looked at: strings without escapes, objects and
# arrays of these are skipped at once. Each repetition has a bound, since it costs memory.
_TEXT, _STRING = rb'[^"\[\]{}]*', rb'"[^"\\]*"'
_FLAT = rb"%b(?:%b%b){0,50}" % (_TEXT, _STRING, _TEXT)
_SKIPPED = re.compile(
    rb"%b(?:(?:%b|\{%b\}|\[%b\])%b){0,200}" % (_TEXT, _STRING, _FLAT, _FLAT, _TEXT)
)
_STRING_PART = re.compile(rb'[^"\\]*(?:\\.[^"\\]*){0,1000}', re.DOTALL)


def decode_verbatim(text: bytes | str, large: float = LARGE) -> Any:
    """Decode a message as `codec.decode` does, with a `VerbatimObject` for params and result.

    One of ``large`` bytes or more is not checked as a whole: the text between its brackets may not
    be JSON. Raises `MalformedMessage`.
    """
    if len(text) >= large:
        return _decode_large(_in_one_line(text))
    try:
        return _decode_small(text if isinstance(text, str) else str(text, "utf-8"))
    except (ValueError, RecursionError, StopIteration):
        return decode(text)  # which says what is wrong, or it is not an object


def _decode_small(string: str) -> dict[str, Any]:
    message: dict[str, Any] = {}
    found = _OPENING.match(string)
    while found is not None:
        name, at = scan(string, found.end())
        colon = _COLON.match(string, at)
        if colon is None or type(name) is not str:
            break
        start = colon.end()
        value, end = scan(string, start)
        if name in _KEPT and type(value) is dict:
            kept = string[start:end]
            if "\n" in kept or "\r" in kept:  # between values, where they would end the line
                kept = kept.replace("\n", " ").replace("\r", " ")
            if not _NOT_JSON.search(kept):
                value = VerbatimObject(value, kept)
        message[name] = value
        ending = _ENDING.fullmatch(string, end)
        if ending is not None:
            return message
        found = _COMMA.match(string, end)
    raise ValueError("it is not an object with members")


def _in_one_line(text: bytes | str) -> bytes:
    encoded = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    has_any = b"\n" in encoded or b"\r" in encoded
    return encoded.translate(bytes.maketrans(b"\r\n", b"  ")) if has_any else encoded


def _decode_large(text: bytes) -> Any:
    try:
        start = _space_end(text, 3 if text.startswith(b"\xef\xbb\xbf") else 0)
        if text[start : start + 1] != b"{":
            return decode(text)
        message, end = _object_at(text, start, _KEPT)
        if _space_end(text, end) < len(text):
            raise ValueError("Extra data")
    except ValueError as error:
        raise MalformedMessage(f"not JSON: {error}", find_response_id(text)) from None
    return dict(message)


def _object_at(text: bytes, start: int, kept: tuple[str, ...] = ()) -> tuple[VerbatimObject, int]:
    """Return the object that begins at ``start``, and its end; in one of ``kept``, the same."""
    members: dict[str, Any] = {}
    at = _space_end(text, start + 1)
    mark = text[at : at + 1]
    if mark == b"}":
        at += 1
    while mark != b"}":
        end = _value_end(text, at)
        name = decode(text[at:end])
        at = _space_end(text, end)
        if text[at : at + 1] != b":" or not isinstance(name, str):
            raise ValueError("Expecting a name and a colon")
        at = _space_end(text, at + 1)
        if name in kept and text[at : at + 1] == b"{":
            members[name], end = _object_at(text, at)
        else:
            end = _value_end(text, at)
            if kept or end - at <= _SMALL:
                members[name] = decode(text[at:end])
            else:
                members.pop(name, None)
        at = _space_end(text, end)
        mark = text[at : at + 1]
        if mark not in (b",", b"}") or not mark:
            raise ValueError("Expecting a comma")
        at = at + 1 if mark == b"}" else _space_end(text, at + 1)
    return VerbatimObject(members, memoryview(text)[start:at]), at


def _space_end(text: bytes, at: int) -> int:
    space = _SPACE.match(text, at)
    assert space is not None, "it matches nothing as well"
    return space.end()


def _value_end(text: bytes, at: int) -> int:
    """Return the end of the value that begins at ``at``, by its brackets and quotes."""
    if text[at : at + 1] not in (b'"', b"[", b"{"):
        scalar = _SCALAR.match(text, at)
        if scalar is None:
            raise ValueError("Expecting value")
        return scalar.end()
    depth = 0
    while True:
        mark = text[at : at + 1]
        if mark == b'"':
            at = _string_end(text, at)
        elif not mark:
            raise ValueError("Unterminated object or array")
        else:
            depth += 1 if mark in b"[{" else -1
            at += 1
        if depth <= 0:
            return at
        skipped = _SKIPPED.match(text, at)
        assert skipped is not None, "it matches nothing as well"
        at = skipped.end()


def _string_end(text: bytes, start: int) -> int:
    at = start + 1
    while text[at : at + 1] != b'"':
        part = _STRING_PART.match(text, at)
        if part is None or part.end() == at:
            raise ValueError("Unterminated string")
        at = part.end()
    return at + 1
