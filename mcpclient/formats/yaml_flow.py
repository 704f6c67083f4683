"""YAML in quotes and brackets, and single scalars: the parts of front matter within lines.

Source: YAML 1.2.2, sections 7.3 (flow scalars), 7.4 (flow collections) and 10.3 (core schema).
"""

from __future__ import annotations

import re
from typing import Any

# How deep brackets may nest, and how long a number may be.
_MAX_DEPTH = 32
_MAX_NUMBER_LENGTH = 300

# Expressions stay text until their first use, because most clients meet no skill.
_INTEGER = r"[-+]?[0-9]+"
_BASED_INTEGER = r"0o[0-7]+|0x[0-9a-fA-F]+"
_FLOAT = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}

_DOUBLE_QUOTED = r'(?s)"((?:[^"\\]|\\.)*)"'
_SINGLE_QUOTED = r"'((?:[^']|'')*)'"
# An escaped line end joins two lines without a space; any other escape is left alone.
_JOINED = r"(?s)\\\n[ \t]*|(\\.)"
_ESCAPE = r"(?s)\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))"
_ESCAPES = {
    **{"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"},
    **{"e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\", "\t": "\t"},
    **{"N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"},
}

# Ends of lines, with the spaces around them; a run of spaces is looked at once.
_LINE_ENDS = r"(?<![ \t])[ \t]*\n[ \t\n]*"
# Spaces, line ends and comments between the parts of a collection.
_GAP = r"(?:[ \t\n]|(?<=[ \t\n])#[^\n]*)*"
# A plain scalar inside brackets: ends at a comma, a bracket, a colon with a gap, a comment.
_PLAIN = r"(?:[^,\[\]{}:#]|:(?![ \t\n,\[\]{}]|\Z)|(?<![ \t\n])#)+"
_NOT_READ = "&*!|>%@`"


class FrontMatterError(ValueError):
    """Front matter that is missing, broken, or uses YAML that is not supported."""


class FlowReader:
    """A reader of one value in quotes or brackets, from the beginning of a string.

    ``position``: where in the text it ends, once it has been read.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.position: int = 0

    def read(self) -> Any:
        """Return the value. Raises `FrontMatterError`."""
        return self._value(0)

    def _value(self, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise FrontMatterError("it is nested too deeply")
        character = self._peek()
        if character == "[":
            return self._list(depth)
        if character == "{":
            return self._object(depth)
        return self._quoted() if character in "\"'" else scalar(self._plain())

    def _list(self, depth: int) -> list[Any]:
        self.position += 1
        items: list[Any] = []
        while self._peek() != "]":
            items.append(self._value(depth + 1))
            self._separate("]")
        self.position += 1
        return items

    def _object(self, depth: int) -> dict[str, Any]:
        self.position += 1
        items: dict[str, Any] = {}
        while self._peek() != "}":
            key = self._quoted() if self._peek() in "\"'" else self._plain()
            if key in items:
                raise FrontMatterError(f"the key {key!r} is there twice")
            items[key] = None
            if self._peek() == ":":
                self.position += 1
                items[key] = None if self._peek() in ",}" else self._value(depth + 1)
            self._separate("}")
        self.position += 1
        return items

    def _separate(self, closing: str) -> None:
        character = self._peek()
        if character == ",":
            self.position += 1
        elif character != closing:
            raise FrontMatterError(f"{character!r} found instead of , or {closing}")

    def _peek(self) -> str:
        """Return the next character of any meaning."""
        gap = re.compile(_GAP).match(self.text, self.position)
        self.position = gap.end() if gap is not None else self.position
        if self.position == len(self.text):
            raise FrontMatterError("a bracket is not closed")
        return self.text[self.position]

    def _plain(self) -> str:
        match = re.compile(_PLAIN).match(self.text, self.position)
        if match is None or match.group()[0] in _NOT_READ:
            raise FrontMatterError(not_read("a value", self.text[self.position :]))
        self.position = match.end()
        return folded(match.group().strip())

    def _quoted(self) -> str:
        quoted = read_quoted(self.text, self.position)
        if quoted is None:
            raise FrontMatterError("a quotation mark is not closed")
        value, self.position = quoted
        return value


def not_read(what: str, text: str) -> str:
    """Return the message for unsupported YAML; it shows one character: the rest may be secret."""
    return f"{what} that begins with {text[:1]!r} is not supported; put strings in quotes"


def read_quoted(text: str, position: int) -> tuple[str, int] | None:
    """Return the quoted scalar at a position and where it ends; None when it does not end."""
    is_double = text[position] == '"'
    pattern = re.compile(_DOUBLE_QUOTED if is_double else _SINGLE_QUOTED)
    match = pattern.match(text, position)
    if match is None:
        return None
    content = match.group(1)
    if is_double:
        content = re.sub(_JOINED, lambda found: found.group(1) or "", content)
    content = folded(content)
    if not is_double:
        return content.replace("''", "'"), match.end()
    # Two halves of a character that were escaped one by one are joined, as JSON does.
    halves = re.sub(_ESCAPE, _unescaped, content).encode("utf-16-le", "surrogatepass")
    return halves.decode("utf-16-le", "surrogatepass"), match.end()


def _unescaped(match: re.Match[str]) -> str:
    digits = match.group(1) or match.group(2) or match.group(3)
    if digits is None:
        if match.group(4) not in _ESCAPES:
            raise FrontMatterError(f"there is no escape {match.group()!r}")
        return _ESCAPES[match.group(4)]
    number = int(digits, 16)
    if number > 0x10FFFF:
        raise FrontMatterError(f"there is no character {match.group()}")
    return chr(number)


def scalar(text: str) -> Any:
    """Return a scalar without quotes as null, a boolean, a number or text."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > _MAX_NUMBER_LENGTH:
        return text
    if re.fullmatch(_INTEGER, text):
        return int(text)
    if re.fullmatch(_BASED_INTEGER, text):
        return int(text, 0)
    return float(text) if re.fullmatch(_FLOAT, text) else text


def folded(text: str) -> str:
    """Join lines as YAML folds them: one end of line is a space, each further one stays."""
    return re.sub(_LINE_ENDS, lambda ends: "\n" * (ends[0].count("\n") - 1) or " ", text)
