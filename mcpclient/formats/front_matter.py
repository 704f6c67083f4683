"""The YAML front matter of a ``SKILL.md``, read with the part of YAML that front matter needs.

That part is: block and flow mappings and sequences, plain and quoted scalars, literal and folded
blocks, comments, and the null, booleans and decimal numbers of the core schema. What is rare, or
could be read in two ways, is refused: anchors, aliases, tags, directives, complex keys, blocks with
``+`` or a digit, tabs as indentation, and duplicate keys. Source: YAML 1.2.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

# The most characters of front matter and of a number in it; the deepest nesting.
_MAX_LENGTH = 64 * 1024
_MAX_NUMBER_LENGTH = 300
_MAX_DEPTH = 32

# Expressions are compiled on first use, because most clients read no skill.
_OPENING = r"---[ \t]*\r?\n"
_CLOSING = r"(?m)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)"
_BLOCK_SCALAR = r"([|>])(-?)[ \t]*(?:#.*)?"
# A line of a folded block, and the end that it loses; indented lines keep theirs.
_FOLDED = r"(?m)^([^ \t\n].*)\n(\n*)(?=[^ \t\n])"
_COMMENT = r"(?:^|[ \t])#.*"
_KEY_END = r":(?=[ \t]|$)|[ \t]#"
_NOT_READ = "&*!|>%@`,]}"

_INTEGER = r"[-+]?[0-9]+"
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

# The booleans of YAML 1.1, which many libraries still read.
_OLD_BOOLEANS = {"yes": True, "on": True, "no": False, "off": False}


class FrontMatterError(ValueError):
    """Front matter that is missing, broken, or uses YAML that is not supported."""


def split_front_matter(text: str) -> tuple[str, str]:
    """Return the front matter and the text after it. Raises `FrontMatterError` without any."""
    text = text[1:] if text.startswith("\ufeff") else text
    opening = re.match(_OPENING, text)
    closing = re.compile(_CLOSING).search(text, opening.end()) if opening is not None else None
    if opening is None or closing is None:
        raise FrontMatterError("it does not begin with front matter between lines of ---")
    return text[opening.end() : closing.start()], text[closing.end() :]


def parse_front_matter(text: str) -> dict[str, Any]:
    """Return front matter as the value that JSON would have for it. Raises `FrontMatterError`."""
    if len(text) > _MAX_LENGTH:
        raise FrontMatterError(f"it is longer than {_MAX_LENGTH} characters")
    value = _Blocks(text).document()
    if not isinstance(value, dict):
        raise FrontMatterError("it is not a mapping")
    return value


def same_content(parsed: object, claimed: object) -> bool:
    """Whether a value of the front matter is the one that a server claims, in JSON.

    Where YAML libraries read the same text differently, any of their readings will do: a date may
    be claimed with a time of midnight, and ``yes``, ``no``, ``on`` and ``off`` may be booleans.
    """
    if isinstance(parsed, dict) and isinstance(claimed, dict):
        return parsed.keys() == claimed.keys() and all(
            same_content(value, claimed[key]) for key, value in parsed.items()
        )
    if isinstance(parsed, list) and isinstance(claimed, list):
        return len(parsed) == len(claimed) and all(map(same_content, parsed, claimed))
    if isinstance(parsed, bool) or isinstance(claimed, bool):
        old = _OLD_BOOLEANS.get(parsed.lower()) if isinstance(parsed, str) else None
        return parsed is claimed or (old is not None and old is claimed)
    if isinstance(parsed, str) and isinstance(claimed, str):
        return claimed in (parsed, f"{parsed}T00:00:00Z", f"{parsed}T00:00:00.000Z")
    return parsed == claimed


class _Blocks:
    """Reads blocks line by line; ``_next`` is always the first line not used yet."""

    def __init__(self, text: str) -> None:
        self._lines = text.replace("\r\n", "\n").split("\n")
        self._next = 0

    def document(self) -> Any:
        value = self._block(0, 0)
        if self._peek() is not None:
            raise self._error("it is indented as nothing else is")
        return value

    def _block(self, least: int, depth: int) -> Any:
        """Read a node whose lines are indented by at least so much; None when there is none."""
        found = self._peek()
        if found is None or found[0] < least:
            return None
        if depth > _MAX_DEPTH:
            raise self._error("it is nested too deeply")
        indent, content = found
        if _is_item(content):
            return self._sequence(indent, depth)
        if self._key(content) is not None:
            return self._mapping(indent, depth)
        self._next += 1
        return self._value(content, indent - 1)

    def _peek(self) -> tuple[int, str] | None:
        """Return indentation and content of the next line that has any."""
        while self._next < len(self._lines):
            line = self._lines[self._next]
            content = line.strip(" ")
            if content.startswith("\t") and content.strip():
                raise self._error("a tab cannot be used for indentation")
            if content.strip() and not content.startswith("#"):
                return _indent_of(line), content.rstrip()
            self._next += 1
        return None

    def _sequence(self, indent: int, depth: int) -> list[Any]:
        items: list[Any] = []
        while True:
            found = self._peek()
            if found is None or found[0] != indent or not _is_item(found[1]):
                return items
            rest = found[1][1:].lstrip(" ")
            if not rest or rest.startswith("#"):
                self._next += 1
                items.append(self._block(indent + 1, depth + 1))
            elif _is_item(rest) or self._key(rest) is not None:
                # A block begins behind the dash, indented by all that stands before it.
                inner = indent + len(found[1]) - len(rest)
                self._lines[self._next] = " " * inner + rest
                items.append(self._block(inner, depth + 1))
            else:
                self._next += 1
                items.append(self._value(rest, indent))

    def _mapping(self, indent: int, depth: int) -> dict[str, Any]:
        items: dict[str, Any] = {}
        while True:
            found = self._peek()
            pair = self._key(found[1]) if found is not None and found[0] == indent else None
            if pair is None:
                return items
            key, rest = pair
            if key in items:
                raise self._error(f"the key {key!r} is there twice")
            self._next += 1
            if rest and not rest.startswith("#"):
                items[key] = self._value(rest, indent)
                continue
            below = self._peek()
            # A sequence may stand directly under its key.
            is_list = below is not None and below[0] == indent and _is_item(below[1])
            items[key] = self._block(indent if is_list else indent + 1, depth + 1)

    def _key(self, content: str) -> tuple[str, str] | None:
        """Return the key that a line begins with and what follows it, None when there is none."""
        if _is_item(content) or content[0] in "[{":
            return None
        if content[0] in "\"'":
            quoted = read_quoted(content, 0)
            if quoted is None:
                return None
            rest = content[quoted[1] :].lstrip()
            if not rest.startswith(":") or rest[1:2].strip():
                return None
            return quoted[0], rest[1:].strip()
        end = re.search(_KEY_END, content)
        if end is None or end.group() != ":":
            return None
        key = content[: end.start()].rstrip()
        if not key or key[0] in _NOT_READ or key.startswith("? "):
            raise self._error(not_read("a key", content))
        return key, content[end.end() :].strip()

    def _value(self, text: str, indent: int) -> Any:
        """Read a value that begins with ``text``, in a block indented by ``indent``."""
        header = re.fullmatch(_BLOCK_SCALAR, text)
        if header is not None:
            return self._block_scalar(header, indent)
        if text[0] in "\"'[{":
            return self._flow(text, indent)
        if text[0] in _NOT_READ or text.startswith(("? ", ": ", "- ")):
            raise self._error(not_read("a value", text), lines_back=1)
        return self._plain(text, indent)

    def _inside(self, indent: int, closing: str = "") -> list[str]:
        """Return the lines from here on that are indented further, and empty ones between them.

        Lines that begin with one of the characters of ``closing`` need no indentation.
        """
        end = self._next
        for number in range(self._next, len(self._lines)):
            line = self._lines[number]
            if line.strip():
                content = line.lstrip(" ")
                if len(line) - len(content) <= indent and content[0] not in closing:
                    break
                end = number + 1
        return self._lines[self._next : end]

    def _flow(self, text: str, indent: int) -> Any:
        """Read a value in quotes or brackets, over as many lines as it takes."""
        # A closing bracket often stands under the key, which strictly is too far to the left.
        reader = FlowReader("\n".join([text, *self._inside(indent, closing="]}")]))
        try:
            value = reader.value()
        except FrontMatterError as error:
            raise self._error(str(error), lines_back=1) from None
        self._next += reader.text.count("\n", 0, reader.position)
        rest = reader.text[reader.position :].partition("\n")[0]
        if re.sub(_COMMENT, "", rest).strip():
            raise self._error("something follows a value", lines_back=1)
        return value

    def _plain(self, text: str, indent: int) -> Any:
        """Read a scalar without quotes, which goes on in lines that are indented further."""
        parts = [re.sub(_COMMENT, "", text).rstrip()]
        if parts[0] == text:
            for line in self._inside(indent):
                content = line.strip()
                part = re.sub(_COMMENT, "", content).rstrip()
                if content.startswith("#"):
                    break
                if part and self._key(part) is not None:
                    raise self._error("a key is inside a string")
                parts.append(part)
                self._next += 1
                if part != content:
                    break
        return scalar(folded("\n".join(parts).rstrip()))

    def _block_scalar(self, header: re.Match[str], indent: int) -> str:
        lines = self._inside(indent)
        width = next((_indent_of(line) for line in lines if line.strip()), 0)
        for number, line in enumerate(lines):
            if line.strip() and _indent_of(line) < width:
                raise self._error(f"line {number + 1} of a block is not indented like it")
        self._next += len(lines)
        content = [line[width:] for line in lines]
        if header[1] == "|":
            text = "\n".join(content)
        else:
            text = "\n".join([line if line.strip() else "" for line in content])
            text = re.sub(_FOLDED, lambda found: found[1] + (found[2] or " "), text)
        return text if header[2] or not content else f"{text}\n"

    def _error(self, reason: str, *, lines_back: int = 0) -> FrontMatterError:
        line = min(self._next + 1 - lines_back, len(self._lines))
        return FrontMatterError(f"line {line}: {reason}")


def _is_item(content: str) -> bool:
    return content == "-" or content.startswith("- ")


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


class FlowReader:
    """A reader of values in quotes or brackets; ``position`` is where the next one begins."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position: int = 0

    def value(self, depth: int = 0) -> Any:
        """Return the next value. Raises `FrontMatterError`."""
        if depth > _MAX_DEPTH:
            raise FrontMatterError("it is nested too deeply")
        character = self._peek()
        if character == "[":
            return [self.value(depth + 1) for _ in self._entries("]")]
        if character == "{":
            return self._object(depth)
        return self._quoted() if character in "\"'" else scalar(self._plain())

    def _object(self, depth: int) -> dict[str, Any]:
        items: dict[str, Any] = {}
        for _ in self._entries("}"):
            key = self._quoted() if self._peek() in "\"'" else self._plain()
            if key in items:
                raise FrontMatterError(f"the key {key!r} is there twice")
            items[key] = None
            if self._peek() == ":":
                self.position += 1
                items[key] = None if self._peek() in ",}" else self.value(depth + 1)
        return items

    def _entries(self, closing: str) -> Iterator[None]:
        """Yield where each entry of a collection begins, which is read before the next one."""
        self.position += 1
        while self._peek() != closing:
            yield
            character = self._peek()
            if character == ",":
                self.position += 1
            elif character != closing:
                raise FrontMatterError(f"{character!r} found instead of , or {closing}")
        self.position += 1

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
    return float(text) if re.fullmatch(_FLOAT, text) else text


def folded(text: str) -> str:
    """Join lines as YAML folds them: one end of line is a space, each further one stays."""
    return re.sub(_LINE_ENDS, lambda ends: "\n" * (ends[0].count("\n") - 1) or " ", text)
