"""Paths where the current folder may be gone, and where this library keeps what is one user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpclient import UsageError
from mcpclient.net.paths import (
    absolute_path,
    bundle_name,
    config_folder,
    home_folder,
    is_bundle,
    state_folder,
)


@pytest.mark.needs_posix
def test_a_folder_that_was_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-2: an absolute path needs none."""
    monkeypatch.chdir(tmp_path)
    assert absolute_path("a") == str(tmp_path / "a")
    tmp_path.rmdir()
    assert absolute_path("/a/../b") == "/b"
    with pytest.raises(UsageError, match="does not exist any more"):
        absolute_path()


@pytest.mark.parametrize(
    ("target", "is_one"),
    [
        ("x.mcpb", True),
        ("/a/b.DXT", True),
        (Path("a b.mcpb"), True),
        ("a b.mcpb", False),
        ("https://x.example/x.mcpb", False),
        ("x.json", False),
        (["x.mcpb"], False),
    ],
)
def test_which_targets_are_bundles(target: object, is_one: bool) -> None:
    """F-MANY-18: by their endings; a command line is none, unless there is such a file."""
    assert is_bundle(target) is is_one


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


@pytest.mark.parametrize(("platform", "environ", "config", "state"), PLACES.values(), ids=PLACES)
def test_folders(platform: str, environ: dict[str, str], config: str, state: str) -> None:
    """F-MANY-7"""
    assert config_folder(environ, platform) == Path(config)
    assert state_folder(environ, platform) == Path(state)


def test_the_home_of_one_who_has_no_variable() -> None:
    """F-MANY-7"""
    assert home_folder({}) == Path.home()
