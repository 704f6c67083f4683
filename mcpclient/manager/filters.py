"""Filters of tools, by their own names and their servers'."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import lru_cache


def is_offered(tool: str, include: Sequence[str], exclude: Sequence[str]) -> bool:
    """Return whether a tool is offered, by its own name.

    Patterns have ``*``, ``?`` and ``[…]``; upper and lower case differ. Without ``include`` every
    tool is in; what ``exclude`` names is out, whatever ``include`` says.
    """
    if include and not any_pattern(tuple(include)).match(tool):
        return False
    return not exclude or not any_pattern(tuple(exclude)).match(tool)


def fits_pair(pattern: str, server: str, tool: str) -> bool:
    """Return whether ``server/tool`` fits a tool of a server, or ``tool`` that of any server.

    Both are names of the configuration and of the server; the names made for models do not matter.
    A ``*`` never crosses from the server's name into the tool's, and either may contain ``/``.
    """
    if "/" not in pattern:
        return any_pattern((pattern,)).match(tool) is not None
    parts = pattern.split("/")
    return any(
        any_pattern(("/".join(parts[:end]),)).match(server)
        and any_pattern(("/".join(parts[end:]),)).match(tool)
        for end in range(1, len(parts))
    )


@lru_cache(maxsize=256)
def any_pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return one expression that matches a name whenever one of the patterns does."""
    return re.compile("|".join(map(translate, patterns)) or "(?!)")
