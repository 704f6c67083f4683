"""Where a server's stderr goes: to what the caller chose, and its last 64 KiB into memory."""

from __future__ import annotations

import codecs
import logging
import select
import sys
from collections.abc import Callable
from typing import Any, Protocol, Union

from ...errors import UsageError
from ...framing.escaping import escape_line
from ...framing.logs import logger_for

_logger = logger_for("mcpclient.process")

_KEPT = 64 * 1024
_MAX_LINE_LENGTH = 64 * 1024
# A pipe that polls as writable takes PIPE_BUF bytes without blocking; a character is up to four.
_PIECE = getattr(select, "PIPE_BUF", 512) // 4


class WritableStream(Protocol):
    """Anything to write text or bytes to; it needs no file descriptor."""

    def write(self, data: Any, /) -> object:
        """Take ``data``."""


#: ``"inherit"`` copies to this process's ``sys.stderr``, whatever that is at the time;
#: ``"discard"`` shows nothing; a logger gets a record of level INFO for each line, and a callable
#: the line itself, without its line break.
StderrTarget = Union[str, logging.Logger, Callable[[str], object], WritableStream]


class StderrTee:
    """Takes the bytes a server writes to stderr, keeps the last 64 KiB and passes all of them on.

    If a target raises, that is logged once, and it is still given everything that follows. Raises
    `UsageError` for something that cannot be a target.
    """

    def __init__(self, target: StderrTarget) -> None:
        self._kept = bytearray()
        self._complained = False
        self._pass_on = sink(target)

    def write(self, data: bytes) -> None:
        """Take a chunk as it was read."""
        self._kept += data
        if len(self._kept) > 2 * _KEPT:
            del self._kept[:-_KEPT]
        self._guarded(data)

    def finish(self) -> None:
        """The stream has ended: pass on a last line that lacks its line break."""
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


class StderrCopy:
    """A target that gives every line to ``take``, while ``is_wanted``, as well as to another."""

    def __init__(
        self,
        target: StderrTarget,
        take: Callable[[str], object],
        is_wanted: Callable[[], bool],
    ) -> None:
        self._pass_on = sink(target)
        self._take = _LineSink(take)
        self._is_wanted = is_wanted

    def write(self, data: bytes) -> None:
        """Take a chunk; text is refused, which tells `StderrTee` to give bytes."""
        if isinstance(data, str):
            raise TypeError("bytes are needed")
        if self._is_wanted():
            self._take(data)
        self._pass_on(data)


def sink(target: StderrTarget) -> Callable[[bytes], None]:
    """Return what takes the chunks for ``target``; an empty chunk says that the stream ended."""
    if target == "discard":
        return lambda data: None
    if target == "inherit":
        return _TextSink(_write_to_host)
    if isinstance(target, logging.Logger):
        logger = target
        return _LineSink(lambda line: logger.info("%s", escape_line(line)))
    if hasattr(target, "write"):
        return _StreamSink(target)
    if callable(target):
        return _LineSink(target)
    raise UsageError(
        'stderr must be "inherit", "discard", a callable, a logger or an object with a write '
        f"method, not {target!r}"
    )


class _TextSink:
    """Decodes chunks, across their borders, and hands on text."""

    def __init__(self, take: Callable[[str], object]) -> None:
        self._take = take
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def __call__(self, data: bytes) -> None:
        text = self._decoder.decode(data, final=not data)
        if text:
            self._take(text)


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


class _StreamSink:
    """Writes to a stream of text, or of bytes if the stream refuses text."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._take: Callable[[bytes], object] | None = None

    def __call__(self, data: bytes) -> None:
        if self._take is None:
            try:
                self._stream.write("")
                take: Callable[[bytes], object] = _TextSink(self._stream.write)
            except TypeError:
                take = self._stream.write
            self._take = take
        self._take(data)
        if hasattr(self._stream, "flush"):
            self._stream.flush()


def _write_to_host(text: str) -> None:
    """Copy to ``sys.stderr``, but only as much as it takes without blocking the event loop.

    A host whose own stderr is a pipe that nobody reads must not hang because its server talks.
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
