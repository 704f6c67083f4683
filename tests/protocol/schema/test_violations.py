"""The message of a violation, and its place: F-API-17."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import UsageError
from mcpclient.protocol.schema import compile_schema
from tests.support.tables import each_row


def shown(schema: object, value: object) -> list[str]:
    return [str(violation) for violation in compile_schema(schema).validate(value)]


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


@each_row(("schema", "value", "message"), MESSAGES)
def test_messages(schema: object, value: object, message: str) -> None:
    assert shown(schema, value) == [f"at the top: {message}"]


def test_a_value_outside_json_is_the_callers_fault() -> None:
    with pytest.raises(UsageError, match="a set is not a JSON value"):
        compile_schema({}).validate({1})
    with pytest.raises(UsageError, match="a tuple is not a JSON value"):
        compile_schema({"const": 1}).validate([(1,)])
