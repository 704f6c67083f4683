"""Text for a terminal: what servers say made harmless, and tables.

Every function here that takes a server's text returns it escaped (`framing.escaping`).
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..errors import ProtocolViolation
from ..framing.escaping import escape
from ..protocol.types import (
    AudioContent,
    Content,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    ResourceLink,
    TextContent,
)
from .pictures import picture

# On a terminal a column between the first and the last is at most this wide; the last shrinks to
# what is left, but not further than that. The first is whole: names and URIs are to be copied.
_MAX_WIDTH_BETWEEN = 40
_NARROWEST_LAST = 16


class Style(NamedTuple):
    """What the output can show.

    ``columns``: its width; None where lines may have any length. ``pictures``: how it takes images,
    see `pictures.pictures_of`.
    """

    colour: bool = False
    columns: int | None = None
    pictures: str = ""

    def bold(self, text: str) -> str:
        """Return the text emphasised."""
        return f"\x1b[1m{text}\x1b[0m" if self.colour and text else text

    def dim(self, text: str) -> str:
        """Return the text toned down."""
        return f"\x1b[2m{text}\x1b[0m" if self.colour and text else text

    def link(self, text: str, url: str) -> str:
        """Return the text as a link, where the terminal has links; ``url`` is printable ASCII."""
        return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if self.colour else text


def one_line(text: str | None) -> str:
    """Return the text on one line, escaped; None is empty."""
    return escape(" ".join((text or "").split()))


def pretty_json(value: Any) -> str:
    """Return a JSON value on several lines, in ASCII: safe anywhere, and exact.

    Raises `ProtocolViolation` for one that is too deep to be written again.
    """
    try:
        return json.dumps(value, indent=2)
    except RecursionError:
        raise ProtocolViolation("the server sent JSON that is nested too deeply to show") from None


def width_of(text: str) -> int:
    """Return how many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
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


def table(header: Sequence[str], rows: Iterable[Sequence[str]], style: Style) -> str:
    """Return rows of cells below each other, aligned. An empty ``header`` is left out.

    Cells are single lines and escaped (`one_line`). What does not fit a terminal is cut, except in
    the first of the two or more columns.
    """
    lines = [list(row) for row in rows]
    if header:
        lines.insert(0, list(header))
    if not lines:
        return ""
    widths = [max(width_of(cell) for cell in column) for column in zip(*lines)]
    if style.columns is not None:
        widths = _fitting(widths, style.columns)
    shown = [_aligned(cells, widths) for cells in lines]
    if header:
        shown[0] = style.bold(shown[0])
    return "\n".join(shown)


def _fitting(widths: list[int], columns: int) -> list[int]:
    before = [*widths[:1], *(min(width, _MAX_WIDTH_BETWEEN) for width in widths[1:-1])]
    left = columns - sum(before) - 2 * len(before)
    return [*before, max(min(widths[-1], left), _NARROWEST_LAST)]


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    cut = [shorten(cell, width) for cell, width in zip(cells, widths)]
    padded = [cell + " " * (width - width_of(cell)) for cell, width in zip(cut, widths)]
    return "  ".join(padded).rstrip()


def contents(blocks: Iterable[Content | ResourceContents], style: Style) -> str:
    """Return blocks of content: text as it is, escaped, and a note for everything else."""
    return "\n".join(_block(block, style).rstrip("\n") for block in blocks)


def _block(block: Content | ResourceContents, style: Style) -> str:
    if isinstance(block, TextContent):
        return escape(block.text)
    if isinstance(block, EmbeddedResource):
        return _block(block.resource, style)
    if isinstance(block, ResourceContents):
        if block.text is not None:
            return escape(block.text)
        return _note(style, block.uri, block.mime_type, f"{len(block.data)} bytes")
    if isinstance(block, (ImageContent, AudioContent)):
        note = _note(style, block.type, block.mime_type, f"{len(block.data)} bytes")
        shown = picture(block, style.pictures) if isinstance(block, ImageContent) else ""
        return f"{shown}\n{note}" if shown else note
    if isinstance(block, ResourceLink):
        return _note(style, "resource", block.uri, block.title or block.name)
    return _note(style, block.type or "content of no type")


def _note(style: Style, *parts: str | None) -> str:
    return style.dim("[" + ", ".join(one_line(part) for part in parts if part) + "]")
