"""F-SHOW-14: what the page finds wrong with a value, before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.inspector.test_differences import run


def problems(schema: Any, value: Any) -> list[str]:
    found = run("problemsOf", schema, value, module="schema_check")
    return [f"{'/'.join(map(str, each['path']))} {each['text']}".strip() for each in found]


CASES: list[tuple[Any, Any, list[str]]] = [
    ({"type": "string"}, 7, ["must be a string"]),
    ({"type": ["integer", "null"]}, 1.5, ["must be an integer or null"]),
    ({"type": "integer"}, 2.0, []),
    ({"enum": ["a", None]}, "b", ["must be one of a, null"]),
    ({"const": {"a": 1}}, {"a": 2}, ['must be {"a":1}']),
    ({"minLength": 1}, "", ["must not be empty"]),
    ({"maxLength": 2}, "\U0001f600\U0001f600", []),
    ({"minimum": 1, "multipleOf": 0.1}, 0.55, ["must be at least 1", "must be a multiple of 0.1"]),
    ({"multipleOf": 0.1}, 0.3, []),
    ({"exclusiveMaximum": 5}, 5, ["must be less than 5"]),
    ({"format": "date-time"}, "2026-07-28", ["must be a time such as 2026-07-28T12:30:00Z"]),
    ({"format": "uri"}, "https://h.example/", []),
    ({"format": "constructor"}, "x", []),
    (
        {"uniqueItems": True, "maxItems": 1},
        [1, 1],
        ["must have at most 1 items", "must not have an item twice"],
    ),
    (
        {"prefixItems": [{"type": "string"}], "items": False},
        [1, 2],
        ["0 must be a string", "1 is not allowed here"],
    ),
    (
        {"required": ["a"], "additionalProperties": False},
        {"b": 1},
        ["a is required", "b is not allowed here"],
    ),
    (
        {"anyOf": [{"type": "string"}, {"type": "object", "required": ["a"]}]},
        5,
        ["must be a string"],
    ),
    ({"allOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1}, ["b is required"]),
    (
        {
            "$ref": "#/$defs/n",
            "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}},
        },
        {"n": {"n": 1}},
        ["n/n must be an object"],
    ),
    ({"pattern": "^[a-z]+$"}, "A", ["must match ^[a-z]+$"]),
    ({"pattern": "("}, "x", []),
    ({"type": "nonsense", "enum": 7, "required": 1, "minLength": "x"}, "x", []),
    (True, 1, []),
]


@pytest.mark.parametrize(("schema", "value", "expected"), CASES)
def test_a_problem_has_its_place_and_its_reason(
    schema: Any, value: Any, expected: list[str]
) -> None:
    assert problems(schema, value) == expected


@pytest.mark.parametrize(
    "pattern",
    ["^(a+)+$", "^(a|a)*$", "a?" * 40 + "a" * 40, "(a|a)" * 40 + "b", "a*" * 20 + "b", "(a*)\\1*b"],
)
def test_a_pattern_that_could_take_for_ever_is_left_to_the_server(pattern: str) -> None:
    """F-SHOW-14: a server chooses patterns, and the page has one thread."""
    assert problems({"pattern": pattern}, "a" * 40 + "!") == []


def test_a_schema_that_contains_itself_ends() -> None:
    node: dict[str, Any] = {"properties": {f"c{n}": {"$ref": "#"} for n in range(10)}}
    node["anyOf"] = [{"$ref": "#"}] * 10
    assert problems(node, {"c1": {"c2": {"c3": {}}}}) == []
