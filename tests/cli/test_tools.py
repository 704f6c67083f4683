"""``tools``: what can be called."""

from __future__ import annotations

import io

import pytest

from mcpclient import UsageError
from mcpclient.cli.screen import Screen
from tests.cli.in_process import ask, prepared


def test_tools_are_listed_with_their_arguments() -> None:
    """F-SHOW-1"""
    answer = ask("tools")
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
    """F-SHOW-1"""
    assert ask("tools", answers={"tools/list": {"tools": []}}).text == "no tools"


@pytest.mark.parametrize(("nameless", "said"), [([{}], "a tool"), ([{"name": 5}] * 2, "2 tools")])
def test_a_tool_without_a_name_is_no_row(nameless: list[object], said: str) -> None:
    """F-SHOW-1: nobody could call it, so it is told of apart from the others."""
    errors = io.StringIO()
    tools = [*nameless, {"name": "echo"}]
    answer = ask(
        "tools",
        answers={"tools/list": {"tools": tools}},
        screen=Screen(io.StringIO(), errors, {}),
    )
    assert [line.split() for line in answer.text.splitlines()][1:] == [["echo"]]
    assert errors.getvalue() == f"the server sent {said} without a name, which cannot be called\n"
    assert answer.raw["tools"] == tools


def test_a_description_cannot_leave_its_line() -> None:
    """F-SHOW-3"""
    evil = {"name": "a\n\x1b[1A", "title": "first\nsecond\u202e"}
    text = ask("tools", answers={"tools/list": {"tools": [evil]}}).text
    assert text.splitlines()[1].split() == ["a", r"\x1b[1A", "first", r"second\u202e"]


def test_one_tool_is_described() -> None:
    """F-SHOW-1: signature, types, defaults, description and annotations."""
    tool = {
        "name": "send",
        "description": "Send a letter.\x1b[2J",
        "inputSchema": {
            "type": "object",
            "properties": {
                "to": {"type": "string", "description": "Whom to"},
                "size": {"enum": ["s", "m"], "default": "m"},
                "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
            },
            "required": ["to"],
            "$defs": {"tag": {"type": ["string", "null"]}},
        },
        "outputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}},
        "annotations": {"readOnlyHint": "odd", "destructiveHint": True},
    }
    text = ask("tools", "send", answers={"tools/list": {"tools": [tool]}}).text
    assert text.splitlines() == [
        'send to=string [size="s" | "m"] [tags=array of null | string]',
        "",
        "(destructive)",
        "",
        r"Send a letter.\x1b[2J",
        "",
        "ARGUMENT  TYPE                              DEFAULT  DESCRIPTION",
        "to        string                                     Whom to",
        'size      "s" | "m", optional               "m"',
        "tags      array of null | string, optional",
        "",
        "RETURNS  TYPE     DESCRIPTION",
        "id       integer",
        "",
        "mcpclient call SERVER send to=text",
    ]


def test_a_pattern_filters() -> None:
    """F-SHOW-1"""
    assert [tool["name"] for tool in ask("tools", "*O*").raw["tools"]] == ["echo", "count"]
    assert ask("tools", "x*").text == "no tools"


def test_a_name_that_is_not_there() -> None:
    """F-SHOW-2"""
    with pytest.raises(UsageError, match="no tool 'Echo'; did you mean 'echo'"):
        ask("tools", "Echo")
    with pytest.raises(UsageError, match="does not take 'add'"):
        prepared("tools", "echo", "add")


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"properties": {"a": {}, "b": {}}, "required": ["b"]}, "[a] b"),
        ({"properties": {"a\x1b": {}}, "required": "a"}, r"[a\x1b]"),
        ({"properties": {"a": {}, "b": {}}, "required": [["a"], {}, "b", None]}, "[a] b"),
        ({"type": "object"}, ""),
        (True, ""),
        ({"properties": ["a"]}, ""),
    ],
)
def test_arguments_of_a_schema(schema: object, shown: str) -> None:
    """F-SHOW-2"""
    tool = {"name": "t", "inputSchema": schema, "title": "T"}
    text = ask("tools", answers={"tools/list": {"tools": [tool]}}).text
    assert text.splitlines()[1].split() == ["t", *shown.split(), "T"]
