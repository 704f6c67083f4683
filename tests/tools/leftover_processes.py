"""List servers of this project that still run: ``python -m tests.tools.leftover_processes``.

Exits with 1 if there are any. A server is a process whose command line names a file under
``tests``, ``conformance`` or ``.peers`` of this checkout, or a module of the first two.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

TOP = Path(__file__).parent.parent.parent
SERVER_FOLDERS = tuple(f"{TOP / folder}{os.sep}" for folder in ("tests", "conformance", ".peers"))
SERVER_MODULES = ("tests.", "conformance.")


@dataclass(frozen=True)
class Process:
    """A running process; ``folder`` is its working directory, or None where that is not told."""

    pid: int
    command: list[str]
    folder: Path | None

    def is_server(self) -> bool:
        """Say whether the command line names a server of this checkout."""
        by_file = any(part.startswith(SERVER_FOLDERS) for part in self.command)
        by_module = self.folder in (TOP, None) and any(
            option == "-m" and module.startswith(SERVER_MODULES)
            for option, module in zip(self.command, self.command[1:])
        )
        return (by_file or by_module) and "pytest" not in self.command


def processes() -> Iterator[Process]:
    """Yield every process that may be seen."""
    for process in psutil.process_iter(["cmdline", "cwd"]):
        command, folder = process.info["cmdline"], process.info["cwd"]
        # A process of another user tells neither; one that has just ended tells no command.
        yield Process(process.pid, command or [], Path(folder) if folder else None)


def main() -> int:
    """Print the leftovers and return the exit code."""
    left = [
        f"  {process.pid}: {' '.join(process.command)}"
        for process in processes()
        if process.is_server() and process.pid != os.getpid()
    ]
    if left:
        print("servers were left running:", *left, sep="\n")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
