"""JSON Schemas as types of Python: F-STUB-1."""

from __future__ import annotations

from typing import Any

from mcpclient.protocol.signatures import Annotations
from tests.support.tables import each_row


@each_row(
    ("schema", "annotation"),
    [
        (True, "Any"),
        ({}, "Any"),
        ({"type": "string"}, "str"),
        ({"type": "number", "minimum": 1}, "float"),
        ({"type": ["integer", "null"]}, "Union[int, None]"),
        ({"type": "string", "nullable": True}, "Union[str, None]"),
        ({"enum": ["a", "b", None]}, 'Literal["a", "b", None]'),
        ({"enum": [1.5, 2.5]}, "float"),
        ({"enum": [[]]}, "Any"),
        ({"const": True}, "Literal[True]"),
        ({"const": None}, "None"),
        ({"anyOf": [{"type": ["string", "integer"]}, {"type": "null"}]}, "Union[str, int, None]"),
        ({"anyOf": [{"type": "string"}, {"type": "string"}]}, "str"),
        ({"type": "array", "items": {"type": "boolean"}}, "list[bool]"),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, "list[Any]"),
        ({"type": "object"}, "dict[str, Any]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "Union[str, int]"),
        ({"oneOf": [{"type": "string"}, {}]}, "Any"),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"type": "integer"}}}, "int"),
        ({"$ref": "#/$defs/y"}, "Any"),
        ({"$ref": "https://example.com/schema"}, "Any"),
        ({"type": "unheard"}, "Any"),
        ({"type": 5}, "Any"),
    ],
)
def test_a_schema_is_a_type(schema: Any, annotation: str) -> None:
    """F-STUB-1"""
    assert Annotations(()).of(schema, "X") == annotation


def test_the_parts_of_all_of_are_one_object() -> None:
    """F-STUB-1"""
    schema = {
        "allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}],
        "properties": {"b": {"type": "integer"}},
    }
    annotations = Annotations(())
    assert annotations.of(schema, "Both") == "Both"
    assert annotations.definitions[0][-2:] == ["    a: str", "    b: NotRequired[int]"]
    assert Annotations(()).of({"allOf": schema["allOf"]}, "One") == "One"
    assert annotations.fields(schema) == (
        {"a": {"type": "string"}, "b": {"type": "integer"}},
        {"a"},
    )


def test_equal_types_are_declared_once() -> None:
    """F-STUB-1, F-CODE-1: of whichever tools, with the types inside them."""

    def person(**fields: object) -> dict[str, Any]:
        home = {"type": "object", "properties": {"town": {"type": "string"}}}
        return {"type": "object", "properties": {"home": home, **fields}}

    annotations = Annotations(())
    assert annotations.of(person(), "ReadResult") == "ReadResult"
    assert annotations.of(person(), "WriteResult") == "ReadResult"
    assert annotations.of(person(age={"type": "integer"}), "WriteResult") == "WriteResult"
    assert [lines[0].split("(")[0] for lines in annotations.definitions] == [
        *("class ReadResultHome", "class ReadResult", "class WriteResult")
    ]
    assert "    home: NotRequired[ReadResultHome]" in annotations.definitions[2]
