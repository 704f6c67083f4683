"""Arguments get the types of the schema, or are refused before anything is sent: F-SHOW-2."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient import Tool, UsageError
from mcpclient.cli.arguments import checked_arguments, parse_arguments, tool_named


def tool(*required: str, **properties: Any) -> Tool:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return Tool({"name": "t", "inputSchema": schema})


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "5", "5"),
        ({"type": "string"}, "true", "true"),
        ({"type": "integer"}, "5", 5),
        ({"type": "integer"}, "5.0", 5),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "boolean"}, "yes", True),
        ({"type": "boolean"}, "0", False),
        ({"type": ["string", "null"]}, "null", None),
        ({"type": ["string", "integer"]}, "5", 5),
        ({"type": ["string", "integer"]}, "five", "five"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "x", "x"),
        ({"enum": ["1", "2"]}, "1", "1"),
        ({"enum": [1, 2]}, "1", 1),
        ({"const": "7"}, "7", "7"),
        ({"type": "array", "items": {"type": "integer"}}, "1,2", [1, 2]),
        ({"type": "array", "items": {"type": "string"}}, '["1"]', ["1"]),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"$ref": "#/properties/other"}, "5", "5"),
        ({"$ref": "#/nowhere"}, "5", 5),
        ({}, "5", 5),
        (True, "x", "x"),
    ],
)
def test_a_value_gets_the_type_of_the_schema(schema: Any, text: str, value: Any) -> None:
    given = parse_arguments([f"a={text}"])
    found = checked_arguments(tool(a=schema, other={"type": "string"}), given)
    assert found == {"a": value}
    assert type(found["a"]) is type(value)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["count=x"], "argument 'count' is of type integer, not 'x'"),
        (["count=1.5"], "argument 'count' is of type integer, not '1.5'"),
        (["count=1", "naem=x"], "there is no argument 'naem'; did you mean 'name'"),
        ([], "missing: count"),
        (['{"count": "1"}'], "/count"),
        (["count=1", "size=xl"], "/size"),
        (["count:=true"], "/count"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_signature(words: list[str], reason: str) -> None:
    named = tool("count", count={"type": "integer"}, name={"type": "string"}, size={"enum": ["s"]})
    with pytest.raises(UsageError, match=reason) as refused:
        checked_arguments(named, parse_arguments(words))
    assert 'usage: t count=integer [name=string] [size="s"]' in str(refused.value)
    assert "--unchecked" in refused.value.hint


def test_other_arguments_are_the_schemas_business() -> None:
    """F-SHOW-2: what is like no name is refused only where the schema is closed."""
    open_tool = tool(a={"type": "string"})
    assert checked_arguments(open_tool, parse_arguments(["zebra=1"])) == {"zebra": 1}
    closed = Tool({"name": "t", "inputSchema": {"properties": {}, "additionalProperties": False}})
    with pytest.raises(UsageError, match="no argument 'zebra'; there are none"):
        checked_arguments(closed, parse_arguments(["zebra=1"]))


@pytest.mark.parametrize("schema", [True, {"type": 5}, {"properties": {"a": {"pattern": "("}}}])
def test_a_schema_that_cannot_be_used_checks_nothing(schema: Any) -> None:
    odd = Tool({"name": "t", "inputSchema": schema})
    assert checked_arguments(odd, parse_arguments(["a=1"])) == {"a": 1}


def test_a_tool_by_its_name() -> None:
    tools = [Tool({"name": "git_log"}), Tool({"name": "git_status"})]
    assert tool_named("git_log", tools) is tools[0]
    for wrong, meant in (("GIT_LOG", "mean 'git_log'"), ("zzz", "are git_log, git_status")):
        with pytest.raises(UsageError, match=meant):
            tool_named(wrong, tools)
    with pytest.raises(UsageError, match="there are none"):
        tool_named("x", [])
