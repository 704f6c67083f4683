"""Text for a terminal: escaped words of servers, tables, definitions and images.

Every function here that takes a server's text returns it escaped (`framing.escaping`). Sources for
images: iTerm2, "Inline Images Protocol"; kitty, "Terminal graphics protocol" (PNG only).
"""

from __future__ import annotations

import base64
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
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

_MAX_NAME_WIDTH = 30


def definitions(rows: Iterable[tuple[str, str]], columns: int | None) -> str:
    """Return names with their meanings beside them, wrapped to a width: nothing is cut.

    A name that is too long gets a line of its own.
    """
    rows = list(rows)
    if columns is None:
        return table((), rows, Style())
    longest = max((width_of(name) for name, _ in rows), default=0)
    beside = min(longest, _MAX_NAME_WIDTH, columns // 3)
    indent = " " * (beside + 2)
    lines: list[str] = []
    for name, meaning in rows:
        is_wide = width_of(name) > beside
        filled = wrap(meaning, columns, initial_indent=indent, subsequent_indent=indent)
        if is_wide or not filled:
            lines += wrap(name, columns)
        else:
            filled[0] = name + indent[width_of(name) :] + filled[0].lstrip()
        lines += filled
    return "\n".join(lines)


_WITH_KITTYS_PROTOCOL = ("xterm-kitty", "xterm-ghostty")
_CHUNK = 4096
_MAX_SIZE = 8 * 1024 * 1024
_PNG = b"\x89PNG\r\n\x1a\n"


def pictures_of(environ: Mapping[str, str]) -> str:
    """Return how the terminal takes images: ``"iterm"``, ``"kitty"``, or "" where it does not."""
    if environ.get("TERM_PROGRAM") in ("iTerm.app", "WezTerm"):
        return "iterm"
    is_kitty = "KITTY_WINDOW_ID" in environ or environ.get("TERM") in _WITH_KITTYS_PROTOCOL
    return "kitty" if is_kitty else ""


def picture(image: ImageContent, way: str) -> str:
    """Return the escape sequence for an image; "" if it is too large or of another kind."""
    data = image.data
    if not data or len(data) > _MAX_SIZE:
        return ""
    text = base64.b64encode(data).decode()
    if way == "iterm":
        return f"\x1b]1337;File=inline=1;size={len(data)}:{text}\a"
    if way == "kitty" and data.startswith(_PNG):
        return "".join(_kitty_chunks(text))
    return ""


def _kitty_chunks(text: str) -> list[str]:
    pieces = [text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK)]
    last = len(pieces) - 1
    return [
        f"\x1b_G{'f=100,a=T,' if index == 0 else ''}m={int(index < last)};{piece}\x1b\\"
        for index, piece in enumerate(pieces)
    ]


# On a terminal a column between the first and the last is at most this wide; the last shrinks to
# the rest, but not below this. The first is never cut, since users copy names and URIs.
_MAX_WIDTH_BETWEEN = 40
_NARROWEST_LAST = 16


class Style(NamedTuple):
    """The abilities of an output stream.

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
