"""Text for a terminal: escaped words of servers, tables, definitions, images and results.

Every function here that takes a server's text returns it escaped (`framing.escaping`). Sources for
images: iTerm2, "Inline Images Protocol"; kitty, "Terminal graphics protocol" (PNG only).

A result is complete in a pipe. On a terminal, one that is a JSON object is shown as

1. one line, for a known kind of result (`compact_line`),
2. its text, where one field holds nearly all of it,
3. aligned pairs of name and value, where there are at most twelve,
4. otherwise indented JSON, of which the first lines are shown.
"""

from __future__ import annotations

import base64
import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple, Optional

from ..errors import ProtocolViolation, UsageError
from ..framing.escaping import escape
from ..lazy import files
from ..protocol.types import (
    AudioContent,
    CallToolResult,
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
        filled = wrapped(meaning, columns, indent)
        is_wide = width_of(name) > beside or any(width_of(line) > columns for line in filled[:1])
        if is_wide or not filled:
            lines += wrapped(name, columns)
        else:
            filled[0] = name + indent[width_of(name) :] + filled[0].lstrip()
        lines += filled
    return "\n".join(lines)


_WITH_KITTYS_PROTOCOL = ("xterm-kitty", "xterm-ghostty")
_CHUNK = 4096
_MAX_SIZE = 8 * 1024 * 1024
_PNG = b"\x89PNG\r\n\x1a\n"


def pictures_of(environ: Mapping[str, str]) -> str:
    """Return the terminal's image protocol: ``"iterm"``, ``"kitty"``, or "" for none."""
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
    if way != "kitty" or not data.startswith(_PNG):
        return ""
    return "".join(
        f"\x1b_G{'' if start else 'f=100,a=T,'}m={int(start + _CHUNK < len(text))};"
        f"{text[start : start + _CHUNK]}\x1b\\"
        for start in range(0, len(text), _CHUNK)
    )


class Style(NamedTuple):
    """The abilities of an output stream.

    ``columns``: its width; None where lines may have any length. ``pictures``: how it takes images,
    see `pictures.pictures_of`.
    """

    colour: bool = False
    columns: int | None = None
    pictures: str = ""

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
    than a line is left whole, since users copy URLs.
    """
    lines = [indent if first is None else first]
    used, is_empty = width_of(lines[0]), True
    for gap, piece in _pieces(text):
        if not is_empty and used + len(gap) + width_of(piece) > columns:
            lines.append(indent)
            used, is_empty = len(indent), True
        added = piece if is_empty else gap + piece
        lines[-1] += added
        used, is_empty = used + width_of(added), False
    return [] if is_empty and first is None else lines


# Between two paths of a list such as PATH, but not in a URL.
_PATHS = re.compile(r"(?<=:)(?=/(?!/))")


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a string between which a line may end, each after the gap before it."""
    for word in text.split():
        gap = " "
        for part in _PATHS.split(word):
            for is_wide, run in groupby(part, lambda each: _columns(each) == 2):
                for piece in run if is_wide else ["".join(run)]:
                    yield gap, piece
                    gap = ""


def fill(text: str, columns: int | None) -> str:
    """Return lines wrapped to a width, each with its own indent; a command to copy stays whole."""
    if columns is None:
        return text
    lines: list[str] = []
    for line in text.split("\n"):
        words = line.lstrip(" ")
        indent = line[: len(line) - len(words)]
        if width_of(line) <= columns:
            lines.append(line)
            continue
        words, mark, command = words.rpartition("mcpclient ")
        lines += wrapped(words if mark else command, columns, indent)
        lines += [f"{indent}{mark}{command}"] * bool(mark)
    return "\n".join(lines)


MARKS = ("(read-only)", "(destructive)")
"""Marks of tools that are listed on a terminal."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^a-z])|(?<=[。！？])")


Rows = Iterable[Sequence[Optional[str]]]
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
        shown, *more = [text] if whole else _SENTENCE_END.split(text, maxsplit=1)
        lines += wrapped(shown + (" …" if any(more) else ""), style.columns, "  ")
    return "\n".join(lines)


def _marked(line: str, style: Style) -> str:
    mark = next((mark for mark in MARKS if line.endswith(mark)), "")
    return style.bold(line[: len(line) - len(mark)]) + style.dim(mark)


def table(header: Sequence[str], rows: Rows, style: Style, otherwise: str = "") -> str:
    """Return rows of cells below each other, aligned. An empty ``header`` is left out.

    Nothing is cut. Without rows, return ``otherwise``.
    """
    lines = [[one_line(cell) for cell in row] for row in rows]
    if not lines:
        return otherwise
    if header:
        lines.insert(0, list(header))
    widths = [max(width_of(cell) for cell in column) for column in zip(*lines)]
    shown = []
    for line in lines:
        padded = [cell + " " * (width - width_of(cell)) for cell, width in zip(line, widths)]
        shown.append("  ".join(padded).rstrip())
    if header:
        shown[0] = style.bold(shown[0])
    return "\n".join(shown)


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


_MAX_PAIRS = 12
_DOMINANT = 0.8
_MAX_LINES = 200
_LONG = 40
_MAX_NESTED_LENGTH = 120


def result_text(result: CallToolResult, style: Style) -> str:
    """Return a result for people, safe for a terminal."""
    blocks = result.content
    if style.columns is not None:
        value = _object_in(result)
        if value is not None:
            return object_text(value, style)
    if not blocks and result.structured is not None:
        return pretty_json(result.structured)
    return contents(blocks, style)


def _object_in(result: CallToolResult) -> Mapping[str, Any] | None:
    blocks = result.content
    if not blocks:
        return result.structured if isinstance(result.structured, Mapping) else None
    only = blocks[0] if len(blocks) == 1 else None
    if not isinstance(only, TextContent) or not only.text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(only.text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def object_text(value: Mapping[str, Any], style: Style) -> str:
    """Return a JSON object in the form that reads best on a terminal."""
    line = compact_line(value, style) or _dominant(value, style)
    if line is not None:
        return line
    if value and len(value) <= _MAX_PAIRS and all(map(_is_small, value.values())):
        pairs = [(one_line(name), one_line(_plain(each))) for name, each in value.items()]
        widest = max(width_of(name) for name, _ in pairs)
        return "\n".join(
            f"{style.bold(name + ':')}{' ' * (widest - width_of(name) + 1)}{text}"
            for name, text in pairs
        )
    return _cut(pretty_json(value), style)


def _dominant(value: Mapping[str, Any], style: Style) -> str | None:
    """Return an object's long only string, or one with 4/5 of all characters; the rest below."""
    texts = {name: each for name, each in value.items() if isinstance(each, str)}
    if not texts:
        return None
    name = max(texts, key=lambda each: len(texts[each]))
    text, rest = texts[name], {key: each for key, each in value.items() if key != name}
    is_only = len(texts) == 1 and (not rest or len(text) > _LONG or "\n" in text)
    everything = len(text) + sum(len(_plain(each)) for each in rest.values())
    if not is_only and (len(text) < _DOMINANT * everything or len(text) <= _LONG):
        return None
    others = ", ".join(f"{key}: {_plain(each)}" for key, each in rest.items())
    below = shorten(one_line(f"[{others}]"), style.columns or _LONG) if rest else ""
    return "\n".join(filter(None, [escape(text).rstrip("\n"), style.dim(below)]))


def _is_small(value: Any) -> bool:
    if isinstance(value, str):
        return "\n" not in value.strip()
    return not isinstance(value, (dict, list)) or len(_plain(value)) <= _MAX_NESTED_LENGTH


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return " " * (_MAX_NESTED_LENGTH + 1)


def _cut(text: str, style: Style) -> str:
    lines = text.splitlines()
    shown = [shorten(line, style.columns or width_of(line)) for line in lines[:_MAX_LINES]]
    missing = len(lines) - len(shown)
    if missing:
        shown.append(style.dim(f"… {missing} more lines; --json, or a pipe, has all of it"))
    return "\n".join(shown)


def save_media(result: CallToolResult, path: str) -> list[str]:
    """Save the images, sounds and bytes of a result. Return the files, numbered after the first.

    Raises `UsageError` when the result has none, or a file cannot be written.
    """
    pieces = [
        block.resource.data if isinstance(block, EmbeddedResource) else block.data
        for block in result.content
        if isinstance(block, (ImageContent, AudioContent, EmbeddedResource))
    ]
    if not pieces:
        raise UsageError("the result contains no image, sound or file to save")
    stem, ending = os.path.splitext(path)
    paths = [path, *(f"{stem}-{number}{ending}" for number in range(2, len(pieces) + 1))]
    for name, data in zip(paths, pieces):
        with writing(name):
            files.write_file(name, data)
    return paths


@contextmanager
def writing(path: str, what: str = "", verb: str = "write") -> Iterator[None]:
    """Raise `UsageError` in place of the error of a file that cannot be written."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        named = f"{what} {path!r}".strip()
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot {verb} {named}: {reason}") from None


reading: Callable[[str], AbstractContextManager[None]] = partial(writing, verb="read")


_MESSAGE_LINK = re.compile(r"https://[a-z0-9.-]+\.slack\.com/archives/([A-Z0-9]+)/p[0-9]+[!-~]*")


def compact_line(value: Mapping[str, Any], style: Style) -> str | None:
    """Return the line for a result of a known kind, escaped; None for any other.

    ``Sent a message to #channel``, for a chat message; without the channel's name, its id.
    """
    link = value.get("message_link")
    found = _MESSAGE_LINK.fullmatch(link) if isinstance(link, str) else None
    if found is None:
        return None
    names = (value.get("channel_name"), value.get("channel"))
    name = next((each for each in names if isinstance(each, str) and each.strip()), "")
    channel = one_line(name).lstrip("#") or found[1]
    return f"Sent a message to {style.link(f'#{channel}', found[0])}"
