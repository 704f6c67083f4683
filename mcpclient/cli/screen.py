"""Where the command line writes: answers to stdout, everything else to stderr."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

from ..errors import UsageError
from ..framing.escaping import escape
from .pictures import pictures_of
from .progress import StatusLine
from .render import Style, pretty_json
from .streams import columns_of, is_terminal, write_bytes_to, write_to


class TypedLine(Protocol):
    """A line that somebody is typing."""

    def erase(self) -> None:
        """Clear it, because something else is going to be written."""

    def redraw(self) -> None:
        """Show it again."""


class Screen:
    """The two output streams of the command line, and what they can show.

    ``status`` is the line on stderr that shows how far a call is. ``typed``: the line that somebody
    is typing, if any: everything is written above it.
    """

    def __init__(
        self, out: TextIO | None, errors: TextIO | None, environ: Mapping[str, str]
    ) -> None:
        self._out = out
        self._errors = errors
        self._environ = environ
        self._failure: str | None = None
        self.is_terminal: bool = is_terminal(out)
        self.status: StatusLine = StatusLine(errors, columns_of)
        self.typed: TypedLine | None = None

    @property
    def style(self) -> Style:
        """What stdout can show at this moment."""
        return _style_of(self._out, self._environ)

    @property
    def error_style(self) -> Style:
        """What stderr can show at this moment."""
        return _style_of(self._errors, self._environ)

    def show(self, text: str) -> None:
        """Write an answer to stdout. Raises `UsageError` where that is closed, or full."""
        if text:
            with self._above_the_line():
                self._check(write_to(self._out, text + "\n"))

    def show_json(self, value: Any) -> None:
        """Write one JSON document to stdout."""
        self.show(pretty_json(value))

    def show_bytes(self, content: bytes) -> None:
        """Write bytes to stdout exactly as they are. Raises as `show` does."""
        with self._above_the_line():
            self._check(write_bytes_to(self._out, content))

    def _check(self, failure: str | None) -> None:
        self._failure = self._failure or failure
        if self._failure is not None:
            raise UsageError(f"cannot write the answer to stdout: {self._failure}")

    def say(self, text: str) -> None:
        """Write a line to stderr, escaped, since it may contain a server's words."""
        self.say_safely(escape(text))

    def say_safely(self, text: str) -> None:
        """Write a line to stderr that is known to be safe for a terminal."""
        with self._above_the_line():
            write_to(self._errors, text + "\n")  # where that fails there is nowhere to say so

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
    """Shows log records on stderr, escaped, since they may quote a server."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        """Show one record."""
        self._screen.say(self.format(record))


def _style_of(stream: TextIO | None, environ: Mapping[str, str]) -> Style:
    columns = columns_of(stream)
    if columns is None:
        return Style()
    # The classic console of Windows shows colours only to programs that switch them on.
    plain = environ.get("NO_COLOR") or environ.get("TERM") == "dumb"
    able = sys.platform != "win32" or "WT_SESSION" in environ
    return Style(colour=able and not plain, columns=columns, pictures=pictures_of(environ))
