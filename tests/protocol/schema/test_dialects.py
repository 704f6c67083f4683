"""Dialects: which one a schema is in, and schemas that are malformed in theirs: F-API-17."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.protocol.schema import SchemaError, compile_schema
from tests.support.tables import each_row

DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"
DRAFT_07 = "http://json-schema.org/draft-07/schema#"


MALFORMED: list[dict[str, Any]] = [
    {"type": "text"},
    {"type": 1},
    {"type": []},
    {"type": [1]},
    {"enum": 1},
    {"multipleOf": 0},
    {"multipleOf": "1"},
    {"multipleOf": True},
    {"maximum": None},
    {"minimum": "1"},
    {"exclusiveMaximum": True},
    {"exclusiveMinimum": []},
    {"maxLength": -1},
    {"minLength": 1.5},
    {"pattern": 1},
    {"maxItems": "1"},
    {"minItems": -1},
    {"uniqueItems": 1},
    {"maxProperties": {}},
    {"minProperties": -1},
    {"required": "a"},
    {"required": [1]},
    {"properties": []},
    {"properties": {"a": 1}},
    {"patternProperties": []},
    {"additionalProperties": 1},
    {"propertyNames": []},
    {"items": 1},
    {"contains": []},
    {"allOf": []},
    {"allOf": {}},
    {"anyOf": [1]},
    {"oneOf": 1},
    {"not": 1},
    {"if": 1},
    {"format": 1},
]
MALFORMED_07: list[dict[str, Any]] = [
    {"items": [1]},
    {"items": [], "additionalItems": 1},
    {"dependencies": {"a": 1}},
    {"dependencies": {"a": [1]}},
    {"$ref": 1},
]


@each_row("schema", [*MALFORMED, *MALFORMED_07])
def test_a_malformed_schema_of_draft_07_is_refused(schema: dict[str, Any]) -> None:
    """F-API-17: by the compiler, and by the metaschema of draft-07."""
    with pytest.raises(SchemaError):
        compile_schema({"$schema": DRAFT_07, **schema})
    assert compile_schema({"$ref": "http://json-schema.org/draft-07/schema"}).validate(schema)


@pytest.mark.parametrize("uri", sorted({DRAFT_2020_12, "http://json-schema.org/draft-07/schema"}))
def test_a_metaschema_describes_itself(uri: str) -> None:
    """F-API-17: references to the metaschemas work offline, dynamic ones included."""
    schema = compile_schema({"$ref": uri})
    assert schema.validate({"properties": {"a": {"items": {"type": "string"}}}}) == []
    (violation, *_) = schema.validate({"properties": {"a": {"not": {"minLength": -1}}}})
    assert violation.instance_path == "/properties/a/not/minLength"


@pytest.mark.parametrize("uri", sorted({DRAFT_2020_12, "http://json-schema.org/draft-07/schema"}))
def test_a_metaschema_looks_at_every_definition_and_follows_no_reference(uri: str) -> None:
    """F-API-17"""
    schema = compile_schema({"items": {"$ref": uri}})
    definitions = "$defs" if uri == DRAFT_2020_12 else "definitions"
    (violation,) = schema.validate([{definitions: {"a": {"type": 1}}}])
    assert violation.instance_path == f"/0/{definitions}/a/type"
    elsewhere = {"$ref": "https://example.com/", "items": {"$ref": "#/nowhere"}}
    assert schema.validate([elsewhere, {"not": {"$ref": "#"}}, True]) == []
    assert schema.validate([1, "x"])
