"""A server's stderr: forwarded to the caller's target, with the last 64 KiB kept in memory.

`ProbeFilter` hides complaints about a request that only this client makes.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
import re
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, Union

from ...errors import UsageError
from ...framing.escaping import escape_line
from ...framing.logs import logger_for

if TYPE_CHECKING:
    from ...sandbox.denials import Denials

_logger = logger_for("mcpclient.process")

# Bytes kept for errors, and held back at most.
_KEPT = 64 * 1024
_MAX_LINE_LENGTH = 64 * 1024
# A pipe that polls as writable takes PIPE_BUF bytes without blocking; a character is up to four.
_PIECE = getattr(select, "PIPE_BUF", 512) // 4


_CUT_CHARACTER = rb"\A[\x80-\xbf]{1,3}"  # the bytes of one that follow its first


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

    If a target raises, that is logged once, and it still gets everything that follows.
    ``denials``: reported by the server's sandbox; they are reported below the lines that mention
    them. Raises `UsageError` for something that cannot be a target.
    """

    def __init__(self, target: StderrTarget, denials: Denials | None = None) -> None:
        self._kept = bytearray()
        self._complained = False
        self._pass_on = sink(target)
        self.denials = denials
        self._unread = b""
        if denials is not None:
            denials.report = lambda line: self._keep(line.encode("utf-8", "replace"))

    def write(self, data: bytes) -> None:
        """Handle a chunk; an empty one is the end, which completes a line without a break."""
        if data and self.denials is not None:
            self._unread = (self._unread + data)[-_MAX_LINE_LENGTH:]
            if data.endswith(b"\n"):
                lines, self._unread = self._unread, b""
                self._keep(data)
                self.denials.read(lines.decode("utf-8", "replace"))
                return
        self._keep(data)

    def _keep(self, data: bytes) -> None:
        self._kept += data
        if len(self._kept) > 2 * _KEPT:
            del self._kept[:-_KEPT]
        try:
            self._pass_on(data)
        except Exception:
            if not self._complained:
                self._complained = True
                _logger.exception("the target of the server's stderr failed; this is logged once")

    def tail(self, size: int = _KEPT) -> str:
        """Return the last ``size`` bytes as text; a character cut in half is left out."""
        kept = bytes(self._kept[-size:])
        if len(kept) == size:
            kept = re.sub(_CUT_CHARACTER, b"", kept, count=1)
        return kept.decode("utf-8", "replace")


class StderrCopy:
    """A target that gives every line to ``take``, while ``is_wanted``, as well as to another."""

    def __init__(
        self, target: StderrTarget, take: Callable[[str], object], is_wanted: Callable[[], bool]
    ) -> None:
        self._pass_on = sink(target)
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
    if isinstance(target, (StderrCopy, ProbeFilter)):  # an empty chunk is their end, too
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
    writers: list[Callable[[bytes], object]] = []

    def take(data: bytes) -> None:
        if not writers:
            try:
                stream.write("")
                writers.append(_text_sink(stream.write))
            except TypeError:
                writers.append(stream.write)
        writers[0](data)
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
    poll = None
    # Jupyter's stream has no descriptor, and not every platform can tell.
    with suppress(AttributeError, OSError, ValueError, TypeError):
        asked = select.poll()
        asked.register(stream.fileno(), select.POLLOUT)
        poll = asked
    for start in range(0, len(text), _PIECE):
        if poll is not None and not poll.poll(0):
            return
        stream.write(text[start : start + _PIECE])
        stream.flush()


# Seconds that output is held back at most. A server complains just before it refuses a request, in
# one piece, which may name the request only in its third line.
_HELD_FOR = 3.0
_LINES_BEFORE = 2
_TRACEBACK = b"Traceback (most recent call last)"


class ProbeFilter:
    """A target that holds back output until the server has accepted or refused a method.

    If it has refused the method, the complaint about it is dropped: the rest of a piece of output,
    from two lines before the name on, or a traceback. All else is passed on to ``target``, after
    three seconds at the latest, since a user may have to read it. Servers on version 1 of the
    Python SDK write a hundred lines about a method that is not theirs, and some end over it.
    """

    def __init__(self, target: StderrTarget, method: str) -> None:
        self._pass_on = sink(target)
        self._method = method.encode()
        self._held: list[bytes] = []
        self._size = 0
        self._is_decided = False

    def write(self, data: bytes) -> None:
        if self._is_decided:
            self._pass_on(data)
            return
        if not self._held:
            asyncio.get_running_loop().call_later(_HELD_FOR, self._show)
        self._held.append(data)
        self._size += len(data)
        if self._size > _KEPT:
            self._show()

    def decide(self, *, is_unknown: bool) -> None:
        """Show the output held back, without the complaint if the server refused the method."""
        self._is_decided = True
        if is_unknown and any(self._method in piece for piece in self._held):
            self._held = list(self._without_complaint())
        self._show()

    def restarted(self) -> None:
        """Drop the output held back: the server runs again, and repeats it."""
        self._is_decided = True
        self._held = []

    def _without_complaint(self) -> Iterator[bytes]:
        for piece in self._held:
            lines = piece.splitlines(keepends=True)
            for index, line in enumerate(lines):
                if _TRACEBACK in line:  # it may come in many pieces
                    yield b"".join(lines[:index])
                    return
                if self._method in line:
                    begin = max(index - _LINES_BEFORE, 0)
                    # Libraries that lay out a record, such as rich, indent all lines but its first.
                    while begin and lines[begin][:1].isspace() and lines[begin].strip():
                        begin -= 1
                    lines = lines[:begin]
                    break
            yield b"".join(lines)

    def _show(self) -> None:
        held, self._held, self._size = self._held, [], 0
        for piece in held:
            self._pass_on(piece)
