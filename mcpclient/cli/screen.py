"""The output of the command line: answers go to stdout, everything else to stderr."""

from __future__ import annotations

import asyncio
import logging
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from ..errors import UsageError
from ..framing.escaping import escape
from ..net.login.terminal import Terminal
from ..protocol.types import Progress
from .layout import Style, fill, one_line, shorten, width_of
from .output import columns_of, is_terminal, write_to

if TYPE_CHECKING:
    from ..net.line_editor import LineEditor

# Seconds before the line appears, so that quick calls do not make it flash, and between redraws.
_SHOWN_AFTER = 0.5
_INTERVAL = 0.1

_BAR = 24

# Characters of a message that are looked at: more than a line has, and no megabytes at every turn.
_MAX_MESSAGE_LENGTH = 1000
_SPINNER = "|/-\\"


class StatusLine:
    """A spinner, or a progress bar once the server reports progress, on a line of its own.

    Nothing is shown where the stream is not a terminal. As an async context manager it redraws
    itself until the end of the block.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._is_paused = False
        self._progress: Progress | None = None
        self._started = 0.0
        self._turns = 0
        self._drawn = 0
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> StatusLine:
        if columns_of(self._stream) is not None:
            loop = asyncio.get_running_loop()
            self._started = loop.time()
            self._timer = loop.call_later(_SHOWN_AFTER, self._tick, loop)
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.erase()

    def update(self, progress: Progress) -> None:
        """Store progress, which the next turn of the spinner draws."""
        self._progress = progress

    def erase(self) -> None:
        """Clear the line before other output."""
        if self._drawn:
            columns = columns_of(self._stream) or self._drawn
            write_to(self._stream, "\r" + " " * min(self._drawn, columns) + "\r")
            self._drawn = 0

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop drawing while the user types."""
        self.erase()
        self._is_paused = True
        try:
            yield
        finally:
            self._is_paused = False

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(_INTERVAL, self._tick, loop)
        columns = columns_of(self._stream)
        if self._is_paused or columns is None:
            return
        text = shorten(self._text(loop.time() - self._started), columns)
        width = width_of(text)
        shorter_by = min(self._drawn - width, columns - width)
        write_to(self._stream, "\r" + text + " " * shorter_by)
        self._drawn = width
        self._turns += 1

    def _text(self, seconds: float) -> str:
        parts = [_SPINNER[self._turns % len(_SPINNER)], f"{seconds:.0f} s"]
        progress = self._progress
        if progress is not None:
            done, total = _as_float(progress.progress), _as_float(progress.total or 0)
            if total:
                share = min(max(0.0, done / total), 1.0)  # in this order NaN becomes 0
                filled = round(share * _BAR)
                parts.append("[" + "#" * filled + "." * (_BAR - filled) + "]")
            parts.append(f"{done:g}/{total:g}" if total else f"{done:g}")
            parts.append(one_line((progress.message or "")[:_MAX_MESSAGE_LENGTH]))
        return " ".join(parts)


def _as_float(number: float) -> float:
    """Return reported progress, which may be infinite, NaN, or an integer beyond all floats."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


class Screen:
    """The two output streams of the command line, and their abilities.

    ``status`` is the line on stderr that shows the progress of a call. ``typed``: the line that
    the user is typing, if any: everything is written above it.
    """

    def __init__(
        self, out: TextIO | None, errors: TextIO | None, environ: Mapping[str, str]
    ) -> None:
        self._out = out
        self._errors = errors
        self._environ = environ
        self._failure: str | None = None
        self.is_terminal: bool = is_terminal(out)
        self.status: StatusLine = StatusLine(errors)
        self.typed: LineEditor | None = None

    @property
    def style(self) -> Style:
        """The current style of stdout."""
        return self._style_of(self._out)

    @property
    def error_style(self) -> Style:
        """The current style of stderr."""
        return self._style_of(self._errors)

    def _style_of(self, stream: TextIO | None) -> Style:
        columns, environ = columns_of(stream), self._environ
        if columns is None:
            return Style()
        from .render import pictures_of

        # The classic console of Windows shows colours only to programs that switch them on.
        plain = environ.get("NO_COLOR") or environ.get("TERM") == "dumb"
        able = sys.platform != "win32" or "WT_SESSION" in environ
        return Style(able and not plain, columns, pictures_of(environ))

    def show(self, content: str | bytes) -> None:
        """Write a line of text, or bytes exactly as they are, to stdout.

        Raises `UsageError` where that is closed, or full.
        """
        if not content:
            return
        with self._above_the_line():
            written = f"{content}\n" if isinstance(content, str) else content
            self._failure = self._failure or write_to(self._out, written)
        if self._failure is not None:
            raise UsageError(f"cannot write the answer to stdout: {self._failure}")

    def show_json(self, value: Any) -> None:
        """Write one JSON document to stdout, in ASCII: safe anywhere, and exact."""
        from .render import pretty_json

        self.show(pretty_json(value, exact=True))

    def say(self, text: str) -> None:
        """Write a line to stderr, escaped, since it may contain a server's words."""
        self.say_safely(escape(text))

    def say_safely(self, text: str) -> None:
        """Write a line to stderr that is known to be safe for a terminal, in lines of its width."""
        with self._above_the_line():
            text = fill(text, columns_of(self._errors))
            write_to(self._errors, text + "\n")  # a failure to write to stderr cannot be reported

    @contextmanager
    def _above_the_line(self) -> Iterator[None]:
        self.status.erase()
        if self.typed is not None:
            self.typed.erase()
        try:
            yield
        finally:
            if self.typed is not None:
                self.typed.redraw()


class LogLines(logging.Handler):
    """A handler that shows log records on stderr, escaped, since they may quote a server."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        """Show one record."""
        self._screen.say(self.format(record))


class ScreenTerminal(Terminal):
    """The terminal, without disturbing what else is shown there."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen

    def say(self, text: str) -> None:
        """Show text in lines."""
        for line in text.splitlines():
            self._screen.say(line)
