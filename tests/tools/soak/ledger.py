"""The executed calls, as the servers saw it, and whether that fits the client's view."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from .watch import Violations


class Ledger:
    """The file of one round. Servers append a line for each execution, the last before they die."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._succeeded: set[str] = set()

    def succeeded(self, token: str) -> None:
        """Note that the client was given the result of this call."""
        self._succeeded.add(token)

    def check(self, violations: Violations) -> int:
        """Compare, when all servers have ended. Returns the number of executions."""
        text = self.path.read_text() if self.path.exists() else ""
        executed = Counter(text.split())
        for token, times in executed.items():
            if times > 1:
                violations.add(f"call {token} was executed {times} times")
        for token in self._succeeded - executed.keys():
            violations.add(f"call {token} succeeded, but was never executed")
        self._succeeded.clear()
        if text:
            os.unlink(self.path)
        return sum(executed.values())
