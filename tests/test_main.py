"""``python -m mcpclient``."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mcpclient import __main__, __version__
from tests.support.subprocesses import TOP


def test_the_console_script_is_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """F-SHOW-1: pyproject.toml names ``mcpclient.__main__:main``."""
    monkeypatch.setattr(sys, "argv", ["mcpclient", "--version"])
    assert __main__.main() == 0
    assert capsys.readouterr().out == f"mcpclient {__version__}\n"
    monkeypatch.setattr(sys, "argv", ["mcpclient", "verify"])
    assert __main__.main() == 2
    assert "is not a vendored copy" in capsys.readouterr().err


def test_the_package_runs_as_a_program() -> None:
    """F-SHOW-1"""
    command = [sys.executable, "-W", "error", "-m", "mcpclient", "--version"]
    finished = subprocess.run(
        command, cwd=TOP, capture_output=True, text=True, timeout=60, check=False
    )
    assert (finished.returncode, finished.stdout) == (0, f"mcpclient {__version__}\n")


def test_the_exit_code_is_passed_on() -> None:
    """F-SHOW-2"""
    command = [sys.executable, "-m", "mcpclient", "tools"]
    finished = subprocess.run(command, cwd=TOP, capture_output=True, timeout=60, check=False)
    assert finished.returncode == 2
