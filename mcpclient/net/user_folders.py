"""The folders where this library keeps the files of one user."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def home_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the user's own folder, as the environment names it."""
    return _path(_home(environ, platform))


def config_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the folder of the user's settings and credentials."""
    return _path(_folder(environ, platform, "XDG_CONFIG_HOME", ".config"))


def state_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the folder of state that is kept between runs."""
    return _path(state_path(environ, platform=platform))


def state_path(environ: Mapping[str, str], *names: str, platform: str = sys.platform) -> str:
    """Return a path in that folder, without pathlib, which takes as long as a dozen modules."""
    return os.path.join(_folder(environ, platform, "XDG_STATE_HOME", ".local/state"), *names)


def bundle_folder(environ: Mapping[str, str], sha256: str) -> Path:
    """Return the folder that the bundle of this digest is unpacked into."""
    return state_folder(environ) / "bundles" / sha256


def _path(text: str) -> Path:
    from pathlib import Path

    return Path(text)


def _home(environ: Mapping[str, str], platform: str) -> str:
    named = environ.get("USERPROFILE" if platform == "win32" else "HOME")
    return named or os.fspath(_path("~").expanduser())


def _folder(environ: Mapping[str, str], platform: str, variable: str, usual: str) -> str:
    home = _home(environ, platform)
    if platform == "win32":
        base = environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")
    else:
        base = named_folder(environ, variable) or os.path.join(home, usual)
    return os.path.join(base, "mcpclient")


def named_folder(environ: Mapping[str, str], variable: str) -> str:
    """Return the folder that a variable such as XDG_CONFIG_HOME names, or "".

    A relative one does not count, as the XDG specification says: whoever chooses the working
    directory would choose the settings, the approvals and the logins.
    """
    folder = environ.get(variable, "")
    return folder if os.path.isabs(folder) else ""
