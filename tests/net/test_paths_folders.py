"""Where this library keeps what belongs to one user."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpclient.net.paths import config_folder, home_folder, state_folder

PLACES = {
    "linux": ("linux", {"HOME": "/h"}, "/h/.config/mcpclient", "/h/.local/state/mcpclient"),
    "linux, told otherwise": (
        "linux",
        {"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"},
        "/c/mcpclient",
        "/s/mcpclient",
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


@pytest.mark.parametrize(("platform", "environ", "config", "state"), PLACES.values(), ids=PLACES)
def test_folders(platform: str, environ: dict[str, str], config: str, state: str) -> None:
    """F-MANY-7"""
    assert config_folder(environ, platform) == Path(config)
    assert state_folder(environ, platform) == Path(state)


def test_the_home_of_one_who_has_no_variable() -> None:
    """F-MANY-7"""
    assert home_folder({}) == Path.home()
