"""The entry point of ``mcpclient COMMAND …``, which imports as little as possible.

Starting up is a feature: ``--version`` and ``--help`` import this module and a small one or two,
and a command imports what it needs.
"""

from __future__ import annotations

import sys
from importlib import import_module

from .. import __version__
from .commands import CANCELLED, USAGE, overview
from .streams import write_to

TYPE_CHECKING = False  # see mcpclient/__init__.py
if TYPE_CHECKING:
    from typing import Any


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code.

    ``argv``: the words after the program's name, by default those of this process. ``--help`` of a
    command raises SystemExit.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["--version"]:
        return _print(f"mcpclient {__version__}\n")
    if not words or words[0] in ("--help", "-h"):
        return _print(overview())
    try:
        code: int = _module("running").run(words)
    except KeyboardInterrupt:  # while that was still being imported
        return CANCELLED
    return code


def _module(name: str) -> Any:
    return import_module(f".{name}", __package__)


def _print(text: str) -> int:
    failure = write_to(sys.stdout, text)
    if failure is None:
        return 0
    write_to(sys.stderr, f"error: cannot write to stdout: {failure}\n")
    return USAGE
