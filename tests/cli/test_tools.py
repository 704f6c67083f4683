"""``tools``: what can be called."""

from __future__ import annotations

from mcpclient.cli.tools import COMMAND
from tests.cli.in_process import ask


def test_tools_are_listed_with_their_arguments() -> None:
    """F-SHOW-1"""
    answer = ask(COMMAND)
    assert answer.text.splitlines() == [
        "TOOL   ARGUMENTS     DESCRIPTION",
        "echo   message       Say the same again",
        "add    a b           Add two numbers",
        "count  to [seconds]  Count slowly, and report the progress",
        "fail   [reason]      Fail, as tools sometimes do",
    ]
    assert [tool["name"] for tool in answer.raw["tools"]] == ["echo", "add", "count", "fail"]
    assert answer.raw["tools"][0]["inputSchema"]["required"] == ["message"]


def test_no_tools() -> None:
    assert ask(COMMAND, answers={"tools/list": {"tools": []}}).text == "no tools"


def test_a_description_cannot_leave_its_line() -> None:
    """F-SHOW-3"""
    evil = {"name": "a\n\x1b[1A", "title": "first\nsecond\u202e"}
    text = ask(COMMAND, answers={"tools/list": {"tools": [evil]}}).text
    assert text.splitlines()[1].split() == ["a", r"\x1b[1A", "first", r"second\u202e"]
