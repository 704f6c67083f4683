"""The metaschemas of the supported dialects, so that a reference to one needs no network.

These are the documents published at the URIs, without their prose and default values.
"""

from __future__ import annotations

from collections.abc import Mapping

_DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/"
_DRAFT_07 = "http://json-schema.org/draft-07/schema#"

_SCHEMA = {"$dynamicRef": "#meta"}
_SCHEMA_07 = {"$ref": "#"}
_STRING = {"type": "string"}
_BOOLEAN = {"type": "boolean"}
_NUMBER = {"type": "number"}
_URI_REFERENCE = {"type": "string", "format": "uri-reference"}
_ARRAY = {"type": "array", "items": True}
_SIMPLE_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")


def _map_of(schema: object, **further: object) -> dict[str, object]:
    return {"type": "object", "additionalProperties": schema, **further}


def _schema_array(schema: object) -> dict[str, object]:
    return {"schemaArray": {"type": "array", "minItems": 1, "items": schema}}


def _definitions(least_size: object) -> dict[str, object]:
    """Return the definitions that `_assertions` refers to."""
    return {
        "nonNegativeInteger": {"type": "integer", "minimum": 0},
        "nonNegativeIntegerDefault0": least_size,
        "simpleTypes": {"enum": [*_SIMPLE_TYPES]},
        "stringArray": {"type": "array", "items": _STRING, "uniqueItems": True},
    }


def _assertions(reference: str) -> dict[str, object]:
    """Return the assertions that both dialects have; ``reference`` leads to definitions."""
    type_name = {"$ref": f"{reference}simpleTypes"}
    type_names = {"type": "array", "items": type_name, "minItems": 1, "uniqueItems": True}
    size = {"$ref": f"{reference}nonNegativeInteger"}
    least_size = {"$ref": f"{reference}nonNegativeIntegerDefault0"}
    bounds = ("maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum")
    return {
        "type": {"anyOf": [type_name, type_names]},
        "const": True,
        "enum": _ARRAY,
        "multipleOf": {"type": "number", "exclusiveMinimum": 0},
        **dict.fromkeys(bounds, _NUMBER),
        **dict.fromkeys(("maxLength", "maxItems", "maxProperties"), size),
        **dict.fromkeys(("minLength", "minItems", "minProperties"), least_size),
        "pattern": {"type": "string", "format": "regex"},
        "uniqueItems": _BOOLEAN,
        "required": {"$ref": f"{reference}stringArray"},
    }


def _applicators(schema: object, reference: str) -> dict[str, object]:
    """Return the applicators that both dialects have."""
    schemas = {"$ref": f"{reference}schemaArray"}
    singles = ("contains", "additionalProperties", "propertyNames", "if", "then", "else", "not")
    return {
        **dict.fromkeys(singles, schema),
        **dict.fromkeys(("allOf", "anyOf", "oneOf"), schemas),
        "properties": _map_of(schema),
        "patternProperties": _map_of(schema, propertyNames={"format": "regex"}),
    }


_META_DATA = {
    "title": _STRING,
    "description": _STRING,
    "default": True,
    "readOnly": _BOOLEAN,
    "examples": _ARRAY,
}


def _vocabulary(
    name: str, properties: Mapping[str, object], definitions: Mapping[str, object] | None = None
) -> dict[str, object]:
    document: dict[str, object] = {
        "$schema": f"{_DRAFT_2020_12}schema",
        "$id": f"{_DRAFT_2020_12}meta/{name}",
        "$vocabulary": {f"{_DRAFT_2020_12}vocab/{name}": True},
        "$dynamicAnchor": "meta",
        "type": ["object", "boolean"],
        "properties": properties,
    }
    return {**document, "$defs": definitions} if definitions else document


_SIZE = {"$ref": "#/$defs/nonNegativeInteger"}
_URI = {"$ref": "#/$defs/uriString"}
_REFERENCE = {"$ref": "#/$defs/uriReferenceString"}
_ANCHOR = {"$ref": "#/$defs/anchorString"}

