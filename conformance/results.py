"""What the parts of the suite report, and how it is summed up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

PASSED = "passed"
FAILED = "failed"
NOT_RUN = "could not run"


@dataclass(frozen=True)
class Row:
    """The outcome of one meeting of the library with a peer."""

    part: str
    name: str
    outcome: str
    detail: str = ""

    def __str__(self) -> str:
        text = f"{self.part:9} {self.outcome:13} {self.name}"
        return f"{text}: {self.detail}" if self.detail else text


def summary(rows: Iterable[Row]) -> str:
    """Return a table of how many rows of each part had which outcome."""
    rows = list(rows)
    lines = [f"{'part':16} {PASSED:>8} {FAILED:>8} {NOT_RUN:>14}"]
    for part in dict.fromkeys(row.part for row in rows):
        counts = [
            sum(row.part == part and row.outcome == outcome for row in rows)
            for outcome in (PASSED, FAILED, NOT_RUN)
        ]
        lines.append("{:16} {:8} {:8} {:14}".format(part, *counts))
    return "\n".join(lines)


def exit_code(rows: Iterable[Row], strict: bool) -> int:
    """Return 1 if anything failed or, when ``strict``, could not run."""
    bad = {FAILED, NOT_RUN} if strict else {FAILED}
    return int(any(row.outcome in bad for row in rows))
