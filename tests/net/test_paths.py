"""Paths where the current folder may be gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpclient import UsageError
from mcpclient.net.paths import absolute_path


@pytest.mark.needs_posix
def test_a_folder_that_was_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-2: an absolute path needs none."""
    monkeypatch.chdir(tmp_path)
    assert absolute_path("a") == str(tmp_path / "a")
    tmp_path.rmdir()
    assert absolute_path("/a/../b") == "/b"
    with pytest.raises(UsageError, match="does not exist any more"):
        absolute_path()
