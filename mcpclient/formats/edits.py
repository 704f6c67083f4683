"""Edits of one member of JSON with comments, or one table of TOML; the rest keeps its layout."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .jsonc import JsoncError, JsoncObject, Member, parse_jsonc

_INDENTED = re.compile(r"(?m)^([ \t]+)\S")
_AFTER_MEMBER = re.compile(r"[ \t]*(?://[^\r\n]*)?(?:\r?\n|(?=\}))")


class _Change(NamedTuple):
    start: int
    end: int
    text: str


def set_member(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with the member at ``path`` set; missing objects on the way are created.

    A new member comes after the others, indented as they are. Raises `JsoncError` when the text
    cannot be read, or something else than an object is in the way.
    """
    root = parse_jsonc(text) if text.strip(" \t\r\n\ufeff") else None
    if root is None:
        return json.dumps(_nested(path, value), indent=2, ensure_ascii=False) + "\n"
    holder, depth = _holder(text, root, path)
    style = _Style(text)
    name, *below = path[depth:]
    member = holder.last.get(name)
    if member is not None:
        indent = style.indent_at(member.start)
        change = _Change(member.value_start, member.end, style.dumped(value, indent))
        return _checked(_changed(text, [change]), path, value)
    return _checked(_added(text, holder, name, _nested(below, value), style), path, value)


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
        changes.insert(0, _Change(kept[-1].comma, kept[-1].comma + 1, ""))
    return _changed(text, sorted(changes))


def _without(text: str, member: Member) -> _Change:
    """Remove a member, with its line when the line holds nothing else."""
    end = member.end if member.comma is None else member.comma + 1
    start = len(text[: member.start].rstrip(" \t"))
    after = _AFTER_MEMBER.match(text, end)
    starts_line = start == 0 or text[start - 1] == "\n"
    return _Change(start, after.end() if starts_line and after is not None else end, "")


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


class _Style:
    def __init__(self, text: str) -> None:
        self.text = text
        self.line_end = "\r\n" if "\r\n" in text else "\n"
        first = _INDENTED.search(text)
        self.unit = first.group(1) if first is not None else "  "

    def indent_at(self, offset: int) -> str:
        line = self.text[self.text.rfind("\n", 0, offset) + 1 : offset]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def dumped(self, value: object, indent: str) -> str:
        text = json.dumps(value, indent=self.unit, ensure_ascii=False)
        return text.replace("\n", self.line_end + indent)


def _added(text: str, holder: JsoncObject, name: str, value: object, style: _Style) -> str:
    if "\n" not in text[holder.start : holder.end] and holder.members:  # all in one line
        last = holder.members[-1]
        comma = "" if last.comma is not None else ","
        place = last.end if last.comma is None else last.comma + 1
        inline = f"{comma} {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        return _changed(text, [_Change(place, place, inline)])
    outer = style.indent_at(holder.start)
    indent = style.indent_at(holder.members[-1].start) if holder.members else outer + style.unit
    # After the last member and the comments behind it.
    place = len(text[: holder.end].rstrip(" \t\r\n"))
    added = f"{json.dumps(name, ensure_ascii=False)}: {style.dumped(value, indent)}"
    changes = [_Change(place, place, style.line_end + indent + added)]
    if holder.members and holder.members[-1].comma is None:
        end = holder.members[-1].end
        changes.insert(0, _Change(end, end, ","))
    if "\n" not in text[place : holder.end]:
        changes.append(_Change(place, holder.end, style.line_end + outer))
    return _changed(text, changes)


def _changed(text: str, changes: Sequence[_Change]) -> str:
    """Apply changes, sorted and without overlap."""
    parts, position = [], 0
    for change in changes:
        parts += [text[position : change.start], change.text]
        position = change.end
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


# Strings of all four kinds, comments and brackets: an end of line counts only outside of these.
_TOKEN = re.compile(
    r'''"""(?:[^"\\]|\\.|"(?!""))*"{3,5}|"(?:[^"\\\n]|\\.)*"'''
    r"|'''(?:[^']|'(?!''))*'{3,5}|'[^'\n]*'"
    r"|\#[^\n]*|[^\"'#\n\[\]{}]+|.",
    re.DOTALL,
)
_NAME = r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\]\n\"']"
_HEADER = re.compile(rf"[ \t]*\[{{1,2}}((?:{_NAME})*)\]{{1,2}}")
_PART = re.compile(r"[ \t]*(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([A-Za-z0-9_-]+))[ \t]*(\.|$)")
_BARE = re.compile("[A-Za-z0-9_-]+")


def add_table(text: str, path: Sequence[str], table: Mapping[str, object]) -> str:
    """Return the text with a table at its end.

    Values are strings, numbers, booleans, lists and mappings; others raise `ValueError`.
    """
    line_end = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(map(_key, path))}]"]
    lines += [f"{_key(name)} = {_value(value)}" for name, value in table.items()]
    start = text.rstrip()
    return (start + line_end * 2 if start else "") + line_end.join(lines) + line_end


def remove_table(text: str, path: Sequence[str]) -> str:
    """Return the text without a table and the tables inside it. Raises `KeyError` without any.

    Comments behind its last value stay, since they may be about the next table.
    """
    kept: list[str] = []
    behind: list[str] = []
    inside = found = False
    for line in _lines(text):
        header = _HEADER.match(line)
        if header is not None:
            inside = _parts(header.group(1))[: len(path)] == list(path)
            found = found or inside
            kept += behind
            behind = []
        if not inside:
            kept.append(line)
        elif line.lstrip()[:1] == "#" or (behind and not line.strip()):
            behind.append(line)
        elif line.strip():
            behind = []
    if not found:
        raise KeyError(path[-1])
    return "".join(kept + behind)


def _lines(text: str) -> Iterator[str]:
    """Yield the lines; a string or an array over several lines stays in one piece."""
    start = depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
        elif token[0] == "\n" and depth <= 0:
            yield text[start : token.end()]
            start, depth = token.end(), 0
    if start < len(text):
        yield text[start:]


def _parts(header: str) -> list[str]:
    parts, position = [], 0
    while True:
        match = _PART.match(header, position)
        if match is None:
            return []
        quoted, literal, bare, dot = match.groups()
        parts.append(json.loads(f'"{quoted}"') if quoted is not None else literal or bare)
        if not dot:
            return parts
        position = match.end()


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    # TOML reads the escapes of JSON; unlike JSON, it also wants DEL escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        pairs = (f"{_key(str(name))} = {_value(item)}" for name, item in value.items())
        return "{ " + ", ".join(pairs) + " }" if value else "{}"
    raise ValueError(f"TOML has no {type(value).__name__}")
