"""The hook by which PyInstaller finds the modules and pages that are loaded when first used."""

from __future__ import annotations

import os


def get_hook_dirs() -> list[str]:
    """Return the folder of the hook, as the entry point ``pyinstaller40`` is asked for it."""
    return [os.path.dirname(__file__)]
