"""Find the supported Pythons of this machine: ``python -m tests.tools.pythons`` prints them.

One line per version, oldest first: the version, a space, the path of the interpreter. Only the
standard library is used, and nothing newer than Python 3.9.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SUPPORTED = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")

_REPORT_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


def find(version: str) -> str | None:
    """Return the path of an interpreter of ``version`` (``"3.12"``) that works, or None."""
    return next((path for path in _candidates(version) if _version_of(path) == version), None)


def _candidates(version: str) -> Iterator[str]:
    if version == "{}.{}".format(*sys.version_info[:2]):
        yield sys.executable
    on_path = shutil.which(f"python{version}")
    if on_path:
        yield on_path
    for folder in sorted(_pyenv_versions(version), key=_patch_level, reverse=True):
        yield str(folder / "bin" / "python")
    default = shutil.which("python3")
    if default:
        yield default


def _pyenv_versions(version: str) -> list[Path]:
    if not shutil.which("pyenv"):
        return []
    root = os.environ.get("PYENV_ROOT") or _output_of(["pyenv", "root"])
    return list(Path(root, "versions").glob(f"{version}.*")) if root else []


def _patch_level(folder: Path) -> int:
    digits = folder.name.rpartition(".")[2]
    return int(digits) if digits.isdecimal() else -1  # a pre-release such as 3.14.0rc1


def _version_of(interpreter: str) -> str | None:
    return _output_of([interpreter, "-c", _REPORT_VERSION])


def _output_of(command: list[str]) -> str | None:
    """Return the output of a command, or None if it fails: a pyenv shim may lead nowhere."""
    try:
        answer = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()


def main() -> None:
    found = [(version, find(version)) for version in SUPPORTED]
    for version, path in found:
        if path:
            print(version, path)


if __name__ == "__main__":
    main()
