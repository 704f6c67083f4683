"""F-MANY-7: where the files stand."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from mcpclient.config.scopes import (
    FoundConfig,
    Place,
    application_places,
    discover_configs,
    enterprise_place,
    places_of,
)
from mcpclient.errors import UsageError


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "USERPROFILE": str(tmp_path / "home")}


def test_the_files_of_plugins(tmp_path: Path, environ: dict[str, str]) -> None:
    assert places_of("plugin", ".", environ, "linux") == []
    plugins = tmp_path / "home" / ".config" / "mcpclient" / "plugins"
    for name in ("b", "a"):
        (plugins / name).mkdir(parents=True)
    assert [place.path for place in places_of("plugin", ".", environ, "linux")] == [
        str(plugins / "a" / ".mcp.json"),
        str(plugins / "b" / ".mcp.json"),
    ]


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32", "freebsd"])
def test_where_the_enterprise_has_its_file(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-MANY-7: its path on each platform."""
    looked_at: list[str] = []

    def lstat(path: str) -> os.stat_result:
        looked_at.append(path)
        raise FileNotFoundError

    monkeypatch.setattr(os, "lstat", lstat)
    assert enterprise_place(platform=platform) is None
    assert all(path.endswith("managed-mcp.json") for path in looked_at)
    assert "mcpclient" in looked_at[0]
    assert "claude" in looked_at[-1].lower()

    def forbidden(path: str) -> os.stat_result:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(os, "lstat", forbidden)
    assert enterprise_place(platform=platform) == Place(looked_at[0], "enterprise")


def test_files_of_applications_are_found(tmp_path: Path, environ: dict[str, str]) -> None:
    """F-MANY-7: servers of applications on this machine can be found and named."""
    cursor, vscode = tmp_path / "home" / ".cursor", tmp_path / "p" / ".vscode"
    for folder in (cursor, vscode):
        folder.mkdir(parents=True)
        (folder / "mcp.json").write_text("{")
    project = tmp_path / "p"
    expected = [
        FoundConfig("cursor", str(cursor / "mcp.json"), "user"),
        FoundConfig("vscode", str(vscode / "mcp.json"), "project"),
    ]
    assert discover_configs(start=project, env=environ) == expected
    assert discover_configs(apps=["vscode"], start=project, env=environ) == expected[1:]
    assert discover_configs(apps=[], start=project, env=environ) == []
    with pytest.raises(UsageError, match=r"'vs-code'; did you mean 'vscode'\?"):
        discover_configs(apps=["vs-code"])
    assert isinstance(discover_configs(), list)


def test_the_folder_of_settings_may_be_elsewhere() -> None:
    """F-MANY-7: where the user has said so, on Linux."""
    environ = {"HOME": "/h", "XDG_CONFIG_HOME": "/c"}
    paths = {place.path for place in application_places(".", environ, "linux")}
    assert os.path.normpath("/c/Claude/claude_desktop_config.json") in paths
    assert os.path.normpath("/h/.codex/config.toml") in paths


@pytest.mark.parametrize(
    ("platform", "data"),
    [
        ("linux", "/h/.config"),
        ("darwin", "/h/Library/Application Support"),
        ("win32", "/h/AppData/Roaming"),
    ],
)
def test_the_folder_of_application_data(platform: str, data: str) -> None:
    environ = {"HOME": "/h", "USERPROFILE": "/h"}
    paths = {place.path for place in application_places(".", environ, platform)}
    assert os.path.normpath(f"{data}/Claude/claude_desktop_config.json") in paths
    assert os.path.normpath("/h/.codex/config.toml") in paths
