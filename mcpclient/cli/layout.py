"""Text laid out for the width of a terminal: paragraphs, lists and tables. Pipes get whole lines.

No line is wider than the terminal, unless it is one word, since users copy paths and URLs; a
command to copy ends in backslashes where it takes several lines.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from ..framing.escaping import escape


class Style:
    """The abilities of an output stream.

    ``columns``: its width; None where lines may have any length. ``pictures``: how it takes images,
    see `render.pictures_of`.
    """

    def __init__(
        self, colour: bool = False, columns: int | None = None, pictures: str = ""
    ) -> None:
        self.colour: bool = colour
        self.columns: int | None = columns
        self.pictures: str = pictures

    def bold(self, text: str) -> str:
        """Return the text in bold."""
        return f"\x1b[1m{text}\x1b[0m" if self.colour and text else text

    def dim(self, text: str) -> str:
        """Return the text dimmed."""
        return f"\x1b[2m{text}\x1b[0m" if self.colour and text else text

    def link(self, text: str, url: str) -> str:
        """Return the text as a link, where the terminal has links; ``url`` is printable ASCII."""
        return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if self.colour else text


def one_line(text: str | None) -> str:
    """Return the text on one line, escaped; None is empty."""
    return escape(" ".join((text or "").split()))


def counted(number: int, noun: str) -> str:
    """Return a number of things: ``1 tool``, ``2 tools``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# Patterns are compiled where they are first used, since most output needs none of them.
_SEQUENCES = r"\x1b\[[0-9;]*m"


def width_of(text: str) -> int:
    """Return how many columns of a terminal the text takes."""
    if "\x1b" in text:
        text = re.sub(_SEQUENCES, "", text)
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shorten(text: str, columns: int) -> str:
    """Return the text cut to a number of columns, with an ellipsis where something is missing."""
    if width_of(text) <= columns:
        return text
    kept, used = "", 1
    for character in text:
        used += _columns(character)
        if used > columns:
            break
        kept += character
    return kept.rstrip() + "…"


def wrapped(text: str, columns: int, indent: str = "", first: str | None = None) -> list[str]:
    """Return a paragraph in lines of at most this width, broken at words and wide characters.

    ``first``: the beginning of the first line, where it is not ``indent``. A word that is wider
    than a line is left whole.
    """
    return _in_lines(_pieces(text), columns, indent, first)


def _in_lines(
    pieces: Iterable[tuple[str, str]], columns: int, indent: str, first: str | None = None
) -> list[str]:
    lines = [indent if first is None else first]
    used, is_empty = width_of(lines[0]), True
    for gap, piece in pieces:
        if not is_empty and used + len(gap) + width_of(piece) > columns:
            lines.append(indent)
            used, is_empty = len(indent), True
        added = piece if is_empty else gap + piece
        lines[-1] += added
        used, is_empty = used + width_of(added), False
    return [] if is_empty and first is None else lines


