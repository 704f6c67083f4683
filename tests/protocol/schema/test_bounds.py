"""Hostile schemas and values: every one ends, with an answer that says so: F-API-17."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import ProtocolViolation
from mcpclient.protocol.schema import NotChecked, Schema, SchemaError, SchemaLimits, compile_schema
from tests.support.tables import each_row

SMALL = SchemaLimits(validation_steps=2_000)


def given_up(schema: Schema, value: object) -> str:
    with pytest.raises(NotChecked) as caught:
        schema.validate(value)
    assert not isinstance(caught.value, ProtocolViolation)
    assert str(caught.value) == f"not checked: {caught.value.reason}"
    return caught.value.reason


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


COSTLY: list[tuple[dict[str, Any], Any]] = [
    ({"const": [[0] * 3000]}, [[0] * 3000]),
    ({"uniqueItems": True}, list(range(3000))),
    ({"items": True}, [0] * 3000),
    ({"additionalProperties": True}, dict.fromkeys(map(str, range(3000)))),
    ({"unevaluatedItems": True}, [0] * 3000),
    ({"unevaluatedProperties": True}, dict.fromkeys(map(str, range(3000)))),
    ({"required": ["a"] * 3000, "allOf": [{"required": ["a"] * 30_000}]}, {"a": 1}),
    ({"dependentRequired": {"a": ["a"] * 30_000}}, {"a": 1}),
    ({"pattern": "x"}, "a" * 30_000),
    ({"enum": ["a" * 10_000_000]}, "a" * 10_000_000),
    ({"format": "email"}, "a" * 30_000),
]


@each_row(("schema", "value"), COSTLY)
def test_large_values_are_accounted_for(schema: dict[str, Any], value: object) -> None:
    """F-API-17: the budget counts the parts of the value, whichever keyword walks them."""
    assert "too many steps" in given_up(
        compile_schema(schema, limits=SMALL, assert_formats=True), value
    )
    assert compile_schema({"type": "object"}, limits=SMALL).validate(value) is not None


DIGITS = 10**4200  # a JSON parser takes integers of up to 4300 digits
HUGE = "x" * 1_000_000
SIZED: list[tuple[dict[str, Any], Any]] = [
    ({"multipleOf": 10**2000}, DIGITS),
    ({"multipleOf": 1e-300}, DIGITS),
    ({"multipleOf": DIGITS}, 1e300),
    ({"const": DIGITS}, DIGITS),
    ({"uniqueItems": True}, [DIGITS]),
    ({"const": HUGE}, HUGE),
    ({"const": {HUGE: 1}}, {HUGE: 1}),
    ({"properties": {HUGE: True}}, {HUGE: 1}),
    ({"required": [HUGE]}, {HUGE: 1}),
]


@each_row(("schema", "value"), SIZED)
def test_a_step_costs_by_size(schema: dict[str, Any], value: object) -> None:
    """F-API-17: so many large values are given up, and do not hold the event loop for seconds."""
    limits = SchemaLimits(validation_steps=200, compilation_steps=10**9)
    small = {"items": {"allOf": [{"type": ["object", "string", "number", "array"]}] * 2}}
    assert compile_schema(small, limits=limits).validate([1] * 20) == []
    many = compile_schema({"items": {"allOf": [schema, schema]}}, limits=limits)
    assert "too many steps" in given_up(many, [value] * 60)


def test_what_cannot_be_interrupted_is_not_begun() -> None:
    """F-API-17: where the steps ahead would take longer than there is time."""
    schema = compile_schema({"uniqueItems": True}, clock=lambda: 0.0)
    assert schema.validate(list(range(1_000))) == []
    assert given_up(schema, [0] * 300_000) == "it takes longer than 0.2 s"


NAMES = [str(number) for number in range(200)]
MANY: list[dict[str, Any]] = [
    {"dependentSchemas": dict.fromkeys(NAMES, False)},
    {"properties": dict.fromkeys(NAMES, False)},
    {"allOf": [False] * 200},
    {"required": [f"no {name}" for name in NAMES]},
    {"propertyNames": False},
    {"additionalProperties": False},
]


@each_row("schema", MANY)
def test_violations_are_not_collected_without_end(schema: dict[str, Any]) -> None:
    """F-API-17: a keyword goes on to no more members than there can be violations."""
    run = compile_schema(schema, limits=SchemaLimits(validation_steps=80))
    assert len(run.validate(dict.fromkeys(NAMES, 1))) == 20


def test_too_many_subschemas() -> None:
    with pytest.raises(SchemaError, match="it has over 100 subschemas"):
        compile_schema({"prefixItems": [{}] * 100}, limits=SchemaLimits(subschemas=100))


@each_row("schema", [{"const": 1}, {"uniqueItems": True}, {"enum": [[]]}])
def test_too_deep_a_value_to_compare(schema: dict[str, Any]) -> None:
    assert "nested too deeply" in given_up(compile_schema(schema), nested(5_000))


def test_the_text_of_a_pattern_counts() -> None:
    """F-API-17: looking for a closing brace from each of these would take minutes."""
    with pytest.raises(SchemaError, match="too large"):
        compile_schema({"pattern": "{" * 40_000})
    limits = SchemaLimits(pattern_states=1_000)
    with pytest.raises(SchemaError, match="too long"):
        compile_schema(
            {"allOf": [{"pattern": f"[{'a' * 1_500}{n}]"} for n in range(3)]}, limits=limits
        )


def test_many_dynamic_anchors_compile_at_once() -> None:
    """F-API-17: each target leads to the next name."""
    definitions = {
        f"s{n}": {"$dynamicAnchor": f"a{n}", "items": {"$dynamicRef": f"#a{n + 1}"}}
        for n in range(3_000)
    }
    last = {"$dynamicAnchor": "a3000", "type": "integer"}
    schema = compile_schema({"$dynamicRef": "#a0", "$defs": {**definitions, "last": last}})
    assert schema.validate([[[]]]) == []
