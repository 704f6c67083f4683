"""The input of the shell: an editor, a terminal or a file; and its redirected output."""

from __future__ import annotations

import os
import sys
from typing import Protocol, TextIO

from ...errors import UsageError
from ...framing.escaping import escape
from ...net.line_editor import Completer, LineEditor, can_edit_lines
from ...net.login.terminal import Terminal
from ...net.process.programs import run_program
from ...net.regular_files import write_file
from ...net.shielded import call_in_thread
from ..screen import Screen
from .history import History
from .session import Finding
from .words import Line


class Lines(Protocol):
    """A reader of lines. ``is_interactive``: the user types them at a prompt."""

    is_interactive: bool

    async def read(self, prompt: str) -> str | None:
        """Return the next line without its end, None when there are no more."""

    def interrupt(self) -> None:
        """Discard the typed line after Ctrl-C."""


class EditedLines:
    """Lines from a terminal, with completion and history."""

    is_interactive = True

    def __init__(self, screen: Screen, complete: Completer, history: History) -> None:
        self._screen = screen
        self._editor = LineEditor(complete, history.lines)
        self._history = history
        self._recalled = len(history.lines)

    async def read(self, prompt: str) -> str | None:
        """Return a line; new lines of the history can be recalled."""
        for earlier in self._history.lines[self._recalled :]:
            self._editor.recall(earlier)
        self._recalled = len(self._history.lines)
        self._screen.typed = self._editor
        try:
            line = await self._editor.read(prompt)
        finally:
            self._screen.typed = None
        if line is None:
            self._screen.say("")  # so that the next output does not stand beside the prompt
        return line

    def interrupt(self) -> None:
        """Do nothing: the editor itself handles Ctrl-C."""


class PlainLines:
    """Lines from a terminal without an editor."""

    is_interactive = True

    def __init__(self) -> None:
        self._terminal = Terminal()
        self._prompt = ""

    async def read(self, prompt: str) -> str | None:
        """Show the prompt on stderr and return a line, without the spaces around it."""
        self._prompt = prompt
        self._write(prompt)
        try:
            return await self._terminal.read_line()
        except EOFError:
            self._write("\n")
            return None

    def interrupt(self) -> None:
        """Show the prompt again: the terminal has dropped the typed line."""
        self._write(f"\n{self._prompt}")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


class ScriptLines:
    """Lines of a file or a pipe."""

    is_interactive = False

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    async def read(self, prompt: str) -> str | None:
        """Return a line. Raises `UsageError` for one that cannot be read."""
        stream = self._stream
        if stream is None:
            return None
        try:
            line = await call_in_thread(stream.readline)
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot read the lines on stdin: {error}") from None
        return line.rstrip("\r\n") if line else None

    def interrupt(self) -> None:
        """Do nothing: a script has no typed line."""


def open_lines(screen: Screen, complete: Completer, history: History) -> Lines:
    """Return the lines of stdin."""
    if can_edit_lines():
        return EditedLines(screen, complete, history)
    is_terminal = Terminal().is_interactive
    return PlainLines() if is_terminal else ScriptLines(sys.stdin)


async def send_on(finding: Finding, line: Line, screen: Screen) -> Finding:
    """Send an answer to the file or program of its line; return the part left to show.

    A failure is shown and not sent. Raises `UsageError` for a file that cannot be written, or a
    program that cannot be started.
    """
    if finding.exit_code:
        return finding
    if line.file is not None:
        _write(line.file, finding.as_bytes)
        return Finding(value=finding.value)
    if line.program:
        keeps_output = screen.is_terminal
        screen.status.erase()
        code, written = await run_program(line.program, finding.as_bytes, keeps_output=keeps_output)
        text = escape(written.decode("utf-8", "replace")).rstrip("\n")
        if code:
            text += (
                f"{chr(10) if text else ''}{escape(line.program[0])} ended with exit code {code}"
            )
        return Finding(text, written, finding.value, code if code >= 0 else 128 - code)
    return finding


def _write(path: str, content: bytes) -> None:
    try:
        write_file(os.path.expanduser(path), content)
    except OSError as error:
        raise UsageError(f"cannot write {path!r}: {error.strerror or error}") from None
