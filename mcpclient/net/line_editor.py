"""The line editor of the terminal: the readline module, where Python has it.

It runs in a thread, since nothing can interrupt it. So while a line is edited, the terminal does
not turn Ctrl-C into a signal; a key binding of the editor cancels the line instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Callable

from .futures import call_in_thread

try:
    import readline as _readline
    import termios as _termios
except ImportError:  # Windows, and Pythons that were built without
    readline: Any = None
    termios: Any = None
else:
    readline, termios = _readline, _termios

Completer = Callable[[str, int], Sequence[str]]
"""Takes the line and the position of the cursor; returns the completions of the current word, which
for `readline` begins after the last space."""

_CLEAR_LINE = "\r\x1b[K"
# Libedit, which some Pythons have instead of readline, has another syntax for key bindings.
_BINDINGS = ("tab: complete", r'"\C-c": "\C-e\C-u\C-m"')
_LIBEDIT_BINDINGS = ("bind ^I rl_complete",)


def can_edit_lines() -> bool:
    """Whether there is a line editor, and a terminal on both stdin and stdout for it."""
    if readline is None:
        return False
    try:
        return sys.stdin.isatty() and sys.stdout.isatty()
    except (AttributeError, ValueError):  # no stream at all, or a closed one
        return False


class LineEditor:
    """Reads lines that the user can edit, ``complete`` (called in another thread) and recall."""

    def __init__(self, complete: Completer, history: Iterable[str] = ()) -> None:
        self._complete = complete
        self._found: list[str] = []
        self._prompt: str | None = None
        self._is_libedit = "libedit" in (readline.__doc__ or "")
        readline.set_completer_delims(" \t\n")
        readline.set_completer(self._candidate)
        readline.set_auto_history(False)
        for binding in _LIBEDIT_BINDINGS if self._is_libedit else _BINDINGS:
            readline.parse_and_bind(binding)
        readline.clear_history()
        for line in history:
            self.recall(line)

    def recall(self, line: str) -> None:
        if line:
            readline.add_history(line)

    async def read(self, prompt: str) -> str | None:
        """Return a line without its line end, empty if Ctrl-C cancelled it; None at the end of
        the input.
        """
        self._prompt = prompt
        try:
            return await call_in_thread(lambda: self._edit(prompt))
        finally:
            self._prompt = None

    def _edit(self, prompt: str) -> str | None:
        with self._no_signal_for_ctrl_c(), suppress(EOFError):
            return input(prompt)
        return None

    @contextmanager
    def _no_signal_for_ctrl_c(self) -> Iterator[None]:
        if self._is_libedit:
            yield
            return
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
        changed = termios.tcgetattr(descriptor)
        changed[6][termios.VINTR] = bytes([os.fpathconf(descriptor, "PC_VDISABLE") & 0xFF])
        termios.tcsetattr(descriptor, termios.TCSADRAIN, changed)
        try:
            yield
        finally:
            with suppress(termios.error):  # the terminal has gone
                termios.tcsetattr(descriptor, termios.TCSADRAIN, before)

    def erase(self) -> None:
        """Clear the line that is being edited, before other output is written."""
        if self._prompt is not None:
            sys.stdout.write(_CLEAR_LINE)
            sys.stdout.flush()

    def redraw(self) -> None:
        if self._prompt is not None:
            sys.stdout.write(self._prompt + readline.get_line_buffer())
            sys.stdout.flush()

    def _candidate(self, text: str, number: int) -> str | None:
        if number == 0:
            line, cursor = readline.get_line_buffer(), readline.get_endidx()
            self._found = list(self._complete(line, cursor))
        return self._found[number] if number < len(self._found) else None
