"""Files and folders for their owner alone: by their modes, and on Windows by lists of rights."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform == "win32":
    from .windows_rights import take_from_others, windows_security


def make_private(path: str | os.PathLike[str]) -> None:
    """Take a file from everybody but its owner: mode 0600. Raises `OSError` if it is another's.

    On Windows the administrators and the system keep their rights; where the file system knows
    none, such as on a memory stick, nothing happens.
    """
    if sys.platform == "win32":
        take_from_others(os.fspath(path), windows_security())
    else:
        os.chmod(path, 0o600)


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those it lies in, for the owner alone; what exists stays as it is."""
    if not folder.exists():
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
