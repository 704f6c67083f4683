"""Rewriting schemas: nothing valid becomes invalid, and losses are reported."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from math import inf, nan
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.adapters.schemas import reduced, rewriting
from mcpclient.adapters.schemas.rewriting import modern_schema, normal_schema, with_root_apart
from mcpclient.adapters.schemas.strict import CLAUDE, strict_schema, without_nulls
from mcpclient.protocol.json_schema import target_of
from mcpclient.protocol.schema import compile_schema
from mcpclient.protocol.types import Tool
from tests.adapters.shapes import SHAPES, tool
from tests.support.tables import each_row

Json = dict[str, Any]
REFUSED = ("oneOf", "anyOf", "allOf", "enum", "const", "not")


def inlined(schema: Json) -> tuple[Json, list[str]]:
    told: list[str] = []
    return rewriting.inlined(schema, told), told


def google_subset(schema: Json) -> tuple[Json, list[str]]:
    told: list[str] = []
    return reduced.google_subset(schema, told), told


class PlainRoot(NamedTuple):
    schema: Json
    sentence: str
    notes: list[str]


def plain_root(schema: Json, refused: Iterable[str]) -> PlainRoot:
    told: list[str] = []
    return PlainRoot(*reduced.plain_root(schema, list(refused), told), told)


def normal(schema: object) -> Json:
    made, _ = normal_schema(tool(schema))
    return made


def notes(schema: object) -> list[str]:
    return normal_schema(tool(schema))[1]


def valid(schema: object, value: object) -> bool:
    return not compile_schema(schema).validate(value)


STEPS: dict[str, Callable[[Json], Json]] = {
    "normal": lambda schema: schema,
    "inlined": lambda schema: inlined(schema)[0],
    "plain root": lambda schema: plain_root(schema, REFUSED).schema,
    "google": lambda schema: google_subset(plain_root(inlined(schema)[0], REFUSED).schema)[0],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("step", STEPS)
def test_what_was_valid_stays_valid(step: str, shape: str) -> None:
    """F-TOOL-1, F-TOOL-6."""
    schema, values = SHAPES[shape]
    made = STEPS[step](normal(schema))
    for value in values:
        assert valid(made, value), (value, made)


LIMITS: list[Json] = [
    {"pattern": "^a"},
    {"maxLength": 1},
    {"const": "ab"},
    {"enum": ["ab", None]},
    {"type": ["string", "null"], "enum": ["ab", None]},
    {"type": "string"},
    {"minimum": 3},
    {"items": {"pattern": "^a"}},
    {"properties": {"a": {"pattern": "^a"}}, "additionalProperties": False},
    {"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": False},
    {"uniqueItems": True},
    {"$ref": "#/$defs/loop"},
    {},
]
DEFINITIONS = {
    "loop": {
        "type": "object",
        "properties": {"again": {"$ref": "#/$defs/loop"}},
        "maxProperties": 1,
    }
}
COMBINED = st.recursive(
    st.sampled_from(LIMITS),
    lambda inner: st.one_of(
        st.builds(lambda one, two: {"oneOf": [one, two]}, inner, inner),
        st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner),
        st.builds(lambda one, two: {"allOf": [one, two]}, inner, inner),
        st.builds(lambda one: {"not": one}, inner),
        st.builds(
            lambda one, two, three: {"if": one, "then": two, "else": three}, inner, inner, inner
        ),
        st.builds(lambda one: {"properties": {"a": one}, "unevaluatedProperties": False}, inner),
        st.builds(lambda one, two: {"allOf": [one], "unevaluatedProperties": two}, inner, inner),
        st.builds(lambda one: {"contains": one, "maxContains": 1}, inner),
        st.builds(lambda one: {"dependentSchemas": {"a": one}}, inner),
    ),
    max_leaves=4,
)
VALUES: list[Any] = [
    "",
    "ab",
    "b",
    None,
    1,
    4,
    [],
    ["ab", "b"],
    {},
    {"a": "ab"},
    {"a": "b", "b": 1},
]
VALUES += [{"again": {"again": {}}}, {"again": {"b": 1, "c": 2}}]


@given(COMBINED)
def test_no_combination_loses_a_value(inner: Json) -> None:
    """F-TOOL-1: below not, oneOf, if and unevaluated, allowing more would allow less."""
    for schema, wrapped in (
        ({"$defs": DEFINITIONS, "properties": {"x": inner}}, True),
        ({"$defs": DEFINITIONS, **inner}, False),
    ):
        before = compile_schema(schema)
        after = [compile_schema(step(normal(schema))) for step in STEPS.values()]
        for value in VALUES:
            arguments = {"x": value} if wrapped else value
            if isinstance(arguments, dict) and not before.validate(arguments):
                for made in after:
                    assert not made.validate(arguments), (schema, arguments)


@each_row(
    ("written", "made"),
    [
        (True, {}),
        (None, {}),
        ([], {}),
        ({"type": ["object", "null"]}, {}),
        ({"properties": {"a": {"required": True}}}, {"properties": {"a": {}}}),
        ({"properties": None}, {}),
        ({"properties": {"a": None}}, {"properties": {"a": {}}}),
        ({"properties": {"a": {"anyOf": []}}}, {"properties": {"a": {}}}),
        ({"properties": {"a": {"items": 5}}}, {"properties": {"a": {}}}),
        ({"properties": {"a": {"items": []}}}, {"properties": {"a": {}}}),
        ({"properties": {"a": {"type": "strin"}}}, {"properties": {"a": {}}}),
        ({"properties": {"a": {"$ref": "#/nope"}}}, {"properties": {"a": {}}}),
        (
            {"properties": {"a": {"$ref": "https://x/", "description": "d"}}},
            {"properties": {"a": {"description": "d"}}},
        ),
        (
            {"properties": {"a": {"anyOf": [True, False], "not": True}}},
            {"properties": {"a": {"anyOf": [{}, {"not": {}}], "not": {}}}},
        ),
        ({"type": "string", "description": "d"}, {"description": "d"}),
        (
            {"properties": {"a": {"type": ["array", "null"]}}},
            {"properties": {"a": {"type": ["array", "null"], "items": {}}}},
        ),
        (
            {"properties": {"a": {"type": "array", "unevaluatedItems": False}}},
            {"properties": {"a": {"type": "array", "unevaluatedItems": False}}},
        ),
        (
            {"properties": {"a": {"maximum": inf, "default": nan, "enum": [1, -inf]}}},
            {"properties": {"a": {"enum": [1]}}},
        ),
        (
            {
                "$id": "http://x/",
                "$defs": {"a": {"$anchor": "b"}},
                "properties": {"c": {"$ref": "#b"}},
            },
            {"properties": {"c": {}}},
        ),
        (
            {"$defs": {"a%/~": {}}, "properties": {"c": {"$ref": "#/$defs/a%25~1~0", "$id": "x:"}}},
            {"properties": {"c": {}}},
        ),
        (
            {"$defs": {"n": {"$dynamicAnchor": "n"}}, "properties": {"c": {"$dynamicRef": "#n"}}},
            {"properties": {"c": {}}},
        ),
    ],
)
def test_normal_form(written: object, made: Json) -> None:
    """F-TOOL-1: valid, of the newest dialect, an object with properties, without identifiers."""
    assert normal(written) == {"type": "object", "properties": {}, **made}


@each_row(
    ("written", "note"),
    [
        (False, "its schema accepts nothing; it takes any arguments"),
        (5, "its schema is not an object; it takes any arguments"),
        ({"type": "string"}, "its schema is for 'string', but arguments are always an object"),
        ({"enum": 5}, "at /enum: enum is not an array; left out"),
        ({"$ref": "#"}, "at the root: its references lead in a circle; left out"),
        ({"allOf": 1}, "at /allOf: not a schema; left out"),
        ({"format": []}, "at /format: format is not a string; left out"),
        ({"then": {"enum": {}}}, "at /then/enum: enum is not an array; left out"),
        (
            {"propertyOrdering": [1]},
            "at /propertyOrdering: propertyOrdering is not an array of strings; left out",
        ),
        ({"examples": [nan]}, "numbers that JSON does not have were left out of its schema"),
        ({"properties": {"a": 5}}, "at /properties/a: not a schema; anything is taken there"),
    ],
)
def test_what_was_wrong_is_told(written: object, note: str) -> None:
    """F-TOOL-1."""
    assert notes(written) == [note]


def test_a_schema_with_too_many_faults() -> None:
    """F-TOOL-1: it takes anything, rather than taking for ever."""
    schema = {"properties": {f"p{number}": {"type": 1} for number in range(30)}}
    assert normal(schema) == {"type": "object", "properties": {}}
    assert notes(schema)[-1] == "too much of its schema is broken; it takes any arguments"


def test_what_replaced_dependencies_counts_more() -> None:
    """F-TOOL-1: in the newest dialect, the old keyword says nothing beside the new ones."""
    schema = {"dependentRequired": {"a": ["b"]}, "dependencies": {"a": ["c"], "d": ["e"]}}
    assert modern_schema(schema, [])["dependentRequired"] == {"a": ["b"], "d": ["e"]}


def test_a_schema_that_is_nested_too_deeply() -> None:
    """F-TOOL-1."""
    schema: Json = {}
    for _ in range(3000):
        schema = {"properties": {"a": schema}}
    assert normal(schema) == {"type": "object", "properties": {}}
    assert notes(schema) == ["its schema is too large or nested too deeply; it takes any arguments"]
    assert normal_schema(Tool({"name": "t"})) == ({"type": "object", "properties": {}}, [])


def test_targets() -> None:
    """F-TOOL-1, F-TOOL-6"""
    root = {"a": [{"b": 1}]}
    assert target_of("#/a/0/b", root) == 1
    assert target_of("#/a/1", root) is None
    assert target_of("#/a/0/b/c", root) is None
    assert target_of("elsewhere", root) is None


def test_references_to_a_root_that_changes_are_inlined() -> None:
    """F-TOOL-1, F-TOOL-6: and no others; a cycle is reported."""
    schema: Json = {"$defs": {"d": {}}, "properties": {"a": {"$ref": "#/$defs/d"}}}
    told: list[str] = []
    assert with_root_apart(schema, ["anyOf"], told) is schema
    schema["properties"]["b"] = {"$ref": "#/properties/a"}
    assert with_root_apart(schema, [], told) == {"properties": {"a": {}, "b": {}}}
    assert told == []
    schema["properties"]["b"] = {"$ref": "#"}
    made = with_root_apart(schema, [], told)["properties"]["b"]
    again = {"description": "Of the same form as the arguments."}
    assert made == {"properties": {"a": {}, "b": again}}
    assert told == [
        "at /properties/b/properties/b: the arguments contains itself; any value of its type is "
        "accepted"
    ]


@each_row("keyword", ["properties", "allOf", "anyOf"])
def test_definitions_that_double_at_each_step_take_no_time(keyword: str) -> None:
    """F-TOOL-1: a server's schema must not hold the event loop for ever."""
    definitions: Json = {"d0": {"type": "object", "properties": {"s": {"type": "string"}}}}
    for number in range(1, 80):
        reference = {"$ref": f"#/$defs/d{number - 1}"}
        twice = {"a": reference, "b": reference} if keyword == "properties" else [reference] * 2
        definitions[f"d{number}"] = {keyword: twice}
    last = {"$ref": "#/$defs/d79"}
    inner = normal({"$defs": definitions, "properties": {"x": last}, "required": ["y"]})
    assert "it contains itself" not in strict_schema(inner, CLAUDE)[1]
    expected = {"x": None} if keyword == "properties" else {}
    assert without_nulls({"x": None}, inner, inner) == expected
    root = plain_root(normal({"$defs": definitions, **last}), REFUSED)
    assert set(root.schema["properties"]) == ({"a", "b"} if keyword == "properties" else {"s"})


