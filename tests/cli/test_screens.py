"""What people see first: lists that a terminal of any width shows at words."""

from __future__ import annotations

import io
import shlex

import pytest

from mcpclient.cli.main import main
from mcpclient.cli.render import Style, fill, listing, width_of, wrapped
from mcpclient.cli.screen import Screen
from tests.cli.in_process import Terminal, ask

LONG = "Search all the pages of the archive for words. It takes a while, and may cost money."
WIDE = "世界の天気を調べる。都市の名前が必要です。"
TOOL = {
    "name": "search_everything",
    "description": LONG,
    "annotations": {"readOnlyHint": True},
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for, " * 5},
            "limit": {"type": "integer", "minimum": 3},
            "kind": {"enum": ["page", "file"]},
            "since": {"type": "string", "format": "date"},
        },
        "required": ["query", "limit", "kind"],
    },
}
WEATHER = {"name": "weather", "description": WIDE, "annotations": {"destructiveHint": True}}
ANSWERS: dict[str, dict[str, object]] = {
    "tools/list": {"tools": [TOOL, WEATHER]},
    "resources/list": {"resources": [{"uri": "file:///a", "name": "a", "description": LONG}]},
    "prompts/list": {"prompts": [{"name": "p", "description": LONG}]},
}
WIDTHS = (40, 80, 120)


def seen(command: str, *words: str, columns: int) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        screen = Screen(Terminal(), io.StringIO(), {"NO_COLOR": "1"})
        return ask(command, *words, answers=ANSWERS, screen=screen).text.splitlines()


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("command", ["tools", "resources", "prompts"])
def test_no_line_of_a_list_is_wider_than_the_terminal(command: str, columns: int) -> None:
    """F-SHOW-18: so the terminal breaks no word."""
    lines = seen(command, columns=columns)
    assert all(width_of(line) <= columns for line in lines)
    assert all(word in " ".join(lines).split() for word in ["Search", "all", "the", "pages", "of"])


def test_the_first_sentence_is_shown_and_the_rest_on_request() -> None:
    """F-SHOW-18: with marks for what reads only and what destroys."""
    assert seen("tools", columns=80) == [
        "search_everything query limit kind [since] (read-only)",
        "  Search all the pages of the archive for words. …",
        "weather (destructive)",
        "  世界の天気を調べる。 …",
    ]
    assert seen("tools", "--long", columns=80)[1:3] == [
        "  Search all the pages of the archive for words. It takes a while, and may cost",
        "  money.",
    ]
    assert seen("tools", "--long", "weather*", columns=16)[1:] == [
        *("(destructive)".rjust(17), "  世界の天気を調", "  べる。都市の名", "  前が必要です。")
    ]


@pytest.mark.parametrize("columns", WIDTHS)
def test_one_tool_ends_with_a_line_to_run(columns: int) -> None:
    """F-SHOW-18: its arguments are of the types that the schema has."""
    lines = seen("tools", "search_everything", columns=columns)
    assert lines[-1] == "mcpclient call SERVER search_everything query=text limit=3 kind=page"
    assert all(width_of(line) <= columns for line in lines[:-1])
    assert {"ARGUMENT", "query string"} <= set(lines)


def test_the_line_of_a_tool_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """F-SHOW-18: with the words that named the server, wherever they stand."""
    server = ["--", "python3", "mcpclient/testing/demo_server.py"]
    for words in (["mcpclient/testing/demo_server.py", "echo"], ["echo", *server]):
        assert main(["tools", *words]) == 0
        line = shlex.split(capsys.readouterr().out.splitlines()[-1])
        assert line[:2] == ["mcpclient", "call"]
        assert main(line[1:]) == 0
        assert capsys.readouterr().out == "text\n"


def test_text_is_wrapped_at_words_and_wide_characters() -> None:
    """F-SHOW-18: what is wider than a line stays whole, as URLs do."""
    assert wrapped("one two three", 7, "  ") == ["  one", "  two", "  three"]
    assert wrapped("ab世界 cd", 4) == ["ab世", "界", "cd"]
    assert wrapped("see https://example.com/x now", 8) == ["see", "https://example.com/x", "now"]
    assert wrapped("PATH: /bin:/usr/bin", 10) == ["PATH:", "/bin:", "/usr/bin"]
    assert wrapped("", 8) == []
    text = "A hint of words:\n  mcpclient call one two three\n\n  b c"
    assert fill(text, 8).split("\n") == [
        *("A hint", "of", "words:", "  mcpclient call one two three", "", "  b c")
    ]
    assert fill(text, None) == text
    assert listing(("A", "B"), [("a", "b. c")], Style()) == "A  B\na  b. c"


def test_errors_break_at_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-18"""
    errors = Terminal()
    monkeypatch.setattr("sys.stderr", errors)
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["call", "mcpclient/testing/demo_server.py", "ecko"]) == 2
    lines = errors.getvalue().splitlines()
    assert all(len(line) <= 30 for line in lines if not line.startswith("mcpclient"))
    assert lines[:2] == ["error: there is no tool", "'ecko'; did you mean 'echo'?"]
