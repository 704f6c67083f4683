"""The folders where this library keeps the files of one user."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def home_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the user's own folder, as the environment names it."""
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
