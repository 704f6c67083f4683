"""``python -m mcpclient``."""

from __future__ import annotations

import subprocess
import sys

from mcpclient import __main__, __version__
from mcpclient.cli.main import main
from tests.support.subprocesses import TOP


def test_the_console_script_is_the_command_line() -> None:
    """F-SHOW-1: pyproject.toml names ``mcpclient.__main__:main``."""
    assert __main__.main is main


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
