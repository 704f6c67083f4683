"""Changes of one table in a text of TOML; all else stays as it was written. Source: TOML 1.0."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

__all__ = ["add_table", "remove_table"]

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NAME = r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\]\n\"']"
_HEADER = re.compile(rf"[ \t]*\[{{1,2}}((?:{_NAME})*)\]{{1,2}}")
_PART = re.compile(r"[ \t]*(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([A-Za-z0-9_-]+))[ \t]*(\.|$)")
_BARE = re.compile("[A-Za-z0-9_-]+")


def add_table(text: str, path: Sequence[str], table: Mapping[str, object]) -> str:
    """Return the text with a table at its end. Values are texts, numbers, flags, lists, mappings.

    Raises `ValueError` for another value.
    """
    line_end = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(map(_key, path))}]"]
    lines += [f"{_key(name)} = {_value(value)}" for name, value in table.items()]
    start = text.rstrip()
    return (start + line_end * 2 if start else "") + line_end.join(lines) + line_end


def remove_table(text: str, path: Sequence[str]) -> str:
    """Return the text without a table and the tables inside it. Raises `KeyError` without any."""
    kept: list[str] = []
    inside = found = False
    open_quotes = ""
    for line in _LINE.findall(text):
        header = None if open_quotes else _HEADER.match(line)
        if header is not None:
            inside = _parts(header.group(1))[: len(path)] == list(path)
            found = found or inside
            if inside:
                continue
        if not inside:
            kept.append(line)
        open_quotes = _open_after(line, open_quotes)
    if not found:
        raise KeyError(path[-1])
    return "".join(kept)


def _open_after(line: str, quotes: str) -> str:
    """Return the quotes of a text over several lines that is open after a line."""
    for mark in re.findall(r'"""|\'\'\'', line):
        if not quotes:
            quotes = mark
        elif quotes == mark:
            quotes = ""
    return quotes


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
    # What JSON escapes, TOML reads alike; it wants the character after the last of ASCII as well.
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