# Between two paths of a list such as PATH, but not in a URL.
_PATHS = r"(?<=:)(?=/(?!/))"


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a string between which a line may end, each after the gap before it."""
    for word in text.split():
        gap = " "
        for part in re.split(_PATHS, word):
            for is_wide, run in groupby(part, lambda each: _columns(each) == 2):
                for piece in run if is_wide else ["".join(run)]:
                    yield gap, piece
                    gap = ""


# The beginning of a line that the rest is wrapped beside: a mark, or a name before a gap.
_HANGING = r" *(?:(?:[-*→]|\d+\.) +|\S[^.!?:;\n]{0,26}?\S? {2,}(?=\S))"
_COMMAND = r"(?:^|(?<=: ))mcpclient .+$"
_USAGE_WORD = r"\[[^\[\]]{,36}\]|\S+"
_SHELL_WORD = r"(?:'[^']*'|\"[^\"]*\"|\S)+"


def fill(text: str, columns: int | None) -> str:
    """Return lines wrapped to a width, each with its own indent; commands stay fit to be copied."""
    if columns is None:
        return text
    lines: list[str] = []
    for line in text.split("\n"):
        is_whole = "\x1b]" in line or "\x1b_" in line or width_of(line) <= columns
        lines += [line] if is_whole else _filled(line.expandtabs(), columns)
    return "\n".join(lines)


def _filled(line: str, columns: int) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip(" ")))
    if line.startswith("usage: "):
        gaps = ((" ", word) for word in re.findall(_USAGE_WORD, line))
        return _in_lines(gaps, columns, "    ", "")
    command = re.search(_COMMAND, line.strip())
    if command is not None:
        before = wrapped(line.strip()[: command.start()], columns, indent)
        return before + _command_lines(command.group(), columns, indent)
    hanging = re.match(_HANGING, line)
    if hanging is None:
        return wrapped(line, columns, indent)
    beside, rest = hanging.group(), line[hanging.end() :]
    if len(beside) > max(columns // 2, len(indent) + 4):
        return wrapped(beside, columns, indent) + wrapped(rest, columns, f"{indent}    ")
    return wrapped(rest, columns, " " * width_of(beside), beside)


def _command_lines(command: str, columns: int, indent: str) -> list[str]:
    words = re.findall(_SHELL_WORD, command)
    if width_of(indent + command) <= columns or sys.platform == "win32":
        return [indent + command]
    gaps = ((" ", word) for word in words)
    lines = _in_lines(gaps, columns - 2, f"{indent}    ", indent)
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


_MAX_NAME_WIDTH = 30


def definitions(rows: Iterable[tuple[str, str]], columns: int | None, indent: str = "") -> str:
    """Return names with their meanings beside them, wrapped to a width: nothing is cut.

    A name that is too long gets a line of its own.
    """
    rows = [(indent + name, meaning) for name, meaning in rows]
    if columns is None:
        return table((), rows, Style())
    longest = max((width_of(name) for name, _ in rows), default=0)
    beside = min(longest, _MAX_NAME_WIDTH, columns // 3)
    gap = " " * (beside + 2)
    lines: list[str] = []
    for name, meaning in rows:
        filled = wrapped(meaning, columns, gap)
        is_wide = width_of(name) > beside or any(width_of(line) > columns for line in filled[:1])
        if is_wide or not filled:
            lines += wrapped(name, columns, f"{indent}    ", indent)
        else:
            filled[0] = name + gap[width_of(name) :] + filled[0].lstrip()
        lines += filled
    return "\n".join(lines)


MARKS = ("(read-only)", "(destructive)")
"""Marks of tools that are listed on a terminal."""

_SENTENCE_END = r"(?<=[.!?])\s+(?=[^a-z])|(?<=[。！？])"


Rows = Iterable[Sequence["str | None"]]
"""Rows of cells, which `listing` and `table` escape, each on one line; None is empty."""


def listing(
    header: Sequence[str],
    rows: Rows,
    style: Style,
    otherwise: str = "",
    *,
    whole: bool = False,
    titled: bool = False,
) -> str:
    """Return things with their texts: a table in a pipe, and blocks of lines on a terminal.

    The cells of a block's first line are all but the last, the text, of which the first sentence is
    shown below, or the ``whole``. ``titled``: the header's first cell is a line of its own. Without
    rows, return ``otherwise``.
    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    if style.columns is None or not cells:
        return table(header, cells, style, otherwise)
    lines = [style.dim(header[0])] if titled else []
    for *head, text in cells:
        names = wrapped(" ".join(filter(None, head)), style.columns, "    ", "")
        lines += [_marked(line, style) for line in names]
        shown, *more = [text] if whole else re.split(_SENTENCE_END, text, maxsplit=1)
        lines += wrapped(shown + (" …" if any(more) else ""), style.columns, "  ")
    return "\n".join(lines)


def _marked(line: str, style: Style) -> str:
    mark = next((mark for mark in MARKS if line.endswith(mark)), "")
    return style.bold(line[: len(line) - len(mark)]) + style.dim(mark)


# The least width of a column whose cells are wrapped.
_MIN_COLUMN = 12


def table(header: Sequence[str], rows: Rows, style: Style, otherwise: str = "") -> str:
    """Return rows of cells below each other, aligned. An empty ``header`` is left out.

    Nothing is cut. On a terminal, columns that are empty are left out, wide ones are wrapped, and
    where there is no room for that each row is a block of lines. Without rows, return
    ``otherwise``.
    """
    lines = [[one_line(cell) for cell in row] for row in rows]
    if not lines:
        return otherwise
    if style.columns is not None:
        used = [any(column) for column in zip(*lines)]
        lines = [[cell for cell, is_used in zip(line, used) if is_used] for line in lines]
        header = [cell for cell, is_used in zip(header, used) if is_used]
    if header:
        lines.insert(0, list(header))
    natural = [max(width_of(cell) for cell in column) for column in zip(*lines)]
    widths = natural if style.columns is None else _shares(natural, style.columns)
    if any(width < min(wide, _MIN_COLUMN) for width, wide in zip(widths, natural)):
        return listing((), lines[1:] if header else lines, style, whole=True)
    shown = [_row(line, widths, style.columns) for line in lines]
    if header:
        shown[0] = style.bold(shown[0])
    return "\n".join(shown)


def _shares(natural: Sequence[int], columns: int) -> list[int]:
    """Return the widths of columns that fit: the widest give way first."""
    room = columns - 2 * (len(natural) - 1)
    widths = [min(width, columns) for width in natural]
    while sum(widths) > room and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    return widths


def _row(cells: Sequence[str], widths: Sequence[int], columns: int | None) -> str:
    """Return the lines of a row. What stands beside a word that is too wide begins below it, and
    a word that would not fit beside the others is below them."""
    lines, left, top = [""], 0, 0
    for cell, width in zip(cells, widths):
        parts = wrapped(cell, width)
        longest = max(map(width_of, parts), default=0)
        if columns is not None and left + longest > columns and lines[-1]:
            lines += [f"    {part}" for part in parts]
            top = len(lines)
            left += width + 2
            continue
        lines += [""] * (top + len(parts) - len(lines))
        for number, part in enumerate(parts, top):
            lines[number] += " " * (left - width_of(lines[number])) + part
        if longest > width:
            top += len(parts)
        left += width + 2
    return "\n".join(lines)