def plain(schema: Json, refused: Iterable[str] = REFUSED) -> Json:
    return plain_root(normal(schema), list(refused)).schema


def test_properties_that_some_branches_leave_open() -> None:
    """F-TOOL-1: what one branch does not speak of may be anything there."""
    made = plain({"anyOf": [{"properties": {"a": {"type": "string"}}}, {"required": ["b"]}]})
    assert made["properties"] == {"a": {"anyOf": [{"type": "string"}, {}]}}


def test_properties_of_several_branches() -> None:
    """F-TOOL-1: equal ones are one, constants are an enum, others are alternatives."""
    closed = {"additionalProperties": False}
    made = plain(
        {
            "oneOf": [
                {"properties": {"k": {"const": "a"}, "s": {"type": "string"}, "n": {}}, **closed},
                {
                    "properties": {
                        "k": {"enum": ["b", "a"]},
                        "s": {"type": "string"},
                        "n": {"type": "integer"},
                    },
                    **closed,
                },
                {"properties": {"k": {"const": True, "type": "boolean"}}, **closed},
                {"type": "string"},
                {"not": {}},
            ]
        }
    )
    assert made["properties"] == {
        "k": {"enum": ["a", "b", True]},
        "s": {"type": "string"},
        "n": {"anyOf": [{}, {"type": "integer"}]},
    }
    assert made["additionalProperties"] is False
    typed = plain({"oneOf": [{"properties": {"k": {"const": 1, "type": "integer"}}}] * 2})
    assert typed["properties"]["k"] == {"const": 1, "type": "integer"}


