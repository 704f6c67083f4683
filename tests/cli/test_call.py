"""``call``: call a tool."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from mcpclient import PeerError, UsageError
from mcpclient.cli.screen import Screen
from tests.cli.in_process import Terminal, ask, prepared


def test_arguments_reach_the_tool_and_its_text_comes_back() -> None:
    """F-SHOW-1"""
    answer = ask("call", "echo", "message=hi there")
    assert (answer.text, answer.failed) == ("hi there", False)
    assert answer.raw == {"content": [{"type": "text", "text": "hi there"}]}
    assert ask("call", "add", "a=1", "b=2.5").text == "3.5"


def test_progress_reaches_the_status_line() -> None:
    """F-SHOW-3"""
    screen = Screen(io.StringIO(), Terminal(), {})
    ask("call", "count", "to=3", "seconds=0", screen=screen)
    assert "3/3 counted to 3" in screen.status._text(0)


def test_a_failure_is_an_answer_that_failed() -> None:
    """F-SHOW-2"""
    answer = ask("call", "fail", "reason=no \x1b[31mpaper")
    assert (answer.text, answer.failed) == (r"no \x1b[31mpaper", True)
    assert answer.raw["isError"] is True


def test_a_failure_has_nothing_to_save(tmp_path: Path) -> None:
    """F-SHOW-2, F-SHOW-4: with -o as well its text is what went wrong, and no file is made."""
    answer = ask("call", "fail", "reason=no paper", "-o", str(tmp_path / "picture.png"))
    assert (answer.text, answer.failed) == ("no paper", True)
    assert list(tmp_path.iterdir()) == []


def test_a_long_result_is_told() -> None:
    """F-SHOW-4"""
    told = []
    for length in (40_000, 44_000):
        errors = io.StringIO()
        result = {"content": [{"type": "text", "text": "x" * length}]}
        screen = Screen(io.StringIO(), errors, {})
        ask("call", "echo", "message=hi", screen=screen, answers={"tools/call": result})
        told.append(errors.getvalue())
    assert told == ["", "warning: the result has about 11,000 tokens\n"]


def test_structured_content_is_shown_when_there_is_nothing_else() -> None:
    """F-SHOW-4"""
    result = {"content": [], "structuredContent": {"sum": 3}}
    assert (
        ask("call", "add", "a=1", "b=2", answers={"tools/call": result}).text == '{\n  "sum": 3\n}'
    )
    assert ask("call", "add", "a=1", "b=2", answers={"tools/call": {"content": []}}).text == ""


def test_an_unknown_tool_and_wrong_words() -> None:
    """F-SHOW-2"""
    with pytest.raises(UsageError, match="there is no tool 'nope'; there are echo, add"):
        ask("call", "nope")
    with pytest.raises(PeerError, match="Unknown tool"):
        ask("call", "nope", "--unchecked")
    with pytest.raises(UsageError, match="call needs TOOL"):
        prepared("call")
    with pytest.raises(UsageError, match="not an argument"):
        prepared("call", "echo", "hello")


def test_a_server_that_lists_no_tools_is_called_all_the_same() -> None:
    """F-SHOW-2: then nothing is known of the arguments."""
    refused = {"tools/list": {"code": -32601, "message": "no such method"}}
    assert ask("call", "echo", "message=hi", answers=refused).text == "hi"
    with pytest.raises(PeerError):
        ask("call", "echo", answers={"tools/list": {"code": -32603, "message": "broken"}})
