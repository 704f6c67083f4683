"""What a command of the shell is."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Callable

from ...errors import UsageError
from .outcome import Finding
from .session import Session
from .words import Word


@dataclass(frozen=True)
class Builtin:
    """A command of the shell. ``usage``: its words, ``summary``: what it does; both for ``help``.

    ``run`` takes the words behind its name. ``most`` and ``least``: how many there may be, None for
    any number. ``details``: more for ``help NAME``.
    """

    name: str
    usage: str
    summary: str
    run: Callable[[Session, Sequence[Word]], Awaitable[Finding]]
    least: int = 0
    most: int | None = 0
    details: str = ""

    def check(self, words: Sequence[Word]) -> None:
        """Raise `UsageError` for too few words, or too many."""
        if len(words) < self.least or (self.most is not None and len(words) > self.most):
            raise UsageError(f"usage: {self.name} {self.usage}".rstrip())