_VOCABULARIES = [
    _vocabulary(
        "core",
        {
            "$id": {**_REFERENCE, "pattern": "^[^#]*#?$"},
            "$schema": _URI,
            **dict.fromkeys(("$ref", "$dynamicRef"), _REFERENCE),
            **dict.fromkeys(("$anchor", "$dynamicAnchor"), _ANCHOR),
            "$vocabulary": _map_of(_BOOLEAN, propertyNames=_URI),
            "$comment": _STRING,
            "$defs": _map_of(_SCHEMA),
        },
        {
            "anchorString": {"type": "string", "pattern": "^[A-Za-z_][-A-Za-z0-9._]*$"},
            "uriString": {"type": "string", "format": "uri"},
            "uriReferenceString": _URI_REFERENCE,
        },
    ),
    _vocabulary(
        "applicator",
        {
            **_applicators(_SCHEMA, "#/$defs/"),
            "prefixItems": {"$ref": "#/$defs/schemaArray"},
            "items": _SCHEMA,
            "dependentSchemas": _map_of(_SCHEMA),
        },
        _schema_array(_SCHEMA),
    ),
    _vocabulary(
        "unevaluated", dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), _SCHEMA)
    ),
    _vocabulary(
        "validation",
        {
            **_assertions("#/$defs/"),
            **dict.fromkeys(("maxContains", "minContains"), _SIZE),
            "dependentRequired": _map_of({"$ref": "#/$defs/stringArray"}),
        },
        _definitions(_SIZE),
    ),
    _vocabulary("meta-data", {**_META_DATA, "deprecated": _BOOLEAN, "writeOnly": _BOOLEAN}),
    _vocabulary("format-annotation", {"format": _STRING}),
    _vocabulary(
        "content",
        {"contentEncoding": _STRING, "contentMediaType": _STRING, "contentSchema": _SCHEMA},
    ),
]
_NAMES = [str(document["$id"]).rpartition("/")[2] for document in _VOCABULARIES]

_DOCUMENTS: list[dict[str, object]] = [
    {
        "$schema": f"{_DRAFT_2020_12}schema",
        "$id": f"{_DRAFT_2020_12}schema",
        "$vocabulary": {f"{_DRAFT_2020_12}vocab/{name}": True for name in _NAMES},
        "$dynamicAnchor": "meta",
        "allOf": [{"$ref": f"meta/{name}"} for name in _NAMES],
        "type": ["object", "boolean"],
        "properties": {
            "definitions": _map_of(_SCHEMA),
            "dependencies": _map_of(
                {"anyOf": [_SCHEMA, {"$ref": "meta/validation#/$defs/stringArray"}]}
            ),
            "$recursiveAnchor": {"$ref": "meta/core#/$defs/anchorString"},
            "$recursiveRef": {"$ref": "meta/core#/$defs/uriReferenceString"},
        },
    },
    *_VOCABULARIES,
    {
        "$schema": _DRAFT_07,
        "$id": _DRAFT_07,
        "definitions": {
            **_schema_array(_SCHEMA_07),
            **_definitions({"allOf": [{"$ref": "#/definitions/nonNegativeInteger"}, {}]}),
        },
        "type": ["object", "boolean"],
        "properties": {
            **dict.fromkeys(("$id", "$ref"), _URI_REFERENCE),
            "$schema": {"type": "string", "format": "uri"},
            **dict.fromkeys(("$comment", "format", "contentMediaType", "contentEncoding"), _STRING),
            **_META_DATA,
            **_assertions("#/definitions/"),
            **_applicators(_SCHEMA_07, "#/definitions/"),
            "additionalItems": _SCHEMA_07,
            "items": {"anyOf": [_SCHEMA_07, {"$ref": "#/definitions/schemaArray"}]},
            "definitions": _map_of(_SCHEMA_07),
            "dependencies": _map_of({"anyOf": [_SCHEMA_07, {"$ref": "#/definitions/stringArray"}]}),
        },
    },
]

METASCHEMAS: Mapping[str, object] = {
    str(document["$id"]).rstrip("#"): document for document in _DOCUMENTS
}
