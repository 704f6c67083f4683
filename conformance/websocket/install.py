"""Install the Autobahn testsuite, once, into an environment of CPython 2.7."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from conformance.peers import INSTALLED
from conformance.peers.install import CannotInstall
from tests.tooling import pythons

REQUIREMENTS = Path(__file__).with_name("requirements-autobahn.txt")
ENVIRONMENT = INSTALLED / "autobahn"

# The last release that makes environments of Python 2.7; it runs on 2.7 itself.
VIRTUALENV = "virtualenv==20.15.1"


def install() -> Path:
    """Return the program ``wstest``, installed if need be.

    Raises `CannotInstall` if there is no Python 2.7, or when pip fails.
    """
    program = ENVIRONMENT / "bin" / "wstest"
    stamp = ENVIRONMENT / ".installed"
    pins = REQUIREMENTS.read_text("utf-8")
    if stamp.exists() and stamp.read_text("utf-8") == pins:
        return program
    base = pythons.find("2.7")
    if base is None:
        raise CannotInstall("Python 2.7 was not found, neither on PATH nor in pyenv")
    tools = INSTALLED / "virtualenv-2.7"
    for folder in (ENVIRONMENT, tools):
        shutil.rmtree(folder, ignore_errors=True)
    _run(base, "-m", "pip", "install", "--quiet", "--target", str(tools), VIRTUALENV)
    _run(base, "-m", "virtualenv", "--quiet", str(ENVIRONMENT), PYTHONPATH=str(tools))
    pip = str(ENVIRONMENT / "bin" / "pip")
    _run(pip, "install", "--quiet", "--requirement", str(REQUIREMENTS))
    stamp.write_text(pins, "utf-8")
    return program


def _run(*command: str, **variables: str) -> None:
    finished = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **variables}
    )
    if finished.returncode:
        output = (finished.stderr or finished.stdout).strip()
        raise CannotInstall(f"{' '.join(command)} failed:\n{output[-2000:]}")
