"""A chapter as a terminal of some width shows it: prose is filled, tables become lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import wrap

from ..definitions import definitions

_MAX_WIDTH = 96
_ITEM = re.compile(r"(?:- |\d+\. )")
_CELL = re.compile(r"(?<!\\)\|")


def laid_out(text: str, columns: int) -> str:
    """Return Markdown for a terminal: no line of prose is wider than it; code stays as it is.

    A row of a table becomes its first cell with the others beside it.
    """
    width = min(columns - 1, _MAX_WIDTH)
    lines: list[str] = []
    for kind, group in groupby(_with_kinds(text.splitlines()), key=lambda pair: pair[0]):
        part = [line for _, line in group]
        if kind == "prose":
            lines += _filled(part, width)
        elif kind == "table":
            lines += _list_of(part, width)
        else:
            lines += part
    return "\n".join(lines)


def _with_kinds(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    is_code = False
    for line in lines:
        if line.startswith("```"):
            is_code = not is_code
            yield "code", line
        elif is_code or line.startswith("    "):
            yield "code", line
        elif line.startswith("|"):
            yield "table", line
        elif not line or line.startswith("#"):
            yield "alone", line
        else:
            yield "prose", line


def _filled(lines: Sequence[str], width: int) -> Iterator[str]:
    """Fill paragraphs; an item of a list begins a line of its own."""
    paragraphs: list[str] = []
    for line in lines:
        if not paragraphs or _ITEM.match(line):
            paragraphs.append(line)
        else:
            paragraphs[-1] += f" {line.strip()}"
    for paragraph in paragraphs:
        mark = _ITEM.match(paragraph)
        yield from _wrapped(paragraph, width, " " * (mark.end() if mark else 0))


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)


def _list_of(rows: Sequence[str], width: int) -> list[str]:
    cells = [[cell.strip() for cell in _CELL.split(row.strip("|"))] for row in rows]
    entries = cells[2:]  # behind the header and a line of dashes
    said = ((first, ". ".join(filter(None, others))) for first, *others in entries)
    return definitions(
        ((name, text.replace("\\|", "|")) for name, text in said), width
    ).splitlines()
