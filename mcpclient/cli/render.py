"""Results for a terminal: escaped strings of servers, objects, images.

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from ..errors import ProtocolViolation, UsageError
from ..framing.escaping import escape
from ..jsonrpc.codec import parse_json
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
from .layout import Style, fill, one_line, shorten, width_of

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


def pretty_json(value: Any, *, exact: bool = False) -> str:
    """Return a JSON value on several lines, safe for a terminal; ``exact``: in ASCII, for programs.

    Raises `ProtocolViolation` for one that is too deep to be written again.
    """
    try:
        text = json.dumps(value, indent=2, ensure_ascii=exact)
        return text if escape(text) == text else json.dumps(value, indent=2)
    except RecursionError:
        raise ProtocolViolation("the server sent JSON that is nested too deeply to show") from None


def contents(blocks: Iterable[Content | ResourceContents], style: Style) -> str:
    """Return blocks of content: text as it is, escaped, and a note for everything else."""
    return "\n".join(_block(block, style).rstrip("\n") for block in blocks)


def _block(block: Content | ResourceContents, style: Style) -> str:
    if isinstance(block, TextContent):
        return fill(escape(block.text), style.columns)
    if isinstance(block, EmbeddedResource):
        return _block(block.resource, style)
    if isinstance(block, ResourceContents):
        if block.text is not None:
            return fill(escape(block.text), style.columns)
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
    value = parse_json(only.text)
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
    shown = fill(escape(text).rstrip("\n"), style.columns)
    return "\n".join(filter(None, [shown, style.dim(below)]))


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
    from ..net.files import write_file

    for name, data in zip(paths, pieces):
        with writing(name):
            write_file(name, data)
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


_MESSAGE_LINK = r"https://[a-z0-9.-]+\.slack\.com/archives/([A-Z0-9]+)/p[0-9]+[!-~]*"


def compact_line(value: Mapping[str, Any], style: Style) -> str | None:
    """Return the line for a result of a known kind, escaped; None for any other.

    ``Sent a message to #channel``, for a chat message; without the channel's name, its id.
    """
    link = value.get("message_link")
    found = re.fullmatch(_MESSAGE_LINK, link) if isinstance(link, str) else None
    if found is None:
        return None
    names = (value.get("channel_name"), value.get("channel"))
    name = next((each for each in names if isinstance(each, str) and each.strip()), "")
    channel = one_line(name).lstrip("#") or found[1]
    return f"Sent a message to {style.link(f'#{channel}', found[0])}"
