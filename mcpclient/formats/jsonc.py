"""JSON with comments and trailing commas, parsed with the place of every part, and edited in place.

Source: RFC 8259, and the "JSON with Comments" of editors. Anything else outside RFC 8259 is
refused: NaN, single quotes, names without quotes. One pass, at a cost linear in the length.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 100
"""The deepest nesting of a value."""
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
    """Return the value of a document, whose parts know their places. Raises `JsoncError`."""
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


# Edits of one member; the rest keeps its layout.

_INDENTED = re.compile(r"(?m)^([ \t]+)\S")
_AFTER_MEMBER = re.compile(r"[ \t]*(?://[^\r\n]*)?(?:\r?\n|(?=\}))")


_Change = tuple[int, int, str]  # from an offset to another, and the text to put there


def set_member(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with the member at ``path`` set; missing objects on the way are created.

    A new member comes after the others, indented as they are. Raises `JsoncError` when the text
    cannot be read, or something else than an object is in the way.
    """
    root = parse_jsonc(text) if text.strip(" \t\r\n\ufeff") else None
    if root is None:
        return json.dumps(_nested(path, value), indent=2, ensure_ascii=False) + "\n"
    holder, depth = _holder(text, root, path)
    name, *below = path[depth:]
    member = holder.last.get(name)
    if member is None:
        return _checked(_added(text, holder, name, _nested(below, value)), path, value)
    dumped = _dumped(text, value, _indent_at(text, member.start))
    change = (member.value_start, member.end, dumped)
    return _checked(_changed(text, [change]), path, value)


def remove_member(text: str, path: Sequence[str]) -> str:
    """Return the text without the member at ``path``, and without its comma.

    The comments above and below it stay; one in its last line goes with it. Raises `JsoncError`
    when the text cannot be read, and `KeyError` when there is no such member.
    """
    holder, depth = _holder(text, parse_jsonc(text), path)
    if depth != len(path) - 1 or path[-1] not in holder:
        raise KeyError(path[-1])
    kept = [member for member in holder.members if member.key != path[-1]]
    changes = [_without(text, member) for member in holder.members if member.key == path[-1]]
    last = holder.members[-1]
    if kept and last.key == path[-1] and last.comma is None and kept[-1].comma is not None:
        changes.insert(0, (kept[-1].comma, kept[-1].comma + 1, ""))
    return _changed(text, sorted(changes))


def _without(text: str, member: Member) -> _Change:
    """Remove a member, with its line when the line holds nothing else."""
    end = member.end if member.comma is None else member.comma + 1
    start = len(text[: member.start].rstrip(" \t"))
    after = _AFTER_MEMBER.match(text, end)
    starts_line = start == 0 or text[start - 1] == "\n"
    return (start, after.end() if starts_line and after is not None else end, "")


def _holder(text: str, value: Any, path: Sequence[str]) -> tuple[JsoncObject, int]:
    """Return the innermost object on the way to a member, and how much of the way leads there."""
    depth = 0
    while True:
        if not isinstance(value, JsoncObject):
            raise JsoncError(f"{'.'.join(path[:depth]) or 'it'} is not an object", text, 0)
        if depth == len(path) - 1 or path[depth] not in value:
            return value, depth
        value = value[path[depth]]
        depth += 1


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent_unit(text: str) -> str:
    first = _INDENTED.search(text)
    return first.group(1) if first is not None else "  "


def _indent_at(text: str, offset: int) -> str:
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _dumped(text: str, value: object, indent: str) -> str:
    """Return a value in JSON, laid out as in `text`."""
    dumped = json.dumps(value, indent=_indent_unit(text), ensure_ascii=False)
    return dumped.replace("\n", _line_end(text) + indent)


def _added(text: str, holder: JsoncObject, name: str, value: object) -> str:
    last = holder.members[-1] if holder.members else None
    key = json.dumps(name, ensure_ascii=False)
    changes = []
    if last is not None and last.comma is None:
        changes.append((last.end, last.end, ","))
    if last is not None and "\n" not in text[holder.start : holder.end]:  # all in one line
        place = last.end if last.comma is None else last.comma + 1
        inline = f" {key}: {json.dumps(value, ensure_ascii=False)}"
        return _changed(text, [*changes, (place, place, inline)])
    outer, line_end = _indent_at(text, holder.start), _line_end(text)
    indent = outer + _indent_unit(text) if last is None else _indent_at(text, last.start)
    # After the last member and the comments behind it.
    place = len(text[: holder.end].rstrip(" \t\r\n"))
    added = f"{line_end}{indent}{key}: {_dumped(text, value, indent)}"
    changes.append((place, place, added))
    if "\n" not in text[place : holder.end]:
        changes.append((place, holder.end, line_end + outer))
    return _changed(text, changes)


def _changed(text: str, changes: Sequence[_Change]) -> str:
    """Apply changes, sorted and without overlap."""
    parts, position = [], 0
    for start, end, replacement in changes:
        parts += [text[position:start], replacement]
        position = end
    return "".join(parts) + text[position:]


def _nested(path: Sequence[str], value: object) -> object:
    for name in reversed(path):
        value = {name: value}
    return value


def _checked(text: str, path: Sequence[str], value: object) -> str:
    """Read the result back and raise `JsoncError` unless it has the value."""
    found = parse_jsonc(text)
    for name in path:
        found = found[name]
    if found != value:
        raise JsoncError("the change would not be read as it was meant", text, 0)
    return text
