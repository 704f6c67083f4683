"""The stderr of a server that is started twice to be connected to once: not shown twice."""

from __future__ import annotations

import re
from collections.abc import Callable

from .stderr import StderrTarget, sink

__all__ = ["FirstStart", "SecondStart"]

# How much of what the first start has written is kept to be compared.
_KEPT = 64 * 1024

# Times, process ids, ports and addresses differ from start to start.
_NUMBER = re.compile(rb"[0-9a-fA-F]*[0-9][0-9a-fA-F]*")


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
