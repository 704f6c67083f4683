"""The lines of the shell: where they are typed, and kept without secrets."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, Callable, Protocol, TextIO

from ...errors import UsageError
from ...framing.logs import logger_for
from ...net.files import change_file
from ...net.futures import call_in_thread
from ...net.line_editor import Completer, LineEditor, can_edit_lines
from ...net.login.terminal import Terminal
from ...net.regular_files import read_file
from ...recording.redaction import Redactor
from ...recording.secret_arguments import is_secret, masked, parameter_of
from ..screen import Screen
from .words import Word, split_words


class Lines(Protocol):
    """A reader of lines. ``is_interactive``: the user types them at a prompt."""

    is_interactive: bool

    async def read(self, prompt: str) -> str | None:
        """Return the next line without its end, None when there are no more."""

    def interrupt(self) -> None:
        """Discard the typed line after Ctrl-C, unless there is none, or the editor does that."""
        return


class EditedLines(Lines):
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
            self._screen.say("")  # so that the next output starts on a new line
        return line


class PlainLines(Lines):
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


class ScriptLines(Lines):
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


def open_lines(screen: Screen, complete: Completer, history: History) -> Lines:
    """Return the lines of stdin."""
    if can_edit_lines():
        return EditedLines(screen, complete, history)
    is_terminal = Terminal().is_interactive
    return PlainLines() if is_terminal else ScriptLines(sys.stdin)


_logger = logger_for("mcpclient.shell")

_MAX_LINES = 1000
_MAX_LINE_BYTES = 4096  # longer ones are not written
_MAX_HISTORY_BYTES = 4 * 1024 * 1024


class History:
    """The lines of this and of earlier sessions, oldest first.

    ``path``: the file that keeps them, of mode 0600; None: they are kept for this session only. A
    file that cannot be read or written is one warning in the log.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = path
        self.lines: list[str] = []
        if path is None:
            return
        try:
            content = read_file(path, limit=_MAX_HISTORY_BYTES, private=True)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EFBIG:  # of an earlier version; the next line replaces it
                self._give_up(error)
        else:
            self.lines = content.decode("utf-8", "replace").splitlines()

    def add(self, line: str, *, is_kept: bool = True) -> None:
        """Keep a line that has no secrets; one that repeats the last is not kept again.

        Without ``is_kept`` it can be recalled in this session, and is not written to the file.
        """
        line = " ".join(line.splitlines())
        if not line.strip() or self.lines[-1:] == [line]:
            return
        self.lines.append(line)
        if self._path is None or not is_kept:
            return

        def edit(content: bytes | None) -> bytes:
            lines = (content or b"").splitlines()[1 - _MAX_LINES :]
            lines.append(line.encode("utf-8", "replace"))
            return b"".join(each + b"\n" for each in lines if len(each) <= _MAX_LINE_BYTES)

        try:
            change_file(self._path, edit, limit=_MAX_HISTORY_BYTES, private=True)
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        _logger.warning("the history %s is not kept: %s", self._path, error)
        self._path = None


def without_secrets(line: str, schema_of: Callable[[Sequence[Word]], Any]) -> str:
    """Return a line with empty values where secrets were.

    ``schema_of`` returns the input schema of the tool that words call, None if there is none.
    """
    words = split_words(line, unfinished=True)
    schema = schema_of(words)
    redact = Redactor().text
    pieces, end = [], 0
    for word in words:
        emptied = _without_secret(word, schema)
        if emptied is not None:
            pieces += [redact(line[end : word.start]), emptied]
            end = word.start + len(word.typed)
    pieces.append(redact(line[end:]))
    return "".join(pieces)


def _without_secret(word: Word, schema: Any) -> str | None:
    """Return a word with its secrets emptied; None if it has none."""
    if word.text.startswith("{"):
        return _emptied_json(word.text, schema, schema)
    name, separator, value = word.text.partition("=")
    name = name.rstrip(":")
    if not separator:
        return None
    parameter = parameter_of(schema, name, schema)
    if is_secret(name, parameter, schema):
        is_file = value.startswith("@")
        return word.typed if is_file else word.text[: len(word.text) - len(value)]
    emptied = _emptied_json(value, parameter, schema)
    return None if emptied is None else f"{word.text[: -len(value)]}{emptied}"


def _emptied_json(text: str, schema: Any, root: Any) -> str | None:
    """Return JSON with its secrets emptied; None if it is not JSON or has none."""
    if text[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text)
        emptied = masked(value, schema, root, lambda secret: "")
        return None if emptied == value else json.dumps(emptied, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
