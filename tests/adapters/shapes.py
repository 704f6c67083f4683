"""Schemas as servers write them, with values that they take: what several test files go through."""

from __future__ import annotations

from typing import Any

from mcpclient.protocol.types import Tool

Json = dict[str, Any]


def tool(schema: object, name: str = "t", **fields: Any) -> Tool:
    return Tool({"name": name, "inputSchema": schema, **fields})


_NODE = {
    "type": "object",
    "properties": {
        "value": {"type": "integer"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
    },
    "required": ["value"],
}
_TREE = {"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}]}

SHAPES: dict[str, tuple[Json, list[Json]]] = {
    "nothing": ({}, [{}, {"a": 1}]),
    "no properties": ({"type": "object"}, [{}, {"a": [None]}]),
    "plain": (
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        [{"a": ""}, {"a": "x", "b": 2}],
    ),
    "a recursive definition": (
        {
            "$defs": {"Node": _NODE},
            "type": "object",
            "properties": {"tree": {"$ref": "#/$defs/Node"}},
        },
        [{"tree": _TREE}],
    ),
    "a reference at the root": ({"$defs": {"Node": _NODE}, "$ref": "#/$defs/Node"}, [_TREE]),
    "a reference to the root": (
        {"properties": {"again": {"$ref": "#"}, "n": {"type": "integer"}}},
        [{"again": {"again": {"n": 1}}}, {"again": "no object is fine, too"}],
    ),
    "a union at the root": (
        {
            "type": "object",
            "oneOf": [
                {
                    "properties": {"kind": {"const": "a"}, "x": {"type": "string"}},
                    "required": ["kind", "x"],
                    "additionalProperties": False,
                },
                {
                    "properties": {"kind": {"const": "b"}, "y": {"type": "integer"}},
                    "required": ["kind", "y"],
                },
            ],
        },
        [{"kind": "a", "x": "1"}, {"kind": "b", "y": 1}, {"kind": "b", "y": 1, "x": 5}],
    ),
    "required alternatives": (
        {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
            "anyOf": [{"required": ["id"]}, {"required": ["name"]}],
            "additionalProperties": False,
        },
        [{"id": 1}, {"name": "x"}, {"id": 1, "name": "x"}],
    ),
    "allOf at the root": (
        {
            "allOf": [
                {"properties": {"a": {"type": "string"}}, "required": ["a"]},
                {"properties": {"a": {"minLength": 2}, "b": {"type": "null"}}},
            ]
        },
        [{"a": "xy"}, {"a": "xy", "b": None, "c": 1}],
    ),
    "a union that may be null": (
        {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"a": {"const": None}}}]},
        [{}, {"a": None}],
    ),
    "not at the root": ({"type": "object", "not": {"required": ["a"]}}, [{}, {"b": 1}]),
    "draft-07": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"Name": {"$id": "#name", "type": "string"}},
            "type": "object",
            "properties": {
                "pair": {
                    "items": [{"type": "string"}, {"type": "number"}],
                    "additionalItems": False,
                },
                "name": {"$ref": "#name", "minLength": 100},
                "both": {"type": "boolean"},
            },
            "dependencies": {"both": ["name"], "name": {"properties": {"pair": {"type": "array"}}}},
        },
        [{"pair": ["x", 1]}, {"pair": 7}, {"name": "short"}, {"both": True, "name": ""}],
    ),
    "draft-04": (
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "id": "http://example.com/tool",
            "properties": {"n": {"minimum": 1, "exclusiveMinimum": True, "maximum": 9}},
        },
        [{"n": 2}, {"n": 9}, {}],
    ),
    "names that no API takes": (
        {
            "type": "object",
            "properties": {"$top": {"type": "integer"}, "a b": {}, "a_b": {}, "é": {}, "@id": {}},
            "required": ["a b"],
            "patternProperties": {"^x-": {"type": "string"}},
            "additionalProperties": False,
        },
        [{"a b": 1, "a_b": 2, "$top": 3}, {"a b": {}, "é": 1, "@id": None}],
    ),
    "booleans for schemas": (
        {"properties": {"any": True, "none": False, "list": {"items": True}}},
        [{"any": 1, "list": [1]}, {}],
    ),
    "numbers, patterns and defaults": (
        {
            "type": "object",
            "properties": {
                "port": {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 2, "default": 80},
                "code": {"type": "string", "pattern": "^[A-Z]{2}$", "description": "a country"},
                "when": {"type": "string", "format": "uri-reference"},
                "mode": {"enum": ["fast", "slow", None], "type": ["string", "null"]},
                "level": {"enum": [1, True, {"a": 1}]},
                "flag": {"const": True},
            },
        },
        [{"port": 2, "code": "DE"}, {"when": "x", "mode": None, "level": True, "flag": True}],
    ),
    "combinations inside": (
        {
            "type": "object",
            "properties": {
                "one": {"oneOf": [{"type": "string", "pattern": "^a"}, {"type": "string"}]},
                "not": {"not": {"type": "string", "pattern": "^a"}},
                "if": {
                    "if": {"type": "string", "pattern": "^a"},
                    "then": {"maxLength": 3},
                    "else": {"type": "integer"},
                },
                "all": {
                    "allOf": [
                        {"properties": {"a": {"type": "string"}}, "additionalProperties": False},
                        {"properties": {"a": {"minLength": 1}}},
                    ]
                },
                "wrapped": {"allOf": [{"$ref": "#/$defs/Text"}], "description": "some text"},
                "left": {
                    "properties": {"a": {}},
                    "patternProperties": {"^x": {"type": "string"}},
                    "additionalProperties": False,
                },
                "rest": {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False},
            },
            "$defs": {"Text": {"type": "string", "pattern": "."}},
        },
        [
            {"one": "b", "not": "b", "if": "abc", "all": {"a": "x"}, "wrapped": "x"},
            {"not": 1, "if": 7, "left": {"a": 1, "xy": "z"}, "rest": {"a": 1}},
        ],
    ),
}
"""Schemas by what is special about them, each with values that are valid under it."""
