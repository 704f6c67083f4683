"""Paths where the current folder may be gone. Apart, since every client needs it, and no more."""

from __future__ import annotations

import os

from ..errors import UsageError


def absolute_path(path: str | os.PathLike[str] = ".") -> str:
    """Return a path from the root.

    Raises `UsageError` where it begins in a folder that is gone, and for a NUL character in it.
    """
    if "\0" in os.fspath(path):
        raise UsageError(f"{os.fspath(path)!r} is not a path: it contains a NUL character")
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        raise UsageError("the current folder does not exist any more") from None
