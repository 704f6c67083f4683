"""Which tools of a server are offered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import lru_cache

__all__ = ["any_pattern", "is_offered"]


def is_offered(tool: str, include: Sequence[str], exclude: Sequence[str]) -> bool:
    """Whether a tool is offered, by its own name.

    Patterns have ``*``, ``?`` and ``[…]``; upper and lower case differ. Without ``include`` every
    tool is in; what ``exclude`` names is out, whatever ``include`` says.
    """
    if include and not any_pattern(tuple(include)).match(tool):
        return False
    return not exclude or not any_pattern(tuple(exclude)).match(tool)


@lru_cache(maxsize=256)
def any_pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return one expression that matches a name whenever one of the patterns does."""
    return re.compile("|".join(map(translate, patterns)))
