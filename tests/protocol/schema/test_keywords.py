"""Every keyword of 2020-12, and where draft-07 differs, with values that match and that do not.

It proves F-API-17.

The public test suite is run by ``conformance/schema_suite.py``; these vectors are our own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mcpclient.protocol.schema import compile_schema
from tests.support.tables import each_row

NAN = float("nan")
INFINITY = float("inf")


class Vector(NamedTuple):
    schema: Any
    valid: list[Any]
    invalid: list[Any]


LIST = {"properties": {"next": {"$ref": "#"}, "value": {"type": "integer"}}, "required": ["value"]}

VECTORS_2020_12 = [
    Vector(True, [1, None, {}], []),
    Vector(False, [], [1, None, {}]),
    Vector({}, [1, "x", [], {}], []),
    Vector({"type": "integer"}, [1, 1.0, -0.0, 10**400], [1.5, "1", True, None, NAN, INFINITY]),
    Vector({"type": "number"}, [1, 1.5], [True, "1"]),
    Vector({"type": "boolean"}, [True, False], [0, 1, None]),
    Vector({"type": "null"}, [None], [0, False, ""]),
    Vector({"type": ["string", "array"]}, ["", []], [{}, 1]),
    Vector({"type": ["integer", "number"]}, [1, 1.5], ["1"]),
    Vector({"enum": [1, "a", [1], {"a": 1}]}, [1, 1.0, "a", [1.0], {"a": 1.0}], [True, [True], 2]),
    Vector({"enum": []}, [], [1]),
    Vector({"const": False}, [False], [0, None, ""]),
    Vector({"const": {"a": [0, None]}}, [{"a": [0.0, None]}], [{"a": [False, None]}, {}]),
    Vector({"const": 2**53 + 1}, [2**53 + 1], [float(2**53)]),
    Vector({"multipleOf": 0.01}, [0.07, 4.35, 0, "x"], [0.075, NAN, INFINITY]),
    Vector({"multipleOf": 3}, [9, 9.0, 3 * 10**400], [10, 9.5, 3 * 10**400 + 1]),
    Vector({"multipleOf": 1e-8}, [12391239123, 1e308], [1e-9]),
    Vector({"maximum": 3}, [3, 2.9, "x"], [3.1, 10**400, NAN]),
    Vector({"exclusiveMaximum": 3}, [2], [3, NAN]),
    Vector({"minimum": -2.5}, [-2.5, 0], [-3, NAN]),
    Vector({"exclusiveMinimum": 0}, [0.1], [0, NAN]),
    Vector({"maxLength": 2}, ["ab", "\U0001f600\U0001f600", 123], ["abc"]),
    Vector({"minLength": 2.0}, ["ab"], ["a", "\U0001f600"]),
    Vector({"pattern": "a+b"}, ["xaab", 5], ["ba"]),
    Vector({"maxItems": 1}, [[1], {}], [[1, 2]]),
    Vector({"minItems": 1}, [[1], "x"], [[]]),
    Vector(
        {"uniqueItems": True},
        [[1, True, "1", None], [[1], [True]], [{"a": 1}, {"a": 2}], []],
        [[1, 1.0], [{"a": 1, "b": 2}, {"b": 2, "a": 1}], [[NAN], [NAN]]],
    ),
    Vector({"uniqueItems": False}, [[1, 1]], []),
    Vector({"maxProperties": 1}, [{"a": 1}], [{"a": 1, "b": 2}]),
    Vector({"minProperties": 1}, [{"a": 1}], [{}]),
    Vector({"required": ["a", "b"]}, [{"a": 1, "b": None}, []], [{"a": 1}, {}]),
    Vector({"required": []}, [{}], []),
    Vector({"dependentRequired": {"a": ["b"]}}, [{}, {"b": 1}, {"a": 1, "b": 1}], [{"a": 1}]),
    Vector({"dependentSchemas": {"a": {"required": ["b"]}}}, [{}, {"a": 1, "b": 2}], [{"a": 1}]),
    Vector(
        {"dependencies": {"a": ["b"], "c": {"maxProperties": 1}}},
        [{}, {"a": 1, "b": 2}, {"c": 1}],
        [{"a": 1}, {"c": 1, "d": 2}],
    ),
    Vector({"allOf": [{"minimum": 1}, {"maximum": 2}]}, [1, 2], [0, 3]),
    Vector({"anyOf": [{"type": "string"}, {"minimum": 5}]}, ["x", 5], [4]),
    Vector({"oneOf": [{"type": "integer"}, {"minimum": 5}]}, [1, 5.5], [5, 4.5]),
    Vector({"not": {"type": "string"}}, [1], ["x"]),
    Vector(
        {"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 2}},
        ["ab", 2],
        ["a", 1],
    ),
    Vector({"if": {"type": "string"}}, ["", 1], []),
    Vector({"then": False, "else": False}, [1], []),
    Vector({"properties": {"a": {"type": "string"}, "b": False}}, [{"a": "x"}, []], [{"b": 1}]),
    Vector({"patternProperties": {"^x": {"type": "string"}}}, [{"x1": "a", "y": 1}], [{"x": 1}]),
    Vector(
        {"properties": {"a": {}}, "patternProperties": {"^x": {}}, "additionalProperties": False},
        [{"a": 1, "x1": 2}],
        [{"b": 1}],
    ),
    Vector({"additionalProperties": {"type": "string"}}, [{"a": "x"}, 1], [{"a": 1}]),
    Vector({"propertyNames": {"maxLength": 1}}, [{"a": 1}], [{"ab": 1}]),
    Vector(
        {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
        [[], ["a"], ["a", 1]],
        [[1], ["a", "b"]],
    ),
    Vector({"items": False}, [[]], [[1]]),
    Vector({"contains": {"const": 1}}, [[0, 1], {}], [[], [0]]),
    Vector(
        {"contains": {"const": 1}, "minContains": 2, "maxContains": 3},
        [[1, 1], [1, 1, 1, 0]],
        [[1], [1, 1, 1, 1]],
    ),
    Vector({"contains": {"const": 1}, "minContains": 0}, [[], [0]], []),
    Vector(LIST, [{"value": 1, "next": {"value": 2}}], [{"value": 1, "next": {}}]),
    Vector({"$ref": "#/$defs/a", "minimum": 1, "$defs": {"a": {"maximum": 2}}}, [1, 2], [0, 3]),
    Vector({"additionalItems": False, "unknown": 7, "title": 7}, [[1]], []),
]

DRAFT_07 = "http://json-schema.org/draft-07/schema#"
VECTORS_07 = [
    Vector({"items": [{"type": "string"}], "additionalItems": False}, [["a"], []], [[1], ["a", 1]]),
    Vector({"items": {"type": "string"}, "additionalItems": False}, [["a", "b"]], [[1]]),
    Vector({"items": []}, [[1]], []),
    Vector({"dependencies": {"a": ["b"]}}, [{"a": 1, "b": 1}], [{"a": 1}]),
    Vector(
        {
            "definitions": {"a": {"type": "string"}},
            "properties": {"x": {"$ref": "#/definitions/a"}},
        },
        [{"x": "a"}],
        [{"x": 1}],
    ),
    Vector(
        {
            "properties": {"x": {"$ref": "#/definitions/a", "maxLength": 1}},
            "definitions": {"a": {}},
        },
        [{"x": "long"}],
        [],
    ),
    Vector({"contains": {"const": 1}, "minContains": 2}, [[1]], [[2]]),
    Vector(
        {"prefixItems": [False], "unevaluatedItems": False, "dependentRequired": {"a": ["b"]}},
        [[1], {"a": 1}],
        [],
    ),
    Vector(
        {
            "properties": {"x": {"$ref": "#here"}},
            "definitions": {"a": {"$id": "#here", "const": 1}},
        },
        [{"x": 1}],
        [{"x": 2}],
    ),
]

VECTORS_UNEVALUATED = [
    Vector(
        {
            "properties": {"a": {}},
            "patternProperties": {"^p": {}},
            "allOf": [{"properties": {"b": {}}}, {"$ref": "#/$defs/c"}],
            "unevaluatedProperties": False,
            "$defs": {"c": {"properties": {"c": {}}}},
        },
        [{"a": 1, "b": 2, "c": 3, "p1": 4}, []],
        [{"d": 1}],
    ),
    Vector(
        {
            "anyOf": [
                {"required": ["a"], "properties": {"a": {}}},
                {"required": ["b"], "properties": {"b": {}}},
            ],
            "unevaluatedProperties": False,
        },
        [{"a": 1}, {"a": 1, "b": 1}],
        [{"a": 1, "c": 1}, {}],
    ),
    Vector(
        {
            "oneOf": [
                {"properties": {"a": {"const": 1}}},
                {"properties": {"b": {}}, "required": ["b"]},
            ],
            "unevaluatedProperties": False,
        },
        [{"a": 1}, {}],
        [{"a": 2, "b": 1}, {"a": 1, "b": 1}],
    ),
    Vector(
        {
            "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
            "then": {"properties": {"b": {}}},
            "else": {"properties": {"c": {}}},
            "unevaluatedProperties": False,
        },
        [{"a": 1, "b": 2}, {"c": 1}],
        [{"a": 1, "c": 2}, {"b": 1}],
    ),
    Vector(
        {"dependentSchemas": {"a": {"properties": {"a": {}}}}, "unevaluatedProperties": False},
        [{"a": 1}],
        [{"b": 1}],
    ),
    Vector(
        {"not": {"not": {"properties": {"a": {}}}}, "unevaluatedProperties": False},
        [{}],
        [{"a": 1}],
    ),
    Vector(
        {"additionalProperties": {"type": "string"}, "unevaluatedProperties": False},
        [{"a": "x"}],
        [{"a": 1}],
    ),
    Vector({"unevaluatedProperties": {"type": "string"}}, [{"a": "x"}], [{"a": 1}]),
    Vector(
        {
            "allOf": [{"properties": {"a": {}}, "unevaluatedProperties": {"type": "string"}}],
            "unevaluatedProperties": False,
        },
        [{"a": 1, "b": "x"}],
        [{"b": 1}],
    ),
    Vector(
        {"prefixItems": [{}], "allOf": [{"prefixItems": [{}, {}]}], "unevaluatedItems": False},
        [[1], [1, 2], {}],
        [[1, 2, 3]],
    ),
    Vector({"items": {"type": "string"}, "unevaluatedItems": False}, [["a"]], [[1]]),
    Vector({"contains": {"const": 1}, "unevaluatedItems": {"const": 2}}, [[1, 2]], [[1, 3], [2]]),
    Vector({"unevaluatedItems": {"type": "string"}}, [["a"]], [["a", 1]]),
]


@each_row("vector", [*VECTORS_2020_12, *VECTORS_UNEVALUATED])
def test_every_keyword_of_2020_12(vector: Vector) -> None:
    """F-API-17: every keyword of the default dialect."""
    check(vector)


@each_row("vector", VECTORS_07)
def test_what_draft_07_says_differently(vector: Vector) -> None:
    """F-API-17: what draft-07 says differently."""
    check(vector._replace(schema={"$schema": DRAFT_07, **vector.schema}))


def check(vector: Vector) -> None:
    schema = compile_schema(vector.schema)
    for value in vector.valid:
        assert schema.validate(value) == []
    for value in vector.invalid:
        assert schema.validate(value), value


def test_subclasses_of_json_types_are_taken_for_what_they_are() -> None:
    class Text(str):
        __slots__ = ()

    schema = compile_schema({"type": "string", "maxLength": 1})
    assert schema.validate(Text("a")) == []
    assert schema.validate(Text("ab"))
