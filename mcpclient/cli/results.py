"""The result of a tool as text: complete in a pipe, and in its most readable form on a terminal.

On a terminal, a result that is a JSON object is shown as

1. one line, where it is of a kind that has one (``compact``),
2. the text in it, where one field holds nearly all there is,
3. aligned pairs of name and value, where there are at most twelve,
4. otherwise indented JSON, cut to what a screen shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import UsageError
from ..framing.escaping import escape
from ..net.regular_files import write_file
from ..protocol.types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    TextContent,
)
from .render import Style, contents, one_line, pretty_json, shorten, width_of

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
    """Return the JSON object that makes up the whole result, None for other results."""
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
    line = compact_line(value, style)
    if line is not None:
        return line
    text = _dominant(value, style)
    if text is not None:
        return text
    if value and len(value) <= _MAX_PAIRS and all(map(_is_small, value.values())):
        return _aligned(value, style)
    return _cut(pretty_json(value), style)


def _dominant(value: Mapping[str, Any], style: Style) -> str | None:
    """Return the text that makes up nearly all of an object, with the rest on a line below.

    That is the only string if it is long, or one with four fifths of all characters.
    """
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


def _aligned(value: Mapping[str, Any], style: Style) -> str:
    names = [one_line(name) for name in value]
    widest = max(map(width_of, names))
    rows = zip(names, (one_line(_plain(each)) for each in value.values()))
    return "\n".join(
        f"{style.bold(name + ':')}{' ' * (widest - width_of(name) + 1)}{text}"
        for name, text in rows
    )


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
    pieces = list(media_in(result))
    if not pieces:
        raise UsageError("the result contains no image, sound or file to save")
    paths = [path, *(_numbered(path, number) for number in range(2, len(pieces) + 1))]
    for name, data in zip(paths, pieces):
        try:
            write_file(name, data)
        except OSError as error:
            raise UsageError(f"cannot write {name!r}: {error.strerror or error}") from None
    return paths


def media_in(result: CallToolResult) -> Iterator[bytes]:
    """Yield the images, sounds and files of a result."""
    for block in result.content:
        if isinstance(block, (ImageContent, AudioContent)):
            yield block.data
        elif isinstance(block, EmbeddedResource):
            yield block.resource.data


def _numbered(path: str, number: int) -> str:
    stem, dot, ending = path.rpartition(".")
    return f"{stem}-{number}.{ending}" if dot and "/" not in ending else f"{path}-{number}"


_MESSAGE_LINK = re.compile(r"https://[a-z0-9.-]+\.slack\.com/archives/([A-Z0-9]+)/p[0-9]+[!-~]*")


def compact_line(value: Mapping[str, Any], style: Style) -> str | None:
    """Return the line for a result of a known kind, escaped; None for any other."""
    for line_of in _KINDS:
        line = line_of(value, style)
        if line is not None:
            return line
    return None


def _sent_message(value: Mapping[str, Any], style: Style) -> str | None:
    """``Sent a message to #channel``, for a chat message; without the channel's name, its id."""
    link = value.get("message_link")
    found = _MESSAGE_LINK.fullmatch(link) if isinstance(link, str) else None
    if found is None:
        return None
    name = next((value[key] for key in ("channel_name", "channel") if _is_name(value.get(key))), "")
    channel = one_line(name).lstrip("#") or found[1]
    return f"Sent a message to {style.link(f'#{channel}', found[0])}"


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


_KINDS: list[Callable[[Mapping[str, Any], Style], str | None]] = [_sent_message]
