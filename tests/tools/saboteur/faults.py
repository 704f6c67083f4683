"""The faults: small edits of the source that a hurried hand could make, in ``faults.txt``.

A module, relative to the package, stands in brackets before its faults. Each says what it breaks,
then the text that stands once in the module, a ``-`` before each line, and what takes its place, a
``+`` before each. The first part holds those that a server can see, the second any others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple


class Fault(NamedTuple):
    """One edit. ``old`` stands once in the module, whose name is relative to the package."""

    module: str
    breaks: str
    old: str
    new: str


def _read(lines: Sequence[str]) -> Iterator[Fault]:
    module, breaks = "", ""
    old: list[str] = []
    new: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("["):
            module = line.strip("[]")
        elif line.startswith("-"):
            old.append(line[1:])
        elif line.startswith("+"):
            new.append(line[1:])
        elif line:
            breaks = line
        elif old:
            yield Fault(module, breaks, "\n".join(old), "\n".join(new))
            old, new = [], []


_TEXT = Path(__file__).with_name("faults.txt").read_text("utf-8")
_, _seen, _others = re.split("^# ", _TEXT, flags=re.MULTILINE)
VISIBLE, OTHERS = (list(_read(part.splitlines()[1:])) for part in (_seen, _others))
