"""Absolute paths, and the folders where this library keeps the files of one user."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


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


def home_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the user's own folder, as the environment names it."""
    from pathlib import Path

    named = environ.get("USERPROFILE" if platform == "win32" else "HOME")
    return Path(named) if named else Path.home()


def config_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the folder of the user's settings and credentials."""
    return _folder(environ, platform, "XDG_CONFIG_HOME", ".config")


def state_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the folder of state that is kept between runs."""
    return _folder(environ, platform, "XDG_STATE_HOME", ".local/state")


def bundle_folder(environ: Mapping[str, str], sha256: str) -> Path:
    """Return the folder that the bundle of this digest is unpacked into."""
    return state_folder(environ) / "bundles" / sha256


def _folder(environ: Mapping[str, str], platform: str, variable: str, usual: str) -> Path:
    from pathlib import Path

    home = home_folder(environ, platform)
    if platform == "win32":
        base = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(named_folder(environ, variable) or home / usual)
    return base / "mcpclient"


def named_folder(environ: Mapping[str, str], variable: str) -> str:
    """Return the folder that a variable such as XDG_CONFIG_HOME names, or "".

    A relative one does not count, as the XDG specification says: whoever chooses the working
    directory would choose the settings, the approvals and the logins.
    """
    folder = environ.get(variable, "")
    return folder if os.path.isabs(folder) else ""
