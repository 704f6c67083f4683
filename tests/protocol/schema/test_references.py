"""References: inside the schema, between resources, dynamic ones, and those that lead nowhere.

It proves F-API-17.
"""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.protocol.schema import SchemaError, compile_schema
from tests.support.tables import each_row

DRAFT_07 = "http://json-schema.org/draft-07/schema#"
INTEGER = {"type": "integer"}

# A schema that accepts integers and refuses text, by way of a reference.
REFERENCES: dict[str, Any] = {
    "pointer": {"$ref": "#/$defs/a", "$defs": {"a": INTEGER}},
    "escaped pointer": {"$ref": "#/$defs/a~1b%25~0", "$defs": {"a/b%~": INTEGER}},
    "pointer through a list": {"$ref": "#/$defs/a/allOf/0", "$defs": {"a": {"allOf": [INTEGER]}}},
    "unknown keyword": {"$ref": "#/x/y", "x": {"y": INTEGER}},
    "into an unknown keyword": {"$ref": "#/x/$defs/y", "x": {"$defs": {"y": INTEGER}}},
    "twice into one": {
        "allOf": [{"$ref": "#/x"}, {"$ref": "#/x/allOf/0"}],
        "x": {"allOf": [INTEGER]},
    },
    "inside enum": {"$ref": "#/examples/1", "examples": [0, INTEGER]},
    "anchor": {"$ref": "#here", "$defs": {"a": {"$anchor": "here", **INTEGER}}},
    "relative id": {
        "$id": "http://example.com/root.json",
        "$ref": "folder/../a.json",
        "$defs": {"a": {"$id": "a.json", **INTEGER}},
    },
    "its own id": {
        "$id": "http://example.com/root.json",
        "$ref": "http://example.com/root.json#/$defs/a",
        "$defs": {"a": INTEGER},
    },
    "relative id with a query": {
        "$id": "http://example.com/a/b/root.json?q",
        "$ref": "../../c/./d?x",
        "$defs": {"a": {"$id": "http://example.com/c/d?x", **INTEGER}},
    },
    "another host": {
        "$id": "http://example.com/root.json",
        "$ref": "//other.example/x",
        "$defs": {"a": {"$id": "//other.example/x", **INTEGER}},
    },
    "urn": {
        "$id": "urn:example:root",
        "$ref": "urn:example:root#here",
        "$defs": {"a": {"$anchor": "here", **INTEGER}},
    },
    "anchor in a resource": {
        "$ref": "other#here",
        "$defs": {"a": {"$id": "other", "$defs": {"b": {"$anchor": "here", **INTEGER}}}},
    },
    "pointer in a resource": {
        "$ref": "other#/$defs/b",
        "$defs": {"a": {"$id": "other", "$defs": {"b": INTEGER}}},
    },
    "pointer across a resource": {
        "$ref": "#/$defs/a/$defs/b",
        "$defs": {"a": {"$id": "other", "$defs": {"b": {"$ref": "#/$defs/c"}, "c": INTEGER}}},
    },
    "two equal ids": {
        "$ref": "other",
        "$defs": {"a": {"$id": "other", **INTEGER}, "b": {"$id": "other", **INTEGER}},
    },
    "draft-07 id": {
        "$schema": DRAFT_07,
        "allOf": [{"$ref": "other#"}],
        "definitions": {"a": {"$id": "other", **INTEGER}},
    },
    "draft-07 id beside a reference": {
        "$schema": DRAFT_07,
        "$id": "http://example.com/root",
        "allOf": [{"$id": "http://elsewhere.com/", "$ref": "#/definitions/a"}],
        "definitions": {"a": INTEGER},
    },
    "dynamic as static": {"$dynamicRef": "#here", "$defs": {"a": {"$anchor": "here", **INTEGER}}},
    "dynamic by pointer": {"$dynamicRef": "#/$defs/a", "$defs": {"a": INTEGER}},
    "dynamic in one resource": {
        "$dynamicRef": "#here",
        "$defs": {"a": {"$dynamicAnchor": "here", **INTEGER}},
    },
    "dynamic into a resource that was not entered": {
        "$dynamicRef": "other#here",
        "$defs": {"a": {"$id": "other", "$dynamicAnchor": "here", **INTEGER}},
    },
    "an embedded resource of the other dialect": {
        "$ref": "other",
        "$defs": {
            "a": {
                "$id": "other",
                "$schema": DRAFT_07,
                "allOf": [{"$ref": "#/definitions/a", "type": "string"}],
                "definitions": {"a": INTEGER},
            }
        },
    },
}


