"""Results of kinds that everybody knows, in one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from .render import Style, one_line

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
