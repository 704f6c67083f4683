"""Where this library keeps what belongs to one user, on each platform."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path


def home_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the user's own folder, as the environment names it."""
    named = environ.get("USERPROFILE" if platform == "win32" else "HOME")
    return Path(named) if named else Path.home()


def config_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return where the user's settings and credentials stand."""
    return _folder(environ, platform, "XDG_CONFIG_HOME", Path(".config"))


def state_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return where is remembered what was learned or decided in earlier runs."""
    return _folder(environ, platform, "XDG_STATE_HOME", Path(".local", "state"))


def _folder(environ: Mapping[str, str], platform: str, variable: str, usual: Path) -> Path:
    home = home_folder(environ, platform)
    if platform == "win32":
        base = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(environ.get(variable) or home / usual)
    return base / "mcpclient"
