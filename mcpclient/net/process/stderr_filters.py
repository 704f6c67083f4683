"""What of a server's stderr is not shown: the same output of a second start, and what it writes
about a request that only this client makes.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from .stderr import StderrTarget, sink

# How much of what the first start has written is kept to be compared.
_KEPT = 64 * 1024

# Times, process ids, ports and addresses differ from start to start.
_NUMBER = re.compile(rb"[0-9a-fA-F]*[0-9][0-9a-fA-F]*")

# A server writes what it thinks of a request just before it refuses it, in one piece, which may
# name the request only in its third line. One that says nothing to the client is waited for.
_DECIDED_WITHIN = 10.0
_LINES_BEFORE = 2
_TRACEBACK = b"Traceback (most recent call last)"


class FirstStart:
    """A target that passes on everything to another, and keeps its beginning."""

    def __init__(self, target: StderrTarget) -> None:
        self.target = target
        self.written: bytearray = bytearray()
        self._pass_on = sink(target)

    def write(self, data: bytes) -> None:
        """Take a chunk; text is refused, which tells `StderrTee` to give bytes."""
        if isinstance(data, str):
            raise TypeError("bytes are needed")
        self.written += data[: _KEPT - len(self.written)]
        self._pass_on(data)


class SecondStart:
    """A target that passes on what the second start writes from the first new line on.

    A line is new that differs from the same line of the first start in more than its numbers.
    """

    def __init__(self, first: FirstStart) -> None:
        self._known = iter(bytes(first.written).splitlines())
        self._pass_on: Callable[[bytes], None] = sink(first.target)
        self._is_new = False
        self._unfinished = b""

    def write(self, data: bytes) -> None:
        """Take a chunk; an empty one says that the stream has ended. Text is refused."""
        if isinstance(data, str):
            raise TypeError("bytes are needed")
        if not self._is_new:
            data = self._without_known_lines(self._unfinished + data, at_end=not data)
            if not self._is_new:
                return
        self._pass_on(data)

    def _without_known_lines(self, data: bytes, *, at_end: bool) -> bytes:
        lines = data.splitlines(keepends=True)
        whole = len(lines) if at_end or data.endswith(b"\n") else max(len(lines) - 1, 0)
        for index, line in enumerate(lines[:whole]):
            if not _is_alike(line.rstrip(b"\r\n"), next(self._known, None)):
                self._is_new = True
                return b"".join(lines[index:])
        self._unfinished = b"".join(lines[whole:])
        self._is_new = len(self._unfinished) > _KEPT
        return self._unfinished


def _is_alike(line: bytes, known: bytes | None) -> bool:
    return known is not None and _NUMBER.sub(b"0", line) == _NUMBER.sub(b"0", known)


class WithheldComplaint:
    """A target that holds back what names a method, until it is clear whether the server knows it.

    That is the rest of a piece of output, from two lines before the name on, and a traceback; all
    else is passed on to ``target`` at once, and what is held after ten seconds, since a user may
    have to read it. Servers on version 1 of the Python SDK write a hundred lines about a method
    that is not theirs, and some end over it.
    """

    def __init__(self, target: StderrTarget, method: str) -> None:
        self._pass_on = sink(target)
        self._method = method.encode()
        self._held = b""
        self._has_restarted = False
        self._is_decided = False

    def write(self, data: bytes) -> None:
        """Take a chunk; text is refused, which tells `StderrTee` to give bytes."""
        if isinstance(data, str):
            raise TypeError("bytes are needed")
        start = None if self._is_decided or self._has_restarted else self._start_in(data)
        if start is None:
            self._pass_on(data)
            return
        lines = data.splitlines(keepends=True)
        if start:
            self._pass_on(b"".join(lines[:start]))
        self._held += b"".join(lines[start:])
        asyncio.get_running_loop().call_later(_DECIDED_WITHIN, self._show)

    def _start_in(self, data: bytes) -> int | None:
        """Return the line with which a complaint begins; a traceback may come in many chunks."""
        if data and _TRACEBACK in self._held:
            return 0
        for index, line in enumerate(data.splitlines()):
            if self._method in line:
                return max(index - _LINES_BEFORE, 0)
            if _TRACEBACK in line:
                return index
        return None

    def restarted(self) -> None:
        """Note that the server has ended, and runs again without having seen the method."""
        self._has_restarted = True

    def decide(self, *, is_unknown: bool) -> None:
        """Drop what is held back where the method is unknown to the server; else pass it on.

        From now on everything is passed on. Further calls change nothing.
        """
        self._is_decided = True
        if is_unknown and (self._has_restarted or self._method in self._held):
            self._held = b""
        self._show()

    def _show(self) -> None:
        held, self._held = self._held, b""
        if held:
            self._pass_on(held)