@each_row("schema", REFERENCES.values())
def test_a_reference_is_followed(schema: object) -> None:
    """F-API-17: references of every kind inside the schema."""
    compiled = compile_schema(schema)
    assert compiled.validate(1) == []
    assert compiled.validate("x")


def test_a_dynamic_reference_arrives_at_the_outermost_anchor() -> None:
    """F-API-17: a generic list whose user defines the items."""
    generic = {
        "$id": "list",
        "items": {"$dynamicRef": "#item"},
        "$defs": {"item": {"$dynamicAnchor": "item"}},
    }
    schema = {
        "$id": "http://example.com/",
        "properties": {"free": {"$ref": "list"}, "numbers": {"$ref": "numbers"}},
        "$defs": {
            "generic": generic,
            "numbers": {
                "$id": "numbers",
                "$ref": "list",
                "$defs": {"item": {"$dynamicAnchor": "item", **INTEGER}},
            },
        },
    }
    compiled = compile_schema(schema)
    assert compiled.validate({"free": ["x"], "numbers": [1]}) == []
    (violation,) = compiled.validate({"free": ["x"], "numbers": ["x"]})
    assert violation.instance_path == "/numbers/0"


UNRESOLVABLE: dict[str, tuple[Any, str]] = {
    "network": ({"$ref": "https://example.com/x.json"}, "references are not fetched"),
    "file": ({"items": {"$ref": "file:///etc/passwd"}}, "references are not fetched"),
    "relative": ({"$ref": "other.json"}, "'other.json', which is not part of it"),
    "dynamic": ({"$dynamicRef": "https://example.com/x#y"}, "references are not fetched"),
    "pointer": ({"$ref": "#/$defs/a"}, "there is nothing at '/$defs/a'"),
    "pointer into text": ({"$ref": "#/title/0", "title": "x"}, "there is nothing"),
    "pointer past a list": ({"$ref": "#/allOf/1", "allOf": [{}]}, "there is nothing"),
    "pointer with a long index": ({"$ref": "#/allOf/" + "9" * 5000, "allOf": [{}]}, "nothing"),
    "anchor": ({"$ref": "#x"}, "there is no anchor 'x'"),
    "not a schema": ({"$ref": "#/title", "title": "x"}, "'x' is not a schema"),
    "not text": ({"$ref": 1}, "$ref is not a string"),
    "long": ({"$ref": "x" * 5000}, "a URI in it is too long"),
    "not a URI": ({"$id": "http://a/", "$ref": "http://["}, "'http://[': "),
    "itself": ({"$ref": "#"}, "its references lead in a circle"),
    "circle": (
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        "lead in a circle",
    ),
    "circle of combinations": (
        {"items": {"anyOf": [{"type": "null"}, {"not": {"$ref": "#/items"}}]}},
        "lead in a circle",
    ),
    "circle of a negation": ({"not": {"$ref": "#"}}, "lead in a circle"),
    "circle of a consequence": ({"if": {}, "then": {"$ref": "#"}}, "lead in a circle"),
    "circle of an alternative": ({"if": {}, "else": {"$ref": "#"}}, "lead in a circle"),
    "circle of anchors": ({"$dynamicRef": "#a", "$anchor": "a"}, "lead in a circle"),
    "two ids": (
        {"$defs": {"a": {"$id": "x"}, "b": {"$id": "x", "not": {}}}},
        "two different schemas have the $id 'x'",
    ),
    "two anchors": (
        {"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x", "not": {}}}},
        "two different schemas have the anchor 'x'",
    ),
    "id of a wrong type": ({"$id": 1}, "$id is not a string"),
    "id with a fragment": ({"$defs": {"a": {"$id": "#a"}}}, "$id has a fragment"),
    "anchor of a wrong form": ({"$anchor": "a b"}, "$anchor is not a name"),
    "dynamic anchor of a wrong type": ({"$dynamicAnchor": 1}, "$dynamicAnchor is not a name"),
}


@each_row(("schema", "fault"), UNRESOLVABLE.values())
def test_an_unusable_reference_makes_the_schema_unusable(schema: object, fault: str) -> None:
    """F-API-17: nothing is fetched, and nothing is silently taken as permission."""
    with pytest.raises(SchemaError) as caught:
        compile_schema(schema)
    assert fault in str(caught.value)
