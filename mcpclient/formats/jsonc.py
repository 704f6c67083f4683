"""JSON with comments and trailing commas, parsed with the place of every part.

Source: RFC 8259, and the "JSON with Comments" of editors. Anything else outside RFC 8259 is
refused: NaN, single quotes, names without quotes. One pass, at a cost linear in the length.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 100
"""How deep a value may be nested."""
_MAX_NUMBER_LENGTH = 300

_GAP = re.compile(r"[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\[^\r\n][^"\\\x00-\x1f]*)*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_WORD = re.compile(r"[\w$+.-]+")
_WORDS = {"true": True, "false": False, "null": None}
_SURROGATE = re.compile("[\ud800-\udfff]")


class JsoncError(ValueError):
    """A document that is not JSON with comments.

    ``offset``: the place, in characters; ``line``: the same in lines, from 1.
    """

    def __init__(self, reason: str, text: str, offset: int) -> None:
        super().__init__(reason)
        self.offset = offset
        self.line: int = Lines(text).at(offset)


@dataclass(frozen=True)
class Member:
    """The place of one member of an object: offsets into the document.

    ``comma``: the offset of the comma after it; None when there is none.
    """

    key: str
    start: int
    value_start: int
    end: int
    comma: int | None


class JsoncObject(dict[str, Any]):
    """An object, with the place of its members; of two with one key the last one counts.

    ``members`` has both, in order, and ``last`` the one that counts, by its key. ``start``,
    ``end``: the offsets of its braces.
    """

    def __init__(self, start: int) -> None:
        super().__init__()
        self.start: int = start
        self.end: int = start
        self.members: list[Member] = []
        self.last: dict[str, Member] = {}

    def repeated(self) -> list[Member]:
        """The members whose key was there before."""
        first = {member.key: member for member in reversed(self.members)}
        return [member for member in self.members if first[member.key] is not member]


class JsoncArray(list[Any]):
    """An array, with the offsets of its items."""

    def __init__(self) -> None:
        super().__init__()
        self.offsets: list[int] = []


def parse_jsonc(text: str) -> Any:
    """Return the value of a document; its objects and arrays know their places.

    Raises `JsoncError`.
    """
    return _Reader(text).document()


class Lines:
    """The line numbers of the offsets in one text."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in re.finditer("\n", text)]

    def at(self, offset: int) -> int:
        """Return the line, counted from 1, of a place in the text."""
        return bisect_right(self._ends, offset - 1) + 1


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def document(self) -> Any:
        value = self._value(0)
        if self._peek():
            raise self._error(f"{self._shown()} follows the value")
        return value

    def _peek(self) -> str:
        """Return the next character behind spaces and comments; empty at the end."""
        gap = _GAP.match(self._text, self._position)
        while gap is not None:
            self._position = gap.end()
            gap = _GAP.match(self._text, self._position)
        if self._text.startswith("/*", self._position):
            raise self._error("a comment is not closed")
        return self._text[self._position : self._position + 1]

    def _value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise self._error(f"it is nested more than {MAX_DEPTH} deep")
        character = self._peek()
        if character == "{":
            return self._object(depth)
        if character == "[":
            return self._array(depth)
        if character == '"':
            return self._string()
        return self._scalar()

    def _object(self, depth: int) -> JsoncObject:
        found = JsoncObject(self._position)
        self._position += 1
        while self._peek() != "}":
            start = self._position
            if self._peek() != '"':
                raise self._error(f"{self._shown()} stands where a name in quotes should")
            key = self._string()
            if self._peek() != ":":
                raise self._error(f"{self._shown()} stands where : should")
            self._position += 1
            self._peek()
            value_start = self._position
            value = self._value(depth + 1)
            end = self._position
            member = Member(key, start, value_start, end, self._comma("}"))
            found.members.append(member)
            found[key], found.last[key] = value, member
        found.end = self._position
        self._position += 1
        return found

    def _array(self, depth: int) -> JsoncArray:
        found = JsoncArray()
        self._position += 1
        while self._peek() != "]":
            found.offsets.append(self._position)
            found.append(self._value(depth + 1))
            self._comma("]")
        self._position += 1
        return found

    def _comma(self, bracket: str) -> int | None:
        """Consume the comma after a part and return its offset; None before the bracket."""
        character = self._peek()
        if character == ",":
            self._position += 1
            return self._position - 1
        if character != bracket:
            raise self._error(f"{self._shown()} stands where , or {bracket} should")
        return None

    def _string(self) -> str:
        match = _STRING.match(self._text, self._position)
        if match is None:
            raise self._error("a string is not closed, or contains a control character")
        quoted = match.group()
        value: str = quoted[1:-1]
        if "\\" in quoted:
            try:
                value = json.loads(quoted)
            except ValueError:
                raise self._error(
                    "a string has an escape that JSON does not have; a backslash is written \\\\"
                ) from None
        if _SURROGATE.search(value):
            raise self._error("a string has an escape for half a character")
        self._position = match.end()
        return value

    def _scalar(self) -> Any:
        match = _WORD.match(self._text, self._position)
        word = match.group() if match is not None else ""
        if word in _WORDS:
            self._position += len(word)
            return _WORDS[word]
        number = _NUMBER.fullmatch(word) if len(word) <= _MAX_NUMBER_LENGTH else None
        if number is None:
            raise self._error(f"{self._shown()} stands where a value should")
        value = float(word) if number.group(1) or number.group(2) else int(word)
        if isinstance(value, float) and math.isinf(value):
            raise self._error(f"{self._shown()} is too large")
        self._position += len(word)
        return value

    def _shown(self) -> str:
        """Return the next sign or word, for a message; never a string, which may be a secret."""
        if self._position >= len(self._text):
            return "the end of the file"
        match = _WORD.match(self._text, self._position)
        word = match.group() if match is not None else self._text[self._position]
        return repr(word) if len(word) <= 12 else "a word"

    def _error(self, reason: str) -> JsoncError:
        return JsoncError(reason, self._text, self._position)
