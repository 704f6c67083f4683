"""Adding and removing one table of TOML; the rest keeps its layout."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence

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
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})|(.?))", re.DOTALL)
_ESCAPES = {
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    '"': '"',
    "\\": "\\",
}
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
        parts.append(_ESCAPE.sub(_character, quoted) if quoted is not None else literal or bare)
        if not dot:
            return parts
        position = match.end()


def _character(escape: re.Match[str]) -> str:
    *codes, letter = escape.groups()
    code = int(next(filter(None, codes), "0"), 16)
    if letter is not None:
        return _ESCAPES.get(
            letter, escape[0]
        )  # an unknown escape names no table that is looked for
    return chr(code) if code <= sys.maxunicode else escape[0]


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
