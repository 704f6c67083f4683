"""The file that a program's name stands for, and the links to it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcpclient.net.process.programs import links_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs the links of POSIX")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "real-program"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_link_that_is_gone_meanwhile(
    tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-MANY-9"""
    (tmp_path / "alias").symlink_to(program)

    def gone(path: str) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "readlink", gone)
    assert links_of("alias", str(tmp_path)) == []
