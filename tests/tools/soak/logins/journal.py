"""The events of the logins, in order, in one file that survives whoever writes into it.

A line has a verb, a user, a number and who wrote it. The authorization server is written by
``server``, the clients by ``client-`` and their number:

- ``issued`` and ``rotated``: the server made the user's refresh token with that number, for a code
  or for the token that ``used`` named just before. It comes before the answer.
- ``refused``: the server was sent a refresh token with that number, which no longer counts.
- ``asked``: a client asked the user to log in. ``saved``: it has stored the token of that number.
- ``locked``, ``unlocked``: a client holds the lock on the user's login.
- ``disturbed``: a process is about to be killed, or something else goes wrong on purpose; what it
  is stands in the place of the user.
- ``wrong``: something that must not happen, in the place of the user.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class Line(NamedTuple):
    """One thing that happened."""

    verb: str
    user: str
    number: int
    writer: str


class Journal:
    """The file, for one writer."""

    def __init__(self, path: Path, writer: str) -> None:
        self.path = path
        self._writer = writer
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, verb: str, user: str, number: int = 0) -> None:
        """Add a line: one write, which is whole even when the writer is killed."""
        words = user.replace(" ", "_").replace("\n", "_")
        os.write(self._file, f"{verb} {words} {number} {self._writer}\n".encode())

    def close(self) -> None:
        os.close(self._file)

    def lines(self) -> list[Line]:
        """Return all there is."""
        return [
            Line(verb, user, int(number), writer)
            for verb, user, number, writer in map(str.split, self.path.read_text().splitlines())
        ]


class Tokens:
    """The refresh tokens of each user that count, after the lines of a journal.

    ``strict``: a token counts until it is used. Otherwise until its successor is used, so that an
    answer that is lost on its way can be asked for again.
    """

    def __init__(self, strict: bool) -> None:
        self.valid: dict[str, tuple[int, ...]] = {}
        self._strict = strict
        self._last: dict[str, int] = {}
        self._used: dict[str, int] = {}

    def take(self, line: Line) -> None:
        """Follow the journal."""
        if line.verb == "used":
            self._used[line.user] = line.number
        elif line.verb in ("issued", "rotated"):
            self._last[line.user] = line.number
            kept: tuple[int, ...] = ()
            if not self._strict and line.verb == "rotated":
                # One that was made for the same token counts as well: a client may be killed, and
                # what it has sent be read when another one has its successor already.
                used = self._used[line.user]
                kept = tuple(each for each in self.valid.get(line.user, ()) if each >= used)
            self.valid[line.user] = (*kept, line.number)

    def next(self, user: str) -> int:
        """Return the number of the user's next token."""
        return self._last.get(user, 0) + 1
