"""Schemas and values made at random, judged by another implementation as well."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.protocol.schema import compile_schema
from tests.support.properties import examples

# The differential. Kept out is where the two differ on purpose: what a pattern is, equality and
# multiples of large numbers, references, and formats, which are checked elsewhere.
NAMES = ("a", "b", "cc")
names = st.sampled_from(NAMES)
counts = st.integers(0, 3)
numbers = st.integers(-3, 5) | st.sampled_from([0.5, 1.0, -2.5])
types = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
scalars = st.none() | st.booleans() | numbers | st.sampled_from(["", "a", "b", "abcd", "é𝄞"])
instances: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)

assertions: dict[str, st.SearchStrategy[Any]] = {
    "type": types | st.lists(types, min_size=1, max_size=3, unique=True),
    "enum": st.lists(instances, max_size=3),
    "const": instances,
    "multipleOf": st.sampled_from([1, 2, 0.5, 3]),
    **dict.fromkeys(("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum"), numbers),
    **dict.fromkeys(("maxLength", "minLength", "maxItems", "minItems"), counts),
    **dict.fromkeys(("maxProperties", "minProperties"), counts),
    "uniqueItems": st.booleans(),
    "required": st.lists(names, max_size=2, unique=True),
    "dependentRequired": st.dictionaries(names, st.lists(names, max_size=2, unique=True)),
    "pattern": st.sampled_from(["a", "^a?b*$", "^.{2,3}$", "[^a]", "(a|b)+d?$"]),
}


def with_subschemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several, by_name = st.lists(inner, min_size=1, max_size=3), st.dictionaries(names, inner)
    applicators: dict[str, st.SearchStrategy[Any]] = {
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), several),
        **dict.fromkeys(("not", "if", "then", "else", "items", "contains"), inner),
        **dict.fromkeys(("additionalProperties", "propertyNames"), inner),
        **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), inner),
        **dict.fromkeys(("properties", "dependentSchemas"), by_name),
        "patternProperties": st.dictionaries(st.sampled_from(["a", "^.$"]), inner),
        **dict.fromkeys(("minContains", "maxContains"), counts),
    }
    return some_of({**applicators, **assertions})


def some_of(keywords: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    pairs = [st.tuples(st.just(keyword), value) for keyword, value in keywords.items()]
    return st.lists(st.one_of(pairs), max_size=4).map(dict)


schemas = st.recursive(st.booleans() | some_of(assertions), with_subschemas, max_leaves=6)


@examples(40)
@given(schemas, st.lists(instances, min_size=1, max_size=4))
def test_another_implementation_agrees(schema: Any, values: list[Any]) -> None:
    """F-API-17: the verdicts of 2020-12 equal the package jsonschema's."""
    compiled, other = compile_schema(schema), jsonschema.Draft202012Validator(schema)
    for value in values:
        assert (not compiled.validate(value)) is other.is_valid(value), json.dumps(value)


# Schemas that mean nothing, or harm.
