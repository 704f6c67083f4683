"""``python -m mcpclient``."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from mcpclient import __main__, __version__
from tests.support.subprocesses import TOP, run_python


@pytest.fixture(autouse=True)
def _collector_as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


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


def test_a_command_ends_without_a_search_for_garbage() -> None:
    """F-PACK-3: at its end the collector has nothing to look through; before, it works as ever."""
    source = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print(gc.isenabled(), gc.get_freeze_count() > 1000))\n"
        "from mcpclient.__main__ import main\n"
        "sys.argv = ['mcpclient', '--version']\n"
        "main()\n"
        "print(gc.get_freeze_count())\n"
    )
    printed = run_python(source).splitlines()
    assert printed[1:] == ["0", "True True"]


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
