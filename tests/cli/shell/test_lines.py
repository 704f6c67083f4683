"""Where the lines of the shell come from; `test_terminal` has them from real terminals."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from mcpclient import UsageError
from mcpclient.cli.screen import Screen
from mcpclient.cli.shell import lines
from mcpclient.cli.shell.lines import EditedLines, History, PlainLines, ScriptLines, open_lines
from tests.cli.in_process import Terminal


class FakeEditor:
    """Gives lines, and shows what can be recalled."""

    def __init__(self, complete: object, history: Iterable[str]) -> None:
        self.recalled = list(history)
        self.screen: Screen | None = None
        self.was_shown: list[bool] = []
        self.left = ["tools", None]

    def recall(self, line: str) -> None:
        self.recalled.append(line)

    async def read(self, prompt: str) -> str | None:
        assert self.screen is not None
        typed: object = self.screen.typed
        self.was_shown.append(typed is self)
        return self.left.pop(0)


def nothing(line: str, cursor: int) -> Sequence[str]:
    return []


def screen() -> Screen:
    return Screen(io.StringIO(), io.StringIO(), {})


def test_edited_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-5: what is typed is what others write above, and can be recalled once it is kept."""
    monkeypatch.setattr(lines, "LineEditor", FakeEditor)
    history, shown = History(None), screen()
    history.add("earlier")
    edited = EditedLines(shown, nothing, history)
    editor: Any = edited._editor
    editor.screen = shown

    async def main() -> None:
        assert await edited.read("> ") == "tools"
        history.add("tools")
        assert await edited.read("> ") is None

    asyncio.run(main())
    assert editor.recalled == ["earlier", "tools"]
    assert editor.was_shown == [True, True]
    assert shown.typed is None
    edited.interrupt()
    assert edited.is_interactive


def test_plain_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """F-SHOW-5: with the prompt on stderr, which comes again after Ctrl-C."""
    answers: list[str] = ["tools"]

    class FakeTerminal:
        async def read_line(self) -> str:
            if not answers:
                raise EOFError
            return answers.pop()

    monkeypatch.setattr(lines, "Terminal", FakeTerminal)
    plain = PlainLines()

    async def main() -> None:
        assert await plain.read("> ") == "tools"
        plain.interrupt()
        assert await plain.read("> ") is None

    asyncio.run(main())
    assert capsys.readouterr() == ("", "> \n> > \n")


async def test_lines_of_a_script() -> None:
    """F-SHOW-5: one after the other, whatever ends them."""
    script = ScriptLines(io.StringIO("tools\r\n\nlast"))
    assert [await script.read("") for _ in range(4)] == ["tools", "", "last", None]
    script.interrupt()
    assert await ScriptLines(None).read("") is None
    undecodable = io.TextIOWrapper(io.BytesIO(b"\xff\n"), "utf-8")
    with pytest.raises(UsageError, match="cannot read the lines"):
        await ScriptLines(undecodable).read("")


def test_the_lines_of_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-5: an editor where there is one, else a plain terminal, else a script."""
    monkeypatch.setattr(lines, "LineEditor", FakeEditor)
    monkeypatch.setattr(lines, "can_edit_lines", lambda: True)
    assert isinstance(open_lines(screen(), nothing, History(None)), EditedLines)
    monkeypatch.setattr(lines, "can_edit_lines", lambda: False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert isinstance(open_lines(screen(), nothing, History(None)), ScriptLines)
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert isinstance(open_lines(screen(), nothing, History(None)), PlainLines)
