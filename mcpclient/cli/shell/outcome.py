"""What a line of the shell came to."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ...framing.escaping import escape
from ...protocol.types import CallToolResult
from ..command import Answer
from ..commands import FAILED
from ..render import pretty_json
from ..results import media_in
from .expectations import plain


@dataclass(frozen=True)
class Outcome:
    """``exit_code``: as of the command line, 0 where all went well. ``text``: what to show."""

    exit_code: int
    text: str


@dataclass(frozen=True)
class Finding:
    """What a command found.

    ``text``: for people, safe for a terminal. ``content``: what a file or a program gets instead.
    ``value``: what `_` is from now on; None leaves it as it was.
    """

    text: str = ""
    content: bytes | None = None
    value: Any = None
    exit_code: int = 0

    @property
    def as_bytes(self) -> bytes:
        """What ``>`` writes and ``|`` hands on."""
        if self.content is not None:
            return self.content
        return f"{self.text}\n".encode("utf-8", "surrogatepass") if self.text else b""


def found_by(answer: Answer, value: Any) -> Finding:
    """Return what a command of the command line found, with ``value`` for `_`."""
    content = answer.content
    if content is None and isinstance(value, CallToolResult):
        content = _content_of(value)
    code = FAILED if answer.failed else answer.exit_code
    return Finding(answer.shown_text, content, value, code)


def _content_of(result: CallToolResult) -> bytes | None:
    """Return the data of a result, as a program reads it.

    That is JSON where there is any, the bytes of the only picture, sound or file, or all text.
    """
    if result.structured is not None:
        return _json_line(result.structured)
    media = list(media_in(result))
    if len(media) == 1:
        return media[0]
    return f"{result.text}\n".encode("utf-8", "surrogatepass") if result.text else None


def found_part(part: Any) -> Finding:
    """Return a part of the last result, which stays the last result."""
    if isinstance(part, str):
        return Finding(escape(part), f"{part}\n".encode("utf-8", "surrogatepass"))
    if isinstance(part, (bytes, bytearray)):
        return Finding(f"{len(part)} bytes; write them to a file with: > FILE", bytes(part))
    value = plain(part)
    return Finding(pretty_json(value), _json_line(value))


def _json_line(value: Any) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
