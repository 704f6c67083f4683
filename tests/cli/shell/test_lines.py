"""The lines of the shell: their sources and their history: F-SHOW-5."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import stat
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient import UsageError
from mcpclient.cli.screen import Screen
from mcpclient.cli.shell import lines
from mcpclient.cli.shell.lines import (
    EditedLines,
    History,
    PlainLines,
    ScriptLines,
    open_lines,
    without_secrets,
)
from tests.cli.in_process import Terminal
from tests.support.tables import each_row


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
    made: list[FakeEditor] = []

    def editor_of(*given: Any) -> FakeEditor:
        made.append(FakeEditor(*given))
        return made[0]

    monkeypatch.setattr(lines, "LineEditor", editor_of)
    history, shown = History(None), screen()
    history.add("earlier")
    edited = EditedLines(shown, nothing, history)
    (editor,) = made
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


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "user": {"type": "string"},
        "code": {"type": "string", "format": "password"},
        "note": {"type": "string", "writeOnly": True},
        "account": {
            "type": "object",
            "properties": {"secret word": {"writeOnly": True}, "n": {"type": "number"}},
        },
        "people": {"type": "array", "items": {"properties": {"x": {"format": "password"}}}},
        "pin": {"$ref": "#/$defs/Secret"},
        "maybe": {"anyOf": [{"$ref": "#/$defs/Secret"}, {"type": "null"}]},
        "told": {"$ref": "#/$defs/Plain", "writeOnly": True},
        "login": {"anyOf": [{"$ref": "#/$defs/Login"}, {"type": "null"}]},
    },
    "$defs": {
        "Plain": {"type": "string"},
        "Secret": {"type": "string", "format": "password", "writeOnly": True},
        "Login": {"type": "object", "properties": {"word": {"$ref": "#/$defs/Secret"}}},
    },
}


def kept(line: str) -> str:
    return without_secrets(line, lambda words: SCHEMA)


@each_row(
    ("line", "expected"),
    [
        ("login user=me password=hunter2", "login user=me password="),
        ("login password='a b c' user=me", "login password= user=me"),
        ("login apiKey:=1234 & # later", "login apiKey:= & # later"),
        ("login code=hunter2 note=x user=me", "login code= note= user=me"),
        ("login password=@file", "login password=@file"),
        (
            'login {"password": "hunter2", "user": "me"} | jq .x',
            'login {"password": "", "user": "me"} | jq .x',
        ),
        (
            'login account:={"secret word": "x", "n": "é"}',
            'login account:={"secret word": "", "n": "é"}',
        ),
        ('login people=[{"x": "hunter2"}]', 'login people=[{"x": ""}]'),
        ("login pin=hunter2 maybe=hunter2 told=x", "login pin= maybe= told="),
        ('login login:={"word": "hunter2", "n": 1}', 'login login:={"word": "", "n": 1}'),
        ('login list=[1, 2] n={"a": 1}', 'login list=[1, 2] n={"a": 1}'),
    ],
)
def test_values_of_secret_parameters_are_left_out(line: str, expected: str) -> None:
    """F-SHOW-5: by name, by schema, in JSON, in quotes."""
    assert kept(line) == expected


def test_secrets_that_show_by_their_form() -> None:
    """F-SHOW-5: tokens of well-known services, passwords in URLs."""
    token = "ghp_" + "a1B2" * 9
    assert token not in kept(f"echo message={token}")
    assert "hunter2" not in kept("fetch url=https://me:hunter2@example.com/")
    assert "hunter2" not in kept("fetch header='Authorization: Bearer hunter2secret'")


@given(st.text())
def test_any_line_can_be_kept(line: str) -> None:
    without_secrets(line, lambda words: SCHEMA)


def test_lines_are_kept_for_the_next_time(tmp_path: Path) -> None:
    """F-SHOW-5: in a file for its owner alone; repetitions and blank lines count once, or never."""
    path = tmp_path / "folder" / "history"
    history = History(path)
    for line in ("tools", "tools", "  ", "echo message='two\nlines'", "servers é"):
        history.add(line)
    expected = ["tools", "echo message='two lines'", "servers é"]
    assert history.lines == expected == History(path).lines
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.needs_posix
def test_what_others_could_have_written_is_not_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """F-SHOW-5: and neither is a failure to write more than a warning."""
    path = tmp_path / "history"
    path.write_text("from somebody else\n")
    os.chmod(path, 0o666)
    with caplog.at_level(logging.WARNING, "mcpclient.shell"):
        history = History(path)
        history.add("tools")
    assert history.lines == ["tools"]
    assert path.read_text() == "from somebody else\n"
    with caplog.at_level(logging.WARNING, "mcpclient.shell"):
        History(tmp_path / "history" / "no folder").add("tools")
    assert len([record for record in caplog.records if "is not kept" in record.message]) == 2
