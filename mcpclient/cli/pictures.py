"""Images in the terminals that can show them.

Sources: iTerm2, "Inline Images Protocol"; kitty, "Terminal graphics protocol" (PNG only).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from ..protocol.types import ImageContent

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
    """Return what shows an image; "" for one that is too large, or of no kind that is shown."""
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
