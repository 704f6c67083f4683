"""Absolute paths, and the paths of bundles."""

from __future__ import annotations

import os

from ..errors import UsageError


def absolute_path(path: str | os.PathLike[str] = ".") -> str:
    """Return the absolute form of a path.

    Raises `UsageError` where it begins in a folder that is gone, and for a NUL character in it.
    """
    if "\0" in os.fspath(path):
        raise UsageError(f"{os.fspath(path)!r} is not a path: it contains a NUL character")
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        raise UsageError("the current folder does not exist any more") from None


def is_bundle(target: object) -> bool:
    """Return whether a target is the path of a bundle, by its ending."""
    path = os.fspath(target) if isinstance(target, (str, os.PathLike)) else None
    if not isinstance(path, str) or not path.lower().endswith((".mcpb", ".dxt")) or "://" in path:
        return False
    return not isinstance(target, str) or len(path.split()) == 1 or os.path.isfile(path)


def bundle_name(path: str) -> str:
    """Return the name of the server in the bundle at a path: the name of the file."""
    return os.path.splitext(os.path.basename(path))[0]
