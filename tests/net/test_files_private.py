"""Files and folders for their owner alone; for Windows see test_windows_rights."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from mcpclient.net import files
from mcpclient.net.files import make_private, make_private_folder

pytestmark = pytest.mark.needs_posix


def test_a_file_that_others_could_read(tmp_path: Path) -> None:
    """F-AUTH-9, F-AUTH-12"""
    path = tmp_path / "file"
    path.touch(0o644)
    make_private(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_folders_that_are_not_there_yet(tmp_path: Path) -> None:
    """F-AUTH-9: what exists belongs to whoever made it."""
    there = tmp_path / "there"
    there.mkdir(0o755)
    make_private_folder(there / "a" / "b")
    make_private_folder(there / "a" / "b")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (there, there / "a", there / "a" / "b")]
    assert modes == [0o755, 0o700, 0o700]


def test_a_file_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-9: it is given a list of rights, since modes mean nothing there."""
    given: list[object] = []
    stand_ins = {"take_from_others": lambda *words: given.append(words), "windows_calls": str}
    for name, function in stand_ins.items():
        monkeypatch.setattr(files, name, function, raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    make_private(Path("a file"))
    monkeypatch.undo()
    assert given == [("a file", "")]
