"""Calls under names of their own: ``save NAME LINE`` and ``run NAME``."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from ...errors import UsageError
from .words import split_words

__all__ = ["SavedLines"]


class SavedLines:
    """Lines by name, for as long as the shell lasts."""

    def __init__(self) -> None:
        self._lines: dict[str, str] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __getitem__(self, name: str) -> str:
        return self._lines[name]

    def take(self, line: str) -> bool:
        """Keep what a line that begins with ``save`` says; False when it is another line.

        Raises `UsageError` when there is no name or nothing to save.
        """
        words = split_words(line)
        if not words or words[0].typed != "save":
            return False
        if len(words) < 3:
            raise UsageError("usage: save NAME COMMAND [WORD ...]")
        self._lines[words[1].text] = line[words[2].start :].strip()
        return True

    def expand(self, line: str) -> str:
        """Return the line that is meant by one that begins with ``run``; any other as it is.

        Raises `UsageError` for a name under which nothing is saved, and for a line that means
        itself.
        """
        seen: set[str] = set()
        while True:
            words = split_words(line, unfinished=True)
            if not words or words[0].typed != "run":
                return line
            if len(words) != 2:
                raise UsageError("usage: run NAME")
            line = self._find(words[1].text)
            if words[1].text in seen:
                raise UsageError(f"{words[1].text!r} runs itself")
            seen.add(words[1].text)

    def _find(self, name: str) -> str:
        if name in self._lines:
            return self._lines[name]
        similar = difflib.get_close_matches(name, self._lines, n=1)
        names = ", ".join(self._lines) or "none yet"
        hint = f"did you mean {similar[0]!r}?" if similar else f"there is: {names}"
        raise UsageError(f"nothing is saved as {name!r}; {hint}")
