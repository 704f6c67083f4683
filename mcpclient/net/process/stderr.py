"""A server's stderr: forwarded to the caller's target, with the last 64 KiB kept in memory.

Two targets hide some of it: output that repeats an earlier start, and complaints about a request
that only this client makes.
"""

from __future__ import annotations

import abc
import asyncio
import codecs
import logging
import re
import select
import sys
from collections.abc import Callable
from typing import Any, Protocol, Union

from ...errors import UsageError
from ...framing.escaping import escape_line
from ...framing.logs import logger_for

_logger = logger_for("mcpclient.process")

# Bytes kept for errors, and of the first start for comparison with the second.
_KEPT = 64 * 1024
_MAX_LINE_LENGTH = 64 * 1024
# A pipe that polls as writable takes PIPE_BUF bytes without blocking; a character is up to four.
_PIECE = getattr(select, "PIPE_BUF", 512) // 4


class WritableStream(Protocol):
    """Anything to write text or bytes to; it needs no file descriptor."""

    def write(self, data: Any, /) -> object:
        """Write ``data``."""


#: ``"inherit"`` copies to this process's ``sys.stderr``, whatever that is at the time;
#: ``"discard"`` shows nothing; a logger gets a record of level INFO for each line, and a callable
#: the line itself, without its line break.
StderrTarget = Union[str, logging.Logger, Callable[[str], object], WritableStream]


class StderrTee:
    """Takes the bytes a server writes to stderr, keeps the last 64 KiB and passes all of them on.

    If a target raises, that is logged once, and it still gets everything that follows. Raises
    `UsageError` for something that cannot be a target.
    """

    def __init__(self, target: StderrTarget) -> None:
        self._kept = bytearray()
        self._complained = False
        self._pass_on = sink(target)

    def write(self, data: bytes) -> None:
        self._kept += data
        if len(self._kept) > 2 * _KEPT:
            del self._kept[:-_KEPT]
        self._guarded(data)

    def finish(self) -> None:
        """End the stream: pass on a last line that lacks its line break."""
        self._guarded(b"")

    def tail(self, size: int = _KEPT) -> str:
        """Return the last ``size`` bytes as text; a character cut in half is left out."""
        kept = bytes(self._kept[-size:])
        start = 0
        while start < min(3, len(kept)) and len(kept) == size and kept[start] & 0xC0 == 0x80:
            start += 1
        return kept[start:].decode("utf-8", "replace")

    def _guarded(self, data: bytes) -> None:
        try:
            self._pass_on(data)
        except Exception:
            if not self._complained:
                self._complained = True
                _logger.exception("the target of the server's stderr failed; this is logged once")


class StderrFilter(abc.ABC):
    """A target that passes on a selection of its bytes to another target."""

    def __init__(self, target: StderrTarget) -> None:
        self._pass_on: Callable[[bytes], None] = sink(target)

    @abc.abstractmethod
    def write(self, data: bytes) -> None:
        """Handle a chunk; an empty one is the end."""


class StderrCopy(StderrFilter):
    """A target that gives every line to ``take``, while ``is_wanted``, as well as to another."""

    def __init__(
        self, target: StderrTarget, take: Callable[[str], object], is_wanted: Callable[[], bool]
    ) -> None:
        super().__init__(target)
        self._take = _LineSink(take)
        self._is_wanted = is_wanted

    def write(self, data: bytes) -> None:
        if self._is_wanted():
            self._take(data)
        self._pass_on(data)


def sink(target: StderrTarget) -> Callable[[bytes], None]:
    """Return a function that passes chunks to ``target``; an empty chunk is the end."""
    if target == "discard":
        return lambda data: None
    if target == "inherit":
        return _text_sink(_write_to_host)
    if isinstance(target, logging.Logger):
        logger = target
        return _LineSink(lambda line: logger.info("%s", escape_line(line)))
    if isinstance(target, StderrFilter):
        return target.write
    if hasattr(target, "write"):
        return _stream_sink(target)
    if callable(target):
        return _LineSink(target)
    raise UsageError(
        'stderr must be "inherit", "discard", a callable, a logger or an object with a write '
        f"method, not {target!r}"
    )


