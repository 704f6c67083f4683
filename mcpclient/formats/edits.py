"""Edits of one member of JSON with comments; the rest keeps its layout."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from .jsonc import JsoncError, JsoncObject, Member, parse_jsonc

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
