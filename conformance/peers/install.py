"""Install environments, each once: one that is complete and has the same pins is left alone."""

from __future__ import annotations

import shutil
import subprocess

from conformance import peers
from tests.tooling import pythons


class CannotInstall(Exception):
    """Something that the machine lacks; the text says what."""


def install(environment: str) -> bool:
    """Install one environment and return whether there was anything to do.

    Raises `CannotInstall` when an interpreter is missing, or when pip or npm fails.
    """
    if peers.is_installed(environment):
        return False
    folder = peers.INSTALLED / environment
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if environment.startswith("node-"):
        _install_node(environment)
        peers.node.cache_clear()
    else:
        _install_python(environment)
    peers.stamp(environment).write_text(peers.pins(environment), "utf-8")
    return True


def _install_node(environment: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise CannotInstall("npm (Node.js) is not on PATH")
    folder = peers.INSTALLED / environment
    for name in ("package.json", "package-lock.json"):
        shutil.copy(peers.PINS / environment / name, folder / name)
    _run(npm, "ci", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", str(folder))


def _install_python(environment: str) -> None:
    base = next(filter(None, map(pythons.find, peers.PYTHONS)), None)
    if base is None:
        raise CannotInstall(f"none of Python {', '.join(sorted(peers.PYTHONS))} was found")
    requirements = peers.PINS / "python" / f"{environment}.txt"
    _run(base, "-m", "venv", str(peers.INSTALLED / environment))
    own = str(peers.interpreter(environment))
    _run(own, "-m", "pip", "install", "--quiet", "-r", str(requirements))


def _run(*command: str) -> None:
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        output = (finished.stderr or finished.stdout).strip()
        raise CannotInstall(f"{' '.join(command)} failed:\n{output[-2000:]}")