def test_a_closed_branch_forbids_what_others_have() -> None:
    """F-TOOL-1: all of them must hold."""
    made = plain(
        {
            "properties": {"a": {"minimum": 1}, "b": {}},
            "additionalProperties": False,
            "allOf": [{"properties": {"a": {"type": "integer"}, "c": {}}, "required": ["a"]}],
        }
    )
    assert made["properties"] == {"a": {"allOf": [{"minimum": 1}, {"type": "integer"}]}, "b": {}}
    assert made["required"] == ["a"]


@each_row(
    ("written", "made"),
    [
        ({"const": "a"}, {"enum": ["a"]}),
        ({"const": True, "type": "boolean"}, {"type": "boolean", "description": "(const: true)"}),
        (
            {"type": ["string", "null"], "enum": ["a", None]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        ),
        (
            {"type": ["string", "integer", "null"], "enum": ["a", 1, None]},
            {"anyOf": [{"type": ["string", "integer"], "enum": ["a", 1]}, {"type": "null"}]},
        ),
        ({"enum": [{"a": 1}]}, {"description": '(enum: [{"a": 1}])'}),
        ({"default": 5, "description": "d"}, {"description": "d (default: 5)"}),
        ({"format": "date-time"}, {"format": "date-time"}),
        ({"format": "uri", "pattern": "^h"}, {"description": "(pattern: ^h; format: uri)"}),
        ({"not": {"type": "string"}}, {}),
        (
            {"allOf": [{"type": "string"}], "description": "d"},
            {"type": "string", "description": "d"},
        ),
        (
            {
                "allOf": [
                    {"properties": {"a": {}}, "required": ["a"]},
                    {"properties": {"b": {}}, "required": ["b"]},
                ]
            },
            {"properties": {"a": {}, "b": {}}, "required": ["a", "b"]},
        ),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "string"}),
        ({"allOf": [{"type": "array", "items": {}}]}, {"type": "array", "items": {}}),
        ({"items": {}, "allOf": [{"minItems": 1}]}, {"items": {}, "minItems": 1}),
        ({"oneOf": [{"pattern": "^a"}, {}]}, {"anyOf": [{"description": "(pattern: ^a)"}, {}]}),
        ({"oneOf": [{"type": "string"}, {}]}, {"oneOf": [{"type": "string"}, {}]}),
        ({"pattern": "x" * 400}, {"description": f"(pattern: {'x' * 300}…)"}),
    ],
)
def test_googles_subset(written: Json, made: Json) -> None:
    """F-TOOL-1: documented keywords only; plain limits are said in words."""
    schema = normal({"properties": {"a": written}})
    assert google_subset(schema)[0]["properties"]["a"] == made