def _text_sink(take: Callable[[str], object]) -> Callable[[bytes], None]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(data: bytes) -> None:
        text = decoder.decode(data, final=not data)
        if text:
            take(text)

    return write


class _LineSink:
    """Cuts chunks into lines; a line beyond 64 KiB comes in several pieces."""

    def __init__(self, take: Callable[[str], object]) -> None:
        self._take = take
        self._unfinished = b""

    def __call__(self, data: bytes) -> None:
        lines = (self._unfinished + data).split(b"\n")
        self._unfinished = lines.pop()
        if not data or len(self._unfinished) > _MAX_LINE_LENGTH:
            lines.extend([self._unfinished] if self._unfinished else [])
            self._unfinished = b""
        for line in lines:
            self._take(line.rstrip(b"\r").decode("utf-8", "replace"))


def _stream_sink(stream: Any) -> Callable[[bytes], None]:
    """Write to a stream of text, or of bytes if the stream refuses text."""
    write: Callable[[bytes], object] | None = None

    def take(data: bytes) -> None:
        nonlocal write
        passing = write
        if passing is None:
            try:
                stream.write("")
                passing = _text_sink(stream.write)
            except TypeError:
                passing = stream.write
            write = passing
        passing(data)
        if hasattr(stream, "flush"):
            stream.flush()

    return take


def _write_to_host(text: str) -> None:
    """Copy to ``sys.stderr``, but only as much as fits without blocking the event loop.

    A host whose own stderr is a pipe without a reader must not hang on its server's output.
    """
    stream = sys.stderr
    if stream is None:  # a Windows program without a console
        return
    is_ready = _readiness(stream)
    for start in range(0, len(text), _PIECE):
        if not is_ready():
            return
        stream.write(text[start : start + _PIECE])
        stream.flush()


def _readiness(stream: Any) -> Callable[[], bool]:
    try:
        poll = select.poll()
        poll.register(stream.fileno(), select.POLLOUT)
    except (AttributeError, OSError, ValueError, TypeError):
        return lambda: True  # not a descriptor (Jupyter), or a platform that cannot tell
    return lambda: bool(poll.poll(0))


# Times, process ids, ports and addresses differ from start to start.
_NUMBER = re.compile(rb"[0-9a-fA-F]*[0-9][0-9a-fA-F]*")

# Seconds until withheld output is shown if the server never refuses the request. A server complains
# just before it refuses one, in one piece, which may name the request only in its third line.
_DECIDED_WITHIN = 10.0
_LINES_BEFORE = 2
_TRACEBACK = b"Traceback (most recent call last)"


class FirstStart(StderrFilter):
    """A target that passes on everything to another, and keeps its beginning."""

    def __init__(self, target: StderrTarget) -> None:
        super().__init__(target)
        self.target = target
        self.written: bytearray = bytearray()

    def write(self, data: bytes) -> None:
        self.written += data[: _KEPT - len(self.written)]
        self._pass_on(data)


class SecondStart(StderrFilter):
    """A target that passes on the output of the second start from the first new line on.

    A line is new that differs from the same line of the first start in more than its numbers.
    """

    def __init__(self, first: FirstStart) -> None:
        super().__init__(first.target)
        self._known = iter(bytes(first.written).splitlines())
        self._is_new = False
        self._unfinished = b""

    def write(self, data: bytes) -> None:
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


class WithheldComplaint(StderrFilter):
    """A target that holds back output naming a method until the server has accepted or refused it.

    That is the rest of a piece of output, from two lines before the name on, and a traceback; all
    else is passed on to ``target`` at once, and the held part after ten seconds, since a user may
    have to read it. Servers on version 1 of the Python SDK write a hundred lines about a method
    that is not theirs, and some end over it.
    """

    def __init__(self, target: StderrTarget, method: str) -> None:
        super().__init__(target)
        self._method = method.encode()
        self._held = b""
        self._has_restarted = False
        self._is_decided = False

    def write(self, data: bytes) -> None:
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
        """Handle a restart: the server that runs now has not seen the method."""
        self._has_restarted = True

    def decide(self, *, is_unknown: bool) -> None:
        """Drop the output held back if the server does not know the method; else pass it on.

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
