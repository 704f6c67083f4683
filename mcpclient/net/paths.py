"""Absolute paths, and the paths of bundles."""

from __future__ import annotations

import os

from ..errors import UsageError


def absolute_path(path: str | os.PathLike[str] = ".") -> str:
    """Return the absolute form of a path.

    Raises `UsageError` where it begins in a folder that is gone, and for one that no system has.
    """
    reason = unfit_for_system(os.fspath(path))
    if reason:
        raise UsageError(f"{os.fspath(path)!a} is not a path: it contains {reason}")
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        raise UsageError("the current folder does not exist any more") from None


def with_home(path: str) -> str:
    """Return a path with the folder that a ``~`` stands for; as it is, where it stands for none."""
    try:
        return os.path.expanduser(path)
    except ValueError:  # no user has a name with a NUL character, or with half a character
        return path


def unfit_for_system(text: str) -> str:
    """Return what keeps a string from being a path, an argument or a variable; "" for nothing."""
    if "\0" in text:
        return "a NUL character"
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return "half a character"
    return ""


def is_bundle(target: object) -> bool:
    """Return whether a target is the path of a bundle, by its ending."""
    path = os.fspath(target) if isinstance(target, (str, os.PathLike)) else None
    if not isinstance(path, str) or not path.lower().endswith((".mcpb", ".dxt")) or "://" in path:
        return False
    return not isinstance(target, str) or len(path.split()) == 1 or os.path.isfile(path)


def bundle_name(path: str) -> str:
    """Return the name of the server in the bundle at a path: the name of the file."""
    return os.path.splitext(os.path.basename(path))[0]