def test_googles_subset_tells_which_members_clash() -> None:
    """F-TOOL-1: what cannot be merged is not lost in silence."""
    clash = [{"type": "string", "enum": ["a"]}, {"enum": ["b"]}]
    schema, notes = google_subset(normal({"properties": {"a": {"allOf": clash}}}))
    assert schema["properties"]["a"]["type"] == "string"
    assert "at /properties/a: the API does not accept allOf; left out" in notes


ADDRESS = {
    "type": "object",
    "properties": {"street": {"type": "string"}, "zip": {"type": "string"}},
}
FITTING: Json = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name"},
        "age": {"type": "integer", "default": 3},
        "kind": {"enum": ["a", "b"]},
        "only": {"const": 1},
        "odd": {"type": ["string", "null"], "enum": ["a"]},
        "home": {"$ref": "#/$defs/address", "description": "where"},
        "work": {"allOf": [{"$ref": "#/$defs/address"}], "description": "where"},
        "again": {"$ref": "#/$defs/address"},
        "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "or": {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "d"},
        "null": {"type": ["string", "null"]},
        "tags": {"type": "array", "items": ADDRESS},
    },
    "required": ["name"],
    "$defs": {"address": {**ADDRESS, "required": ["street"]}},
}


def test_strict_mode() -> None:
    """F-TOOL-1: everything is required, and the optional may be null."""
    strict, reasons = strict_schema(copy.deepcopy(FITTING))
    made = strict.schema
    assert reasons == []
    assert made["required"] == list(FITTING["properties"])
    assert made["additionalProperties"] is False
    null = {"type": "null"}
    reference = {"$ref": "#/$defs/address"}
    assert made["properties"] == {
        "name": {"type": "string"},
        "age": {"type": ["integer", "null"]},
        "kind": {"type": ["string", "null"], "enum": ["a", "b", None]},
        "only": {"type": ["integer", "null"], "enum": [1, None]},
        "odd": {"type": ["string", "null"], "enum": ["a", None]},
        "home": {"anyOf": [reference, null], "description": "where"},
        "work": {"anyOf": [reference, null], "description": "where"},
        "again": {"anyOf": [reference, null]},
        "either": {"anyOf": [{"type": "string"}, null]},
        "or": {"anyOf": [{"type": "string"}, {"type": "integer"}, null], "description": "d"},
        "null": {"type": ["string", "null"]},
        "tags": {
            "type": ["array", "null"],
            "items": {
                "type": "object",
                "properties": {
                    "street": {"type": ["string", "null"]},
                    "zip": {"type": ["string", "null"]},
                },
                "required": ["street", "zip"],
                "additionalProperties": False,
            },
        },
    }


