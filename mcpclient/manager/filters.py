"""Which tools of a server are offered."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

__all__ = ["is_offered"]


def is_offered(tool: str, include: Sequence[str], exclude: Sequence[str]) -> bool:
    """Whether a tool is offered, by its own name.

    Patterns have ``*``, ``?`` and ``[…]``; upper and lower case differ. Without ``include`` every
    tool is in; what ``exclude`` names is out, whatever ``include`` says.
    """
    if include and not any(fnmatchcase(tool, each) for each in include):
        return False
    return not any(fnmatchcase(tool, each) for each in exclude)
