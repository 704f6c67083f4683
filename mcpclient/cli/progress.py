"""The line on a terminal that shows that something is going on, and how far it is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Callable, TextIO

from ..protocol.types import Progress
from .render import one_line, shorten, width_of
from .streams import write_to

# Seconds before the line appears, so that quick calls do not make it flash, and between redraws.
_SHOWN_AFTER = 0.5
_INTERVAL = 0.1

_BAR = 24

# Characters of a message that are looked at: more than a line has, and no megabytes at every turn.
_MAX_MESSAGE_LENGTH = 1000
_SPINNER = "|/-\\"


class StatusLine:
    """A spinner, or a progress bar once the server reports progress, on a line of its own.

    ``columns_of``: tells the width of the terminal, which may change while the line is shown; None:
    the stream is not one, and nothing is shown. Use it as an async context manager; it redraws
    itself until the end of the block.
    """

    def __init__(
        self, stream: TextIO | None, columns_of: Callable[[TextIO | None], int | None]
    ) -> None:
        self._stream = stream
        self._columns_of = columns_of
        self._is_paused = False
        self._progress: Progress | None = None
        self._started = 0.0
        self._turns = 0
        self._drawn = 0
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> StatusLine:
        if self._columns_of(self._stream) is not None:
            loop = asyncio.get_running_loop()
            self._started = loop.time()
            self._timer = loop.call_later(_SHOWN_AFTER, self._tick, loop)
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.erase()

    def update(self, progress: Progress) -> None:
        """Take note of progress; it is drawn with the next turn of the spinner."""
        self._progress = progress

    def erase(self) -> None:
        """Clear the line, because something else is going to be written."""
        if self._drawn:
            columns = self._columns_of(self._stream) or self._drawn
            self._write("\r" + " " * min(self._drawn, columns - 1) + "\r")
            self._drawn = 0

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the line to somebody who types."""
        self.erase()
        self._is_paused = True
        try:
            yield
        finally:
            self._is_paused = False

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(_INTERVAL, self._tick, loop)
        columns = self._columns_of(self._stream)
        if self._is_paused or columns is None:
            return
        text = shorten(self._text(loop.time() - self._started), columns - 1)
        width = width_of(text)
        self._write("\r" + text + " " * min(self._drawn - width, columns - 1 - width))
        self._drawn = width
        self._turns += 1

    def _text(self, seconds: float) -> str:
        parts = [_SPINNER[self._turns % len(_SPINNER)], f"{seconds:.0f} s"]
        progress = self._progress
        if progress is not None and progress.total:
            done = round(_share(progress.progress, progress.total) * _BAR)
            parts.append("[" + "#" * done + "." * (_BAR - done) + "]")
            parts.append(f"{_short(progress.progress)}/{_short(progress.total)}")
        elif progress is not None:
            parts.append(_short(progress.progress))
        if progress is not None:
            parts.append(one_line((progress.message or "")[:_MAX_MESSAGE_LENGTH]))
        return " ".join(parts)

    def _write(self, text: str) -> None:
        write_to(self._stream, text)


# What a server reports may be infinite, no number at all, or an integer beyond all floats.


def _share(progress: float, total: float) -> float:
    """How much is done, from 0 to 1; 0 where that cannot be told."""
    try:
        share = progress / total
    except OverflowError:
        return 0.0
    return min(max(0.0, share), 1.0)  # in this order NaN becomes 0


def _short(number: float) -> str:
    try:
        return f"{number:g}"
    except OverflowError:
        return "…"
