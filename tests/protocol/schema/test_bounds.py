"""Hostile schemas and values: every one ends, with an answer that says so."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from mcpclient.protocol.schema import Schema, SchemaError, SchemaLimits, compile_schema

SMALL = SchemaLimits(validation_steps=2_000)


def given_up(schema: Schema, value: object) -> str:
    (violation,) = schema.validate(value)
    text = str(violation)
    assert text.startswith("at the top: the validation was given up: ")
    return text


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
    ({"format": "regex"}, "a" * 30_000),
]


@pytest.mark.parametrize(("schema", "value"), COSTLY, ids=[str(s)[:30] for s, _ in COSTLY])
def test_large_values_are_accounted_for(schema: dict[str, Any], value: object) -> None:
    """F-API-17: the budget counts the parts of the value, whichever keyword walks them."""
    assert "too many steps" in given_up(
        compile_schema(schema, limits=SMALL, assert_formats=True), value
    )
    assert compile_schema({"type": "object"}, limits=SMALL).validate(value) is not None


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
    """F-API-17: long texts that make few states are read in linear time, and not without end.

    Looking for a closing brace from each of these would take minutes.
    """
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
    (violation,) = schema.validate("".join(map(chr, range(0x3000, 0x3200))))
    assert "too many steps" in violation.message
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
