"""The metaschemas of the supported dialects, so that a reference to one needs no network.

They say what the documents published at the URIs say, in one document for each dialect, without
prose and default values.
"""

from __future__ import annotations

from collections.abc import Mapping

_DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"
_DRAFT_07 = "http://json-schema.org/draft-07/schema"

_STRING = {"type": "string"}
_BOOLEAN = {"type": "boolean"}
_NUMBER = {"type": "number"}
_URI = {"type": "string", "format": "uri"}
_URI_REFERENCE = {"type": "string", "format": "uri-reference"}
_ANCHOR = {"type": "string", "pattern": "^[A-Za-z_][-A-Za-z0-9._]*$"}
_ARRAY = {"type": "array", "items": True}
_SIMPLE_TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"]


def _map_of(schema: object, **further: object) -> dict[str, object]:
    return {"type": "object", "additionalProperties": schema, **further}


def _definitions(schema: object) -> dict[str, object]:
    """Return the definitions that `_keywords` refers to."""
    return {
        "schemaArray": {"type": "array", "minItems": 1, "items": schema},
        "nonNegativeInteger": {"type": "integer", "minimum": 0},
        "simpleTypes": {"enum": _SIMPLE_TYPES},
        "stringArray": {"type": "array", "items": _STRING, "uniqueItems": True},
    }


def _keywords(schema: object, reference: str) -> dict[str, object]:
    """Return the keywords that both dialects have; ``reference`` leads to definitions."""
    type_name = {"$ref": f"{reference}simpleTypes"}
    type_names = {"type": "array", "items": type_name, "minItems": 1, "uniqueItems": True}
    names, several = {"$ref": f"{reference}stringArray"}, {"$ref": f"{reference}schemaArray"}
    size = {"$ref": f"{reference}nonNegativeInteger"}
    numbers = ("maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum")
    sizes = ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties")
    schemas = ("contains", "additionalProperties", "propertyNames", "if", "then", "else", "not")
    strings = ("title", "description", "$comment", "format", "contentMediaType", "contentEncoding")
    return {
        "type": {"anyOf": [type_name, type_names]},
        "multipleOf": {"type": "number", "exclusiveMinimum": 0},
        "pattern": {"type": "string", "format": "regex"},
        "required": names,
        "properties": _map_of(schema),
        "patternProperties": _map_of(schema, propertyNames={"format": "regex"}),
        "dependencies": _map_of({"anyOf": [schema, names]}),
        "definitions": _map_of(schema),
        "$schema": _URI,
        "$ref": _URI_REFERENCE,
        **dict.fromkeys(("const", "default"), True),
        **dict.fromkeys(("enum", "examples"), _ARRAY),
        **dict.fromkeys(("uniqueItems", "readOnly"), _BOOLEAN),
        **dict.fromkeys(numbers, _NUMBER),
        **dict.fromkeys(sizes, size),
        **dict.fromkeys(schemas, schema),
        **dict.fromkeys(("allOf", "anyOf", "oneOf"), several),
        **dict.fromkeys(strings, _STRING),
    }


_SCHEMA = {"$dynamicRef": "#meta"}
_SCHEMA_07 = {"$ref": "#"}
_SIZE = {"$ref": "#/$defs/nonNegativeInteger"}

METASCHEMAS: Mapping[str, object] = {
    _DRAFT_2020_12: {
        "$schema": _DRAFT_2020_12,
        "$id": _DRAFT_2020_12,
        "$dynamicAnchor": "meta",
        "type": ["object", "boolean"],
        "properties": {
            **_keywords(_SCHEMA, "#/$defs/"),
            "$id": {**_URI_REFERENCE, "pattern": "^[^#]*#?$"},
            "$dynamicRef": _URI_REFERENCE,
            "$vocabulary": _map_of(_BOOLEAN, propertyNames=_URI),
            "prefixItems": {"$ref": "#/$defs/schemaArray"},
            "dependentRequired": _map_of({"$ref": "#/$defs/stringArray"}),
            **dict.fromkeys(("$anchor", "$dynamicAnchor"), _ANCHOR),
            **dict.fromkeys(("$defs", "dependentSchemas"), _map_of(_SCHEMA)),
            **dict.fromkeys(("items", "contentSchema"), _SCHEMA),
            **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), _SCHEMA),
            **dict.fromkeys(("maxContains", "minContains"), _SIZE),
            **dict.fromkeys(("deprecated", "writeOnly"), _BOOLEAN),
        },
        "$defs": _definitions(_SCHEMA),
    },
    _DRAFT_07: {
        "$schema": f"{_DRAFT_07}#",
        "$id": f"{_DRAFT_07}#",
        "type": ["object", "boolean"],
        "properties": {
            **_keywords(_SCHEMA_07, "#/definitions/"),
            "$id": _URI_REFERENCE,
            "additionalItems": _SCHEMA_07,
            "items": {"anyOf": [_SCHEMA_07, {"$ref": "#/definitions/schemaArray"}]},
        },
        "definitions": _definitions(_SCHEMA_07),
    },
}
