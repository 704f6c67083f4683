"""Hostile schemas and values: every one ends, with an answer that says so: F-API-17."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

import pytest

from mcpclient.errors import ProtocolViolation
from mcpclient.protocol.schema import NotChecked, Schema, SchemaError, SchemaLimits, compile_schema
from mcpclient.protocol.schema.values import Budget, Stopped

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


def doubling(keyword: str) -> dict[str, Any]:
    steps = {f"s{n}": {keyword: [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(60)}
    return {"$ref": "#/$defs/s0", "$defs": {**steps, "s60": keyword == "allOf"}}


@pytest.mark.parametrize("keyword", ["allOf", "anyOf"])
def test_exponential_combinations_are_given_up(keyword: str) -> None:
    """F-API-17: 2 to the 60 applications are not made; the message does not grow either."""
    schema = compile_schema(doubling(keyword), limits=SMALL)
    assert "too many steps" in given_up(schema, 1)


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


@pytest.mark.parametrize(("schema", "value"), COSTLY, ids=[str(s)[:30] for s, _ in COSTLY])
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


@pytest.mark.parametrize(("schema", "value"), SIZED, ids=[str(s)[:20] for s, _ in SIZED])
def test_a_step_costs_by_size(schema: dict[str, Any], value: object) -> None:
    """F-API-17: so many large values are given up, and do not hold the event loop for seconds."""
    limits = SchemaLimits(validation_steps=200, compilation_steps=10**9)
    small = {"items": {"allOf": [{"type": ["object", "string", "number", "array"]}] * 2}}
    assert compile_schema(small, limits=limits).validate([1] * 20) == []
    many = compile_schema({"items": {"allOf": [schema, schema]}}, limits=limits)
    assert "too many steps" in given_up(many, [value] * 60)


def ticking(seconds: float) -> Callable[[], float]:
    """Return a clock that goes on by so much whenever somebody looks at it."""
    times = itertools.count()
    return lambda: next(times) * seconds


def test_the_time_is_limited() -> None:
    """F-API-17: whatever the schema is made of, and however slow the machine: by a clock."""
    schema = compile_schema({"items": {"type": "integer"}}, clock=ticking(0.05))
    assert schema.validate([1] * 100) == []
    assert given_up(schema, [1] * 10_000) == "it takes longer than 0.2 s"
    patient = SchemaLimits(seconds=60)
    schema = compile_schema({"items": {"type": "integer"}}, limits=patient, clock=ticking(0.05))
    assert schema.validate([1] * 10_000) == []


def test_what_cannot_be_interrupted_is_not_begun() -> None:
    """F-API-17: where the steps ahead would take longer than there is time."""
    schema = compile_schema({"uniqueItems": True}, clock=lambda: 0.0)
    assert schema.validate(list(range(1_000))) == []
    assert given_up(schema, [0] * 300_000) == "it takes longer than 0.2 s"


def test_the_clock_is_looked_at_seldom() -> None:
    """F-API-17: and a validation without a clock has its steps only."""
    looks = itertools.count()
    schema = compile_schema({"items": True}, clock=lambda: next(looks) * 0.0)
    before = next(looks)
    assert schema.validate([0] * 10_000) == []
    assert next(looks) - before < 30
    assert compile_schema({"items": True}).validate([0] * 100_000) == []


COSTLY_TO_COMPILE: list[dict[str, Any]] = [
    {"enum": [[number] for number in range(3_000)]},
    {"const": [0] * 3_000},
    {"required": ["a"] * 30_000},
    {"allOf": [{"properties": {"a": True}}] * 1_000},
    {"properties": {str(number): {} for number in range(3_000)}},
    {"pattern": "a" * 3_000},
    {"allOf": [{"$ref": "#/default" + "/x" * 300}] * 30, "default": {}},
]


@pytest.mark.parametrize("schema", COSTLY_TO_COMPILE, ids=[str(s)[:20] for s in COSTLY_TO_COMPILE])
def test_making_a_schema_ready_is_limited(schema: dict[str, Any]) -> None:
    """F-API-17: it holds the event loop as much as a validation does."""
    value: dict[str, Any] = {}
    for _ in range(300):
        value = {"x": value}
    schema = {**schema, "default": value} if "default" in schema else schema
    with pytest.raises(SchemaError, match="too many steps"):
        compile_schema(schema, limits=SchemaLimits(compilation_steps=2_000))
    with pytest.raises(SchemaError, match=r"longer than 0\.2 s"):
        compile_schema(schema, clock=ticking(0.15))


def test_a_step_is_not_spent_twice() -> None:
    budget = Budget(1_000, 0.2, None)
    budget.spend(400)
    budget.spend(600)
    with pytest.raises(Stopped):
        budget.spend(1)


NAMES = [str(number) for number in range(200)]
MANY: list[dict[str, Any]] = [
    {"dependentSchemas": dict.fromkeys(NAMES, False)},
    {"properties": dict.fromkeys(NAMES, False)},
    {"allOf": [False] * 200},
    {"required": [f"no {name}" for name in NAMES]},
    {"propertyNames": False},
    {"additionalProperties": False},
]


@pytest.mark.parametrize("schema", MANY, ids=[next(iter(schema)) for schema in MANY])
def test_violations_are_not_collected_without_end(schema: dict[str, Any]) -> None:
    """F-API-17: a keyword goes on to no more members than there can be violations."""
    run = compile_schema(schema, limits=SchemaLimits(validation_steps=80))
    assert len(run.validate(dict.fromkeys(NAMES, 1))) == 20


def test_long_names_are_cut_in_violations() -> None:
    """F-API-17: up to twenty violations would each repeat them, and all those around them."""
    schema = compile_schema({"properties": {HUGE: {"properties": {HUGE: False}}}})
    (violation,) = schema.validate({HUGE: {HUGE: 1}})
    assert violation.instance_path == f"/{HUGE[:1000]}…" * 2
    assert len(violation.schema_path) < 2_100


def test_ten_thousand_subschemas_are_fine() -> None:
    """F-API-17: a large schema is not a hostile one."""
    properties = {f"p{n}": {"type": "integer"} for n in range(10_000)}
    schema = compile_schema({"properties": properties, "required": list(properties)})
    assert schema.validate(dict.fromkeys(properties, 1)) == []
    assert len(schema.validate({})) == 20


def test_too_many_subschemas() -> None:
    with pytest.raises(SchemaError, match="it has over 100 subschemas"):
        compile_schema({"prefixItems": [{}] * 100}, limits=SchemaLimits(subschemas=100))


def test_too_deep_a_schema() -> None:
    """F-API-17: no recursion, so no RecursionError, however deep."""
    schema: dict[str, Any] = {}
    for _ in range(5_000):
        schema = {"not": schema}
    with pytest.raises(SchemaError, match="it is nested over 128 deep"):
        compile_schema(schema)


def test_too_deep_a_value() -> None:
    """F-API-17: a recursive schema follows a deep value only so far."""
    schema = compile_schema({"items": {"$ref": "#"}})
    assert schema.validate(nested(100)) == []
    assert "nested too deeply" in given_up(schema, nested(5_000))


@pytest.mark.parametrize("schema", [{"const": 1}, {"uniqueItems": True}, {"enum": [[]]}])
def test_too_deep_a_value_to_compare(schema: dict[str, Any]) -> None:
    assert "nested too deeply" in given_up(compile_schema(schema), nested(5_000))


def test_too_deep_a_constant() -> None:
    with pytest.raises(SchemaError, match="it is nested too deeply"):
        compile_schema({"const": nested(5_000)})


def test_a_long_chain_of_references() -> None:
    """F-API-17: it compiles without recursion; following it is bounded."""
    chain = {f"s{n}": {"$ref": f"#/$defs/s{n + 1}"} for n in range(5_000)}
    schema = compile_schema({"$ref": "#/$defs/s0", "$defs": {**chain, "s5000": True}})
    assert "nested too deeply" in given_up(schema, 1)


def test_a_recursion_error_never_escapes() -> None:
    """F-API-17: not even when the caller has used up nearly all of Python's stack."""
    schema = compile_schema({"items": {"$ref": "#"}})

    def call_at(depth: int) -> str:
        return call_at(depth - 1) if depth else given_up(schema, nested(100))

    used = 0
    frame = sys._getframe()
    while frame.f_back is not None:
        frame, used = frame.f_back, used + 1
    assert "nested too deeply" in call_at(sys.getrecursionlimit() - used - 60)


