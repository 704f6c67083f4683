"""Tools as functions of Python: F-STUB-1, F-CODE-1."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.protocol.signatures import Annotations, Parameter, Signature, tool_signature
from mcpclient.protocol.types import Tool, wraps_result

NUMBERS = {"type": "array", "items": {"type": "integer"}}


def signature(**fields: Any) -> tuple[Signature, list[list[str]]]:
    annotations = Annotations(())
    tool = Tool({"name": "find-it", **fields})
    return tool_signature(tool, "find_it", annotations, "Any"), annotations.definitions


def test_parameters_have_names_types_and_descriptions() -> None:
    schema = {
        "properties": {
            "from": {"type": "integer", "description": " where ", "default": 1},
            "a b": {"enum": ["x"]},
            "a_b": True,
            "self": {"default": "y"},
        },
        "required": ["a b"],
    }
    made, types = signature(inputSchema=schema, description="Find it.")
    assert made.parameters == [
        Parameter("from_", "from", "int", "where Default: 1.", False),
        Parameter("a_b", "a b", 'Literal["x"]', "", True),
        Parameter("a_b_2", "a_b", "Any", "", False),
        Parameter("self_2", "self", "Any", 'Default: "y".', False),
    ]
    assert made.paragraphs == ["Find it.", 'from_: where Default: 1.\nself_2: Default: "y".']
    assert (made.name, made.wire_name, made.returns, types) == ("find_it", "find-it", "Any", [])


@pytest.mark.parametrize(
    ("schema", "returns", "types"),
    [
        (None, "Any", 0),
        (True, "Any", 0),
        ({"type": "object", "properties": {"total": {"type": "integer"}}}, "FindItResult", 1),
        ({"properties": {"result": NUMBERS}}, "list[int]", 0),
        (
            {"properties": {"result": {"$ref": "#/$defs/N"}}, "$defs": {"N": NUMBERS}},
            "list[int]",
            0,
        ),
        ({"properties": {"result": {"properties": {"a": {}}}}}, "FindItResult", 1),
        ({"properties": {"result": NUMBERS, "next": {}}}, "FindItResult", 1),
        (
            {"properties": {"result": NUMBERS, "x": {}}, "x-fastmcp-wrap-result": True},
            "list[int]",
            0,
        ),
        ({"x-fastmcp-wrap-result": True, "type": "object"}, "dict[str, Any]", 0),
    ],
)
def test_it_returns_what_the_data_of_a_result_is(schema: Any, returns: str, types: int) -> None:
    """F-STUB-1: without the wrapper, where the schema is that of one."""
    made, found = signature(outputSchema=schema)
    assert (made.returns, len(found)) == (returns, types)


def test_wrappers() -> None:
    assert wraps_result({"properties": {"result": {}}})
    assert wraps_result({"x-fastmcp-wrap-result": True})
    others: list[Any] = [None, [], {}, {"properties": []}, {"properties": {"result": {}, "a": {}}}]
    for other in others:
        assert not wraps_result(other)
