"""What is wrong with a configuration, as values that name the place and the cure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..framing.escaping import escape_line

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in a configuration.

    ``severity``: with an ``"error"`` the server (or the file) is left out; with a ``"warning"`` it
    is used all the same. ``file`` is the path as it was found; ``line`` counts from 1. ``server``
    and ``field`` are None where the problem is the file's. ``hint`` says what to do; it may be
    empty. The texts never hold the value of a variable, nor of a header. ``str()`` is one line,
    without control characters.
    """

    severity: Severity
    message: str
    file: str
    line: int | None = None
    server: str | None = None
    field: str | None = None
    hint: str = ""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        named = ".".join(part for part in (self.server, self.field) if part)
        text = f"{place}: {self.severity}: {named + ': ' if named else ''}{self.message}"
        return escape_line(f"{text} ({self.hint})" if self.hint else text)
