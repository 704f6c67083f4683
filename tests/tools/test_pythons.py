"""Only interpreters that run are found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.tools import pythons

CURRENT = "{}.{}".format(*sys.version_info[:2])


def test_the_running_python_is_found() -> None:
    assert pythons.find(CURRENT) == sys.executable


def test_the_running_python_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    pythons.main()
    assert f"{CURRENT} {sys.executable}" in capsys.readouterr().out.splitlines()


@pytest.mark.needs_posix
def test_a_command_that_does_not_run_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version manager's shim exists for versions that are not to be had."""
    shim = tmp_path / "python3.14"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "version_info", (3, 9, 0))
    assert pythons.find("3.14") is None


@pytest.mark.needs_posix
def test_the_newest_patch_release_of_a_version_manager_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyenv").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "pyenv").chmod(0o755)
    for version in ("3.14.9", "3.14.10", "3.14.0rc1"):
        interpreter = tmp_path / "versions" / version / "bin" / "python"
        interpreter.parent.mkdir(parents=True)
        interpreter.write_text("#!/bin/sh\necho 3.14\n")
        interpreter.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setattr(sys, "version_info", (3, 9, 0))
    found = pythons.find("3.14")
    assert found == str(tmp_path / "versions" / "3.14.10" / "bin" / "python")
