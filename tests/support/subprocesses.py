"""Run a few lines of Python in an interpreter of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

TOP = Path(__file__).parent.parent.parent

_SLOW_CALLBACK = re.compile(r"Executing <.*> took [0-9.]+ seconds")


def run_python(source: str, folder: Path = TOP) -> str:
    """Return what ``source`` prints when a fresh interpreter runs it with ``folder`` importable.

    Warnings are errors there. If it fails, so does the calling test, with the text on stderr.
    """
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(source)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def lines_of(stderr: str) -> list[str]:
    """The lines that a program wrote, without what asyncio's debug mode says of a slow machine."""
    return [line for line in stderr.strip().splitlines() if not _SLOW_CALLBACK.fullmatch(line)]
