"""Only interpreters that run are found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.tools import pythons


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
