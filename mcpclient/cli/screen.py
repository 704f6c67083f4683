"""Where the command line writes: answers to stdout, everything else to stderr."""

from __future__ import annotations

import io
import logging
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from ..errors import UsageError
from ..framing.escaping import escape
from .progress import StatusLine
from .render import Style, pretty_json

__all__ = ["LogLines", "Screen"]


class Screen:
    """The two output streams of the command line, and what they can show.

    ``status`` is the line on stderr that shows how far a call is.
    """

    def __init__(
        self, out: TextIO | None, errors: TextIO | None, environ: Mapping[str, str]
    ) -> None:
        self._failure = "cannot write the answer: stdout is closed" if out is None else None
        self._out = out = out or io.StringIO()
        self._errors = errors = errors or io.StringIO()
        self.is_terminal: bool = out.isatty()
        self.style: Style = _style_of(out, environ)
        self.error_style: Style = _style_of(errors, environ)
        self.status: StatusLine = StatusLine(errors, self.error_style.columns)

    def show(self, text: str) -> None:
        """Write an answer to stdout. Raises `UsageError` where that is closed, or full."""
        if text:
            self.status.erase()
            with self._writing():
                _write_line(text, self._out)

    def show_json(self, value: Any) -> None:
        """Write one JSON document to stdout."""
        self.show(pretty_json(value))

    def show_bytes(self, content: bytes) -> None:
        """Write bytes to stdout exactly as they are. Raises as `show` does."""
        self.status.erase()
        with self._writing():
            self._out.flush()
            self._out.buffer.write(content)
            self._out.buffer.flush()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if self._failure is not None:
            raise UsageError(self._failure)
        try:
            yield
        except BrokenPipeError:
            _send_nowhere(self._out)
        except OSError as error:
            _send_nowhere(self._out)
            self._failure = f"cannot write the answer to stdout: {error.strerror}"
            raise UsageError(self._failure) from None

    def say(self, text: str) -> None:
        """Write a line to stderr, escaped, since it may contain a server's words."""
        self.say_safely(escape(text))

    def say_safely(self, text: str) -> None:
        """Write a line to stderr that is known to be safe for a terminal."""
        self.status.erase()
        try:
            _write_line(text, self._errors)
        except OSError:  # there is nowhere left to say so
            _send_nowhere(self._errors)


class LogLines(logging.Handler):
    """Shows log records on stderr, escaped, since they may quote a server."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        """Show one record."""
        self._screen.say(self.format(record))


def _style_of(stream: TextIO, environ: Mapping[str, str]) -> Style:
    if not stream.isatty():
        return Style()
    # The classic console of Windows shows colours only to programs that switch them on.
    plain = environ.get("NO_COLOR") or environ.get("TERM") == "dumb"
    able = sys.platform != "win32" or "WT_SESSION" in environ
    return Style(colour=able and not plain, columns=shutil.get_terminal_size().columns)


def _write_line(text: str, stream: TextIO) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()


def _send_nowhere(stream: TextIO) -> None:
    """Discard the rest: whoever read the stream has closed it, as in ``| head``.

    The descriptor itself is replaced, since Python flushes its streams once more when it exits.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
