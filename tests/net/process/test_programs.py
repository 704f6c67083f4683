"""Which file a program's name stands for, and through which links."""

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


def test_a_name_leads_through_links_to_the_file(tmp_path: Path, program: Path) -> None:
    """F-MANY-9: a link does not hide which program it is."""
    (tmp_path / "middle").symlink_to("real-program")
    (tmp_path / "alias").symlink_to(tmp_path / "middle")
    real = os.path.realpath(program)
    expected = [str(tmp_path / "alias"), str(tmp_path / "middle"), str(program)]
    assert links_of("alias", str(tmp_path)) == list(dict.fromkeys([*expected, real]))
    assert links_of(str(tmp_path / "alias"))[-1] == real


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    """F-MANY-9"""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert links_of("missing", str(tmp_path)) == []
    assert links_of("loop", str(tmp_path)) == []
    assert links_of("a\0b", str(tmp_path)) == []
    assert links_of("", str(tmp_path)) == []


def test_a_link_that_is_gone_meanwhile(
    tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-MANY-9"""
    (tmp_path / "alias").symlink_to(program)

    def gone(path: str) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "readlink", gone)
    assert links_of("alias", str(tmp_path)) == []
