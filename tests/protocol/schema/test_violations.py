"""What a violation says, and where it says that it is: F-API-17."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import McpError, ProtocolViolation, UsageError
from mcpclient.protocol.schema import SchemaError, SchemaLimits, Violation, compile_schema


def shown(schema: object, value: object) -> list[str]:
    return [str(violation) for violation in compile_schema(schema).validate(value)]


def test_a_violation_names_the_place_in_value_and_schema() -> None:
    """F-API-17: a mismatch can be found without reading the schema."""
    schema = {
        "properties": {"items": {"items": {"$ref": "#/$defs/person"}}},
        "$defs": {"person": {"properties": {"a/b~": {"type": "integer"}}}},
    }
    (violation,) = compile_schema(schema).validate({"items": [{}, {"a/b~": "x"}]})
    assert violation == Violation(
        "'x' is not an integer", "/items/1/a~1b~0", "#/$defs/person/properties/a~1b~0/type"
    )
    assert str(violation) == "at /items/1/a~1b~0: 'x' is not an integer"


MESSAGES: list[tuple[Any, Any, str]] = [
    ({"type": "null"}, True, "true is not null"),
    ({"type": ["array", "null"]}, False, "false is not an array or null"),
    ({"type": "string"}, None, "null is not a string"),
    ({"type": "string"}, {}, "an object is not a string"),
    ({"type": "object"}, [1], "an array of 1 item is not an object"),
    ({"type": "object"}, [], "an array of 0 items is not an object"),
    ({"type": "string"}, 10**100, "an integer of 333 bits is not a string"),
    ({"type": "string"}, 1.5, "1.5 is not a string"),
    ({"const": 1}, 2, "2 is not 1"),
    ({"enum": ["a", "b"]}, "c", "'c' is not one of 'a', 'b'"),
    ({"enum": list(range(12))}, "c", "'c' is not one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …"),
    ({"multipleOf": 2}, 3, "3 is not a multiple of 2"),
    ({"maximum": 2}, 3, "3 is greater than 2"),
    ({"exclusiveMaximum": 2}, 3, "3 is not less than 2"),
    ({"minimum": 2}, 1, "1 is less than 2"),
    ({"exclusiveMinimum": 2}, 1, "1 is not greater than 2"),
    ({"maxLength": 2}, "abc", "3 characters are more than 2"),
    ({"minItems": 2}, [1], "1 items are less than 2"),
    ({"minProperties": 2}, {}, "0 members are less than 2"),
    ({"pattern": "^b"}, "a", "'a' does not match the pattern '^b'"),
    ({"uniqueItems": True}, [1, 2, 1], "items 0 and 2 are equal"),
    ({"required": ["a"]}, {}, "the required member 'a' is missing"),
    (
        {"dependentRequired": {"a": ["b"]}},
        {"a": 1},
        "the required member 'b' is missing, which 'a' needs",
    ),
    ({"not": {}}, 1, "1 matches a schema it must not match"),
    ({"contains": {"const": 1}}, [], "0 items match what at least 1 must match"),
    ({"contains": {}, "maxContains": 1}, [1, 2], "2 items match what at most 1 may match"),
    (False, "x", "'x' is not allowed here"),
    (
        {"anyOf": [{"type": "null"}, {"type": "array"}]},
        1,
        "1 matches none of 2 alternatives (1 is not null; 1 is not an array)",
    ),
    (
        {"anyOf": [False] * 4},
        1,
        "1 matches none of 4 alternatives (1 is not allowed here; 1 is not allowed here; "
        "1 is not allowed here; …)",
    ),
    ({"oneOf": [False, {}, {}]}, 1, "1 matches alternatives 1 and 2, where one is allowed"),
    ({"oneOf": [False]}, 1, "1 is not allowed here"),
]


@pytest.mark.parametrize(("schema", "value", "message"), MESSAGES)
def test_messages(schema: object, value: object, message: str) -> None:
    assert shown(schema, value) == [f"at the top: {message}"]


def test_long_text_is_shown_in_part() -> None:
    (text,) = shown({"type": "integer"}, "x" * 100_000)
    assert len(text) < 150
    assert "x…' is not an integer" in text


def test_all_violations_are_reported_up_to_the_limit() -> None:
    """F-API-17: a large wrong value does not make a large report."""
    schema = {
        "items": {"type": "integer"},
        "minItems": 10,
        "allOf": [{"maxItems": 2}, {"maxItems": 1}],
    }
    assert len(shown(schema, ["x"] * 5)) == 8
    limits = SchemaLimits(violations=3)
    object_schemas: list[dict[str, Any]] = [
        {"required": ["a", "b", "c", "d"]},
        {"properties": dict.fromkeys("wxyz", False)},
        {"patternProperties": {".": False}},
        {"additionalProperties": False},
        {"propertyNames": False},
        {"unevaluatedProperties": False},
        {"allOf": [{"maxProperties": 1}] * 5},
    ]
    for schema in object_schemas:
        found = compile_schema(schema, limits=limits).validate(dict.fromkeys("wxyz", 1))
        assert len(found) == 3, schema
    array_schemas: list[dict[str, Any]] = [
        {"items": False},
        {"prefixItems": [False] * 4},
        {"unevaluatedItems": False},
    ]
    for schema in array_schemas:
        assert len(compile_schema(schema, limits=limits).validate([1] * 9)) == 3, schema


def test_failures_of_several_members_are_joined() -> None:
    schema = {
        "properties": {"a": {"type": "string", "minLength": 1}, "b": {"type": "string"}},
        "dependentSchemas": {"a": {"required": ["x"]}, "b": {"required": ["y"]}},
    }
    assert shown(schema, {"a": 1, "b": 2}) == [
        "at the top: the required member 'x' is missing",
        "at the top: the required member 'y' is missing",
        "at /a: 1 is not a string",
        "at /b: 2 is not a string",
    ]


def test_a_value_outside_json_is_the_callers_fault() -> None:
    with pytest.raises(UsageError, match="a set is not a JSON value"):
        compile_schema({}).validate({1})
    with pytest.raises(UsageError, match="a tuple is not a JSON value"):
        compile_schema({"const": 1}).validate([(1,)])


def test_a_schema_error_keeps_its_facts() -> None:
    """F-API-17: a bad schema is the server's fault, and says where it is bad."""
    with pytest.raises(SchemaError) as caught:
        compile_schema({"properties": {"a": {"type": "text"}}})
    error = caught.value
    assert isinstance(error, ProtocolViolation)
    assert isinstance(error, McpError)
    assert error.location == "#/properties/a/type"
    assert error.fault == "type names 'text', which is not a type"
    assert str(error) == (
        "the JSON Schema cannot be used, at #/properties/a/type: "
        "type names 'text', which is not a type"
    )
