"""Paths where the current folder may be gone, and the folders for the files of one user."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpclient.net.paths import bundle_name, is_bundle
from mcpclient.net.user_folders import config_folder, state_folder
from tests.support.tables import each_row


def test_a_bundle_with_a_space_in_its_name(tmp_path: Path) -> None:
    """F-MANY-18"""
    path = tmp_path / "a b.mcpb"
    path.touch()
    assert is_bundle(str(path))
    assert bundle_name(str(path)) == "a b"


PLACES = {
    "linux": ("linux", {"HOME": "/h"}, "/h/.config/mcpclient", "/h/.local/state/mcpclient"),
    "linux, told otherwise": (
        "linux",
        {"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"},
        "/c/mcpclient",
        "/s/mcpclient",
    ),
    "linux, told by whoever chose the working directory": (
        "linux",
        {"HOME": "/h", "XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "./s"},
        "/h/.config/mcpclient",
        "/h/.local/state/mcpclient",
    ),
    "macOS": (
        "darwin",
        {"HOME": "/h"},
        "/h/Library/Application Support/mcpclient",
        "/h/Library/Application Support/mcpclient",
    ),
    "Windows": ("win32", {"LOCALAPPDATA": "/l"}, "/l/mcpclient", "/l/mcpclient"),
    "Windows, told little": (
        "win32",
        {"USERPROFILE": "/u"},
        "/u/AppData/Local/mcpclient",
        "/u/AppData/Local/mcpclient",
    ),
}


@pytest.mark.needs_posix  # where "/c" is a whole path
@each_row(("platform", "environ", "config", "state"), PLACES.values())
def test_folders(platform: str, environ: dict[str, str], config: str, state: str) -> None:
    """F-MANY-7"""
    assert config_folder(environ, platform) == Path(config)
    assert state_folder(environ, platform) == Path(state)
