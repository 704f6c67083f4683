"""Install the Autobahn testsuite, once, into an environment of CPython 2.7."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from conformance.peers import INSTALLED
from conformance.peers.install import CannotInstall
from tests.tools import pythons

REQUIREMENTS = Path(__file__).with_name("requirements-autobahn.txt")
ENVIRONMENT = INSTALLED / "autobahn"

# The last release that makes environments of Python 2.7; it runs on 2.7 itself.
VIRTUALENV = "virtualenv==20.15.1"


PROGRAM = ENVIRONMENT / "bin" / "wstest"

_STAMP = ENVIRONMENT / ".installed"
_QUIETLY = ("--quiet", "--retries", "2", "--disable-pip-version-check")


def is_installed() -> bool:
    """Say whether the suite is there, from the pins as they are now."""
    return _STAMP.exists() and _STAMP.read_text("utf-8") == REQUIREMENTS.read_text("utf-8")


def install() -> None:
    """Install the program ``wstest`` as `PROGRAM`, if need be.

    Raises `CannotInstall` if there is no Python 2.7, or when pip fails.
    """
    if is_installed():
        return
    base = pythons.find("2.7")
    if base is None:
        raise CannotInstall("Python 2.7 was not found, neither on PATH nor in pyenv")
    tools = INSTALLED / "virtualenv-2.7"
    for folder in (ENVIRONMENT, tools):
        shutil.rmtree(folder, ignore_errors=True)
    _run(base, "-m", "pip", "install", *_QUIETLY, "--target", str(tools), VIRTUALENV)
    _run(base, "-m", "virtualenv", "--quiet", str(ENVIRONMENT), PYTHONPATH=str(tools))
    pip = str(ENVIRONMENT / "bin" / "pip")
    _run(pip, "install", *_QUIETLY, "--requirement", str(REQUIREMENTS))
    _STAMP.write_text(REQUIREMENTS.read_text("utf-8"), "utf-8")


def _run(*command: str, **variables: str) -> None:
    finished = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **variables}
    )
    if finished.returncode:
        output = (finished.stderr or finished.stdout).strip()
        raise CannotInstall(f"{' '.join(command)} failed:\n{output[-2000:]}")