TEXTS = st.text(max_size=3)
ADDRESSES = st.fixed_dictionaries({"street": TEXTS}, optional={"zip": TEXTS})
TAGS: st.SearchStrategy[Any] = st.lists(
    st.fixed_dictionaries({}, optional={"street": TEXTS, "zip": TEXTS})
)
OPTIONAL: dict[str, st.SearchStrategy[Any]] = {
    "age": st.integers(),
    "kind": st.sampled_from(["a", "b"]),
    "home": ADDRESSES,
    "work": ADDRESSES,
    "tags": TAGS,
}
FITTING_VALUES = st.fixed_dictionaries({"name": TEXTS}, optional=OPTIONAL)


def completed(value: Any, names: Iterable[str]) -> Json:
    """The arguments of a model in strict mode: all properties, null for those it leaves out."""
    return {**dict.fromkeys(names), **value}


@given(FITTING_VALUES)
def test_arguments_come_through_strict_mode(arguments: Json) -> None:
    """F-TOOL-1: there and back, at every depth."""
    properties = [name for name in FITTING["properties"] if name not in ("either", "null")]
    sent = completed(arguments, properties)
    for name in ("home", "work"):
        if sent[name] is not None:
            sent[name] = completed(sent[name], ["street", "zip"])
    if sent["tags"] is not None:
        sent["tags"] = [completed(tag, ["street", "zip"]) for tag in sent["tags"]]
    assert without_nulls(sent, FITTING, FITTING) == arguments
    assert valid(strict_schema(FITTING)[0].schema, {**sent, "either": None, "null": None})


def test_nulls_that_mean_something_stay() -> None:
    """F-TOOL-1: where the schema takes null, or says nothing."""
    schema = {
        "properties": {
            "a": {
                "anyOf": [
                    {"type": "array", "items": {"type": "null"}},
                    {"items": {"type": "string"}},
                ]
            },
            "b": {"enum": [1, None]},
            "c": {"$ref": "#/properties/c"},
            "d": {"type": "string"},
            "e": {"type": ["string", "null"], "enum": ["x", None]},
            "f": {"const": None},
            "g": {},
            "h": {"type": "null"},
        },
        "required": ["d"],
    }
    kept = dict.fromkeys("bdefgh")
    sent = {"a": [None], **kept, "more": None}
    assert without_nulls(sent, schema, schema) == sent
    assert without_nulls({"c": None}, schema, schema) == {}


@each_row(
    ("schema", "reason"),
    [
        ({"properties": {"a": {"oneOf": [{}]}}}, "at /properties/a: oneOf is not accepted"),
        ({"properties": {"a": {}}}, "at /properties/a: accepts anything"),
        ({"properties": {"a": {"type": "object"}}}, "at /properties/a: an object of anything"),
        ({"properties": {"a": {"type": "array"}}}, "at /properties/a: an array of anything"),
        (
            {"properties": {"a": {"type": "string", "format": "uri"}}},
            "at /properties/a: the format uri is not accepted",
        ),
        (
            {
                "$defs": {"d": {"type": "object", "properties": {"x": {"type": "string"}}}},
                "properties": {
                    "a": {
                        "$ref": "#/$defs/d",
                        "type": "object",
                        "properties": {"y": {"type": "string"}},
                    }
                },
            },
            "at /properties/a: more than a description beside a reference",
        ),
        ({"additionalProperties": True}, "at the root: accepts properties that are not listed"),
        ({"required": ["x"]}, "at the root: requires 'x', which it does not describe"),
        (
            {"properties": {"a": {"type": "string", "properties": {}}}},
            "at /properties/a: has properties without being an object",
        ),
    ],
)
def test_what_strict_mode_does_not_take(schema: Json, reason: str) -> None:
    """F-TOOL-1: the reason is reported."""
    assert reason in strict_schema(normal(schema))[1]
