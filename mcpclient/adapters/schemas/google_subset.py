"""The subset of JSON Schema that Google's Gemini API documents.

Plain limits and defaults move into the description; other keywords are left out with a note. Every
value that was valid stays valid.

Source: ``responseJsonSchema`` in the reference of GenerationConfig (Gemini API), which lists the
keywords; ``parametersJsonSchema`` takes the same.
"""

from __future__ import annotations

import json
from typing import Any

from ...protocol.schema.dialects import DRAFT_2020_12, join_pointer, subschemas
from .rewriting import JsonSchema, Rewritten, widened

_TAKEN = frozenset(
    {"$defs", "definitions", "$ref", "type", "format", "title", "description", "enum", "items"}
    | {"prefixItems", "minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf"}
    | {"properties", "additionalProperties", "required", "propertyOrdering"}
)
# Keywords that move into the description.
_SAID = frozenset(
    {"default", "const", "enum", "pattern", "format", "minLength", "maxLength", "multipleOf"}
    | {"exclusiveMinimum", "exclusiveMaximum", "uniqueItems", "minProperties", "maxProperties"}
    | {"maxItems", "examples"}
)
# Keywords without effect on which values are valid.
_ANNOTATIONS = frozenset(
    {"default", "examples", "format", "deprecated", "readOnly", "writeOnly", "$comment"}
    | {"contentEncoding", "contentMediaType", "nullable", "example"}
)
_FORMATS = frozenset({"date-time", "date", "time", "int32", "int64", "float", "double"})
# The service rejects a sum above about 960 ("too many states for serving").
_MAX_ITEMS = 900
_MAX_SAID_LENGTH = 300


def google_subset(schema: JsonSchema) -> tuple[JsonSchema, list[str]]:
    """Return a schema with documented keywords only, and notes on the others.

    ``schema`` is in normal form, without combinations at its root. It is not changed.
    """
    subset = _Subset(_sum_of_max_items(schema) > _MAX_ITEMS)
    result = widened(schema, subset.change).schema
    said = ", ".join(sorted(subset.said))
    notes = [f"moved into descriptions: {said}"] if said else []
    return result, notes + list(dict.fromkeys(subset.notes))


class _Subset:
    def __init__(self, has_too_many_items: bool) -> None:
        self.said: set[str] = set()
        self.notes: list[str] = []
        self._refused = {"maxItems"} if has_too_many_items else set()

    def change(self, schema: JsonSchema, path: tuple[str, ...]) -> Rewritten:
        result, exact = _with_members_merged(schema), True
        _use_enum(result)
        left_out = [key for key in result if key not in _TAKEN or key in self._refused]
        if "patternProperties" in result and "additionalProperties" in result:
            left_out.append("additionalProperties")  # it excepts the patterns, which are left out
        if result.get("format", "date") not in _FORMATS:
            left_out.append("format")
        if "enum" in result and not all(_is_plain(value) for value in result["enum"]):
            left_out.append("enum")
        sayings = []
        for keyword in left_out:
            value = result.pop(keyword)
            exact = exact and keyword in _ANNOTATIONS
            if keyword in _SAID:
                self.said.add(keyword)
                sayings.append(_saying(keyword, value))
            elif keyword not in _ANNOTATIONS:
                place = join_pointer(path) or "the root"
                self.notes.append(f"at {place}: the API does not accept {keyword}; left out")
        if sayings:
            described = [result["description"]] if result.get("description") else []
            result["description"] = " ".join([*described, f"({'; '.join(sayings)})"])
        return Rewritten(result, exact)


def _sum_of_max_items(schema: object) -> float:
    if not isinstance(schema, dict):
        return 0
    own = schema.get("maxItems", 0)
    inner = sum(_sum_of_max_items(value) for _, value in subschemas(schema, DRAFT_2020_12))
    return float(own if isinstance(own, (int, float)) else 0) + inner


def _with_members_merged(schema: JsonSchema) -> JsonSchema:
    """Merge the members of ``allOf`` whose keywords do not conflict."""
    result = dict(schema)
    kept = []
    for member in result.pop("allOf", []):
        merged = _merged(result, member)
        if merged is None:
            kept.append(member)
        else:
            result = merged
    if kept:
        result["allOf"] = kept
    return result


# Keywords that apply to the parts which the ones beside them leave over.
_LEFT_OVER = frozenset({"additionalProperties", "items", "unevaluatedProperties"})
_STRUCTURE = _LEFT_OVER | {"properties", "patternProperties", "prefixItems"}


def _merged(first: JsonSchema, second: Any) -> JsonSchema | None:
    """Return one schema for two that must both hold, or None if they cannot be merged."""
    if not isinstance(second, dict):
        return None
    result = dict(first)
    for keyword, value in second.items():
        if keyword not in result or result[keyword] == value:
            result[keyword] = value
        elif keyword == "properties" and not result[keyword].keys() & value.keys():
            result[keyword] = {**result[keyword], **value}
        elif keyword == "required":
            result[keyword] = list(dict.fromkeys([*result[keyword], *value]))
        elif keyword not in ("title", "description", "default"):
            return None
    if first.keys() & _STRUCTURE and second.keys() & _STRUCTURE:
        return None if (first.keys() | second.keys()) & _LEFT_OVER else result
    return result


def _use_enum(schema: JsonSchema) -> None:
    """Write a constant as an enum, and a null among the values as a type."""
    if "const" in schema and _is_plain(schema["const"]) and "enum" not in schema:
        schema["enum"] = [schema.pop("const")]
    values = schema.get("enum")
    kinds = schema.get("type")
    if values and None in values and len(values) > 1 and "anyOf" not in schema:
        rest = [value for value in values if value is not None]
        if isinstance(kinds, list) and "null" in kinds and all(map(_is_plain, rest)):
            single = [kind for kind in kinds if kind != "null"]
            del schema["enum"], schema["type"]
            kind = single[0] if len(single) == 1 else single
            branch = {"type": kind, "enum": rest} if single else {"enum": rest}
            schema["anyOf"] = [branch, {"type": "null"}]


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _saying(keyword: str, value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{keyword}: {text[:_MAX_SAID_LENGTH]}{'…' if len(text) > _MAX_SAID_LENGTH else ''}"
