"""The line editor, with a stand-in for readline; the real one is used in `tests/cli/shell`."""

from __future__ import annotations

import asyncio
import builtins
import io
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from mcpclient.net import line_editor
from mcpclient.net.line_editor import LineEditor, can_edit_lines

pytestmark = pytest.mark.needs_posix


class FakeReadline:
    """Accepts the editor's settings, and asks for candidates as readline does."""

    def __init__(self, kind: str = "GNU readline") -> None:
        self.__doc__ = kind
        self.bindings: list[str] = []
        self.history: list[str] = []
        self.line = ""
        self.completer: Any = None

    def set_completer_delims(self, delims: str) -> None:
        assert set(delims) == set(" \t\n")

    def set_completer(self, completer: Any) -> None:
        self.completer = completer

    def set_auto_history(self, on: bool) -> None:
        assert not on

    def parse_and_bind(self, binding: str) -> None:
        self.bindings.append(binding)

    def clear_history(self) -> None:
        self.history.clear()

    def add_history(self, line: str) -> None:
        self.history.append(line)

    def get_line_buffer(self) -> str:
        return self.line

    def get_endidx(self) -> int:
        return len(self.line)


def complete(line: str, cursor: int) -> Sequence[str]:
    return [f"{line}1", f"{line}2"] if cursor else []


@pytest.fixture
def readline(monkeypatch: pytest.MonkeyPatch) -> FakeReadline:
    fake = FakeReadline()
    monkeypatch.setattr(line_editor, "readline", fake)
    return fake


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A pseudo-terminal as stdin: its descriptor."""
    import pty

    ours, theirs = pty.openpty()
    with open(theirs) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield theirs
    os.close(ours)


def test_the_end_of_the_lines(
    readline: FakeReadline, terminal: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-5: Ctrl-D."""

    def read(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr(builtins, "input", read)
    assert asyncio.run(LineEditor(complete).read("> ")) is None


def test_libedit_speaks_another_language(
    readline: FakeReadline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-5: and keeps its Ctrl-C."""
    readline.__doc__ = "Importing this module enables command line editing using libedit readline."
    monkeypatch.setattr(builtins, "input", lambda prompt: "line")
    editor = LineEditor(complete)
    assert readline.bindings == ["bind ^I rl_complete"]
    assert asyncio.run(editor.read("> ")) == "line"


def test_candidates_are_asked_for_one_by_one(readline: FakeReadline) -> None:
    """F-SHOW-5"""
    LineEditor(complete)
    readline.line = "ec"
    assert [readline.completer("ec", number) for number in range(3)] == ["ec1", "ec2", None]
    readline.line = ""
    assert readline.completer("", 0) is None


def test_earlier_lines_can_be_recalled(readline: FakeReadline) -> None:
    """F-SHOW-5"""
    LineEditor(complete, ["tools", ""]).recall("echo")
    assert readline.history == ["tools", "echo"]


def test_something_else_is_written_above_the_line(
    readline: FakeReadline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-5: only while a line is edited."""
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stdout", screen)
    readline.__doc__ = "libedit"
    editor = LineEditor(complete)
    editor.erase()
    editor.redraw()
    assert screen.getvalue() == ""

    def read(prompt: str) -> str:
        readline.line = "ech"
        editor.erase()
        print("news")
        editor.redraw()
        return "echo"

    monkeypatch.setattr(builtins, "input", read)
    asyncio.run(editor.read("> "))
    assert screen.getvalue() == "\r\x1b[Knews\n> ech"


def test_where_lines_can_be_edited(
    readline: FakeReadline, terminal: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-5: on a terminal, where Python has readline."""
    monkeypatch.setattr(sys, "stdout", sys.stdin)
    assert can_edit_lines()
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert not can_edit_lines()
    monkeypatch.setattr(sys, "stdout", None)
    assert not can_edit_lines()
    monkeypatch.setattr(line_editor, "readline", None)
    assert not can_edit_lines()