def test_long_names_are_not_repeated_in_every_place() -> None:
    """F-API-17: a megabyte of name, ten thousand subschemas below it, and not their product."""
    inner = {"properties": {f"p{n}": {"type": "integer"} for n in range(10_000)}}
    schema = compile_schema({"properties": {"x" * 1_000_000: inner}})
    assert schema.validate({"x" * 1_000_000: {"p1": 1}}) == []


def test_the_text_of_a_pattern_counts() -> None:
    """F-API-17: looking for a closing brace from each of these would take minutes."""
    with pytest.raises(SchemaError, match="too large"):
        compile_schema({"pattern": "{" * 40_000})
    limits = SchemaLimits(pattern_states=1_000)
    with pytest.raises(SchemaError, match="too long"):
        compile_schema(
            {"allOf": [{"pattern": f"[{'a' * 1_500}{n}]"} for n in range(3)]}, limits=limits
        )


def test_the_tests_of_a_character_class_count() -> None:
    """F-API-17: each may be asked of every character, so many of them are no single state."""
    limits = SchemaLimits(pattern_states=2_000, validation_steps=10_000)
    pattern = "[" + r"\p{Lu}" * 900 + "]"
    schema = compile_schema({"pattern": pattern}, limits=limits)
    assert "too many steps" in given_up(schema, "".join(map(chr, range(0x3000, 0x3200))))
    with pytest.raises(SchemaError, match="too large"):
        compile_schema({"pattern": pattern + "{3}"}, limits=limits)


def test_the_automata_of_all_patterns_share_a_limit() -> None:
    limits = SchemaLimits(pattern_states=100)
    assert compile_schema({"pattern": "a{40}"}, limits=limits).validate("a")
    twice = {"allOf": [{"pattern": "a{40}"}] * 3}
    assert compile_schema(twice, limits=limits).validate("a")
    with pytest.raises(SchemaError, match="too large once its repetitions are unrolled"):
        compile_schema({"allOf": [{"pattern": f"a{{4{n}}}"} for n in range(3)]}, limits=limits)


def test_numbers_with_equal_hashes_are_compared_no_slower() -> None:
    """F-API-17: the hashes of Python's numbers collide at will; ten thousand of them are fine."""
    schema = compile_schema({"uniqueItems": True})
    assert schema.validate([number * (2**61 - 1) for number in range(10_000)]) == []


def test_many_dynamic_anchors_compile_at_once() -> None:
    """F-API-17: each target leads to the next name."""
    definitions = {
        f"s{n}": {"$dynamicAnchor": f"a{n}", "items": {"$dynamicRef": f"#a{n + 1}"}}
        for n in range(3_000)
    }
    last = {"$dynamicAnchor": "a3000", "type": "integer"}
    schema = compile_schema({"$dynamicRef": "#a0", "$defs": {**definitions, "last": last}})
    assert schema.validate([[[]]]) == []
