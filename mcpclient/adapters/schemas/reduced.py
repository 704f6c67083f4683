"""Schemas for APIs that support part of JSON Schema. Every value that was valid stays valid.

`plain_root`: arguments as one plain object, for APIs that refuse combinations at the root. Branches
of ``anyOf`` and ``oneOf`` become one object that accepts the values of any branch; schemas of
``allOf``, and the target of a reference, one that accepts the values of all. A sentence says which
properties belong together.

`google_subset`: the keywords that Google's Gemini API documents (``responseJsonSchema`` in the
reference of GenerationConfig; ``parametersJsonSchema`` takes the same). Plain limits and defaults
move into the description; other keywords are left out. Both append notes on the losses.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from ...protocol.json_schema import target_of
from ...protocol.schema.values import join_pointer
from ...protocol.schema_properties import types_of
from .rewriting import JsonSchema, Rewritten, every_part, widened, with_root_apart

_COMBINING = ("$ref", "allOf", "anyOf", "oneOf")
# A property that a branch does not mention may have any value.
_ANYTHING: JsonSchema = {}
# The most properties that the description names for a branch.
_NAMED = 6


@dataclass
class _Shape:
    """The properties of an object; ``closed`` means that it accepts no others."""

    properties: dict[str, Any] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    closed: bool = False


def plain_root(
    schema: JsonSchema, refused: Collection[str], notes: list[str]
) -> tuple[JsonSchema, str]:
    """Return a schema without the ``refused`` keywords at its root, and a sentence about them."""
    present = [key for key in schema if key in refused or key == "$ref"]
    combined = [key for key in present if key in _COMBINING]
    notes += [f"{key} at the root was left out" for key in present if key not in _COMBINING]
    if not present:
        return schema, ""
    schema = with_root_apart(schema, present, notes)
    result = {key: value for key, value in schema.items() if key not in present}
    if not combined:
        return result, ""
    shape = _shape(schema, schema, {}) or _Shape()
    result["properties"] = shape.properties
    result.pop("required", None)
    if shape.required:
        result["required"] = shape.required
    if shape.closed:
        result["additionalProperties"] = False
    result.pop("unevaluatedProperties", None)
    unions = [key for key in combined if key in ("anyOf", "oneOf")]
    notes += [f"{key} at the root was merged into one object" for key in combined if key != "$ref"]
    return result, _sentence(schema, unions)


def _shape(value: object, root: JsonSchema, known: dict[str, _Shape | None]) -> _Shape | None:
    """Return the shape of the objects that a schema accepts; None if it accepts no object.

    ``known``: the shapes of references, since definitions can double at each step.
    """
    if not isinstance(value, dict) or value.get("not") == {}:
        return None if value is False or isinstance(value, dict) else _Shape()
    if "type" in value and "object" not in types_of(value):
        return None
    shape: _Shape | None = _Shape(
        dict(value.get("properties", {})),
        list(value.get("required", [])),
        value.get("additionalProperties") is False and not value.get("patternProperties"),
    )
    for member in value.get("allOf", []):
        shape = _both(shape, _shape(member, root, known))
    reference = value.get("$ref")
    if isinstance(reference, str):
        if reference not in known:
            known[reference] = _Shape()  # it may contain itself
            known[reference] = _shape(target_of(reference, root), root, known)
        shape = _both(shape, known[reference])
    for keyword in ("anyOf", "oneOf"):
        if keyword in value:
            branches = [_shape(branch, root, known) for branch in value[keyword]]
            shape = _both(shape, _any([branch for branch in branches if branch is not None]))
    return shape


def _both(first: _Shape | None, second: _Shape | None) -> _Shape | None:
    if first is None or second is None:
        return None
    properties: dict[str, Any] = {}
    for name in [*first.properties, *second.properties]:
        inside = [shape for shape in (first, second) if name in shape.properties]
        if len(inside) == 2:
            both = [shape.properties[name] for shape in inside]
            kept = [schema for schema in both if schema != _ANYTHING] or [_ANYTHING]
            is_one = len(kept) == 1 or kept[0] == kept[1]
            properties[name] = kept[0] if is_one else {"allOf": kept}
        elif not (second if inside[0] is first else first).closed:
            properties[name] = inside[0].properties[name]
    required = dict.fromkeys([*first.required, *second.required])
    return _Shape(properties, list(required), first.closed or second.closed)


def _any(shapes: list[_Shape]) -> _Shape | None:
    if not shapes:
        return None
    options: dict[str, list[Any]] = {}
    for shape in shapes:
        for name, option in shape.properties.items():
            options.setdefault(name, []).append(option)
    open_shapes = [shape for shape in shapes if not shape.closed]
    named = Counter(name for shape in open_shapes for name in shape.properties)
    properties = {
        name: _alternatives([*found, *([_ANYTHING] if named[name] < len(open_shapes) else [])])
        for name, found in options.items()
    }
    common = set(shapes[0].required).intersection(*(shape.required for shape in shapes))
    required = [name for name in shapes[0].required if name in common]
    return _Shape(properties, required, not open_shapes)


def _alternatives(options: list[Any]) -> Any:
    distinct = list({json.dumps(option, sort_keys=True): option for option in options}.values())
    if len(distinct) == 1:
        return distinct[0]
    constants = [_constants(option) for option in distinct]
    if not all(constants):
        return {"anyOf": distinct}
    kind = distinct[0].get("type")
    is_typed = kind is not None and all(option.get("type") == kind for option in distinct)
    values = {json.dumps(value): value for group in constants for value in group}
    return {**({"type": kind} if is_typed else {}), "enum": list(values.values())}


def _constants(option: JsonSchema) -> list[Any]:
    """Return the constants of a schema that lists nothing else, such as a discriminator."""
    if not option.keys() <= {"const", "enum", "type", "title", "description"}:
        return []
    return list(option.get("enum", [option["const"]] if "const" in option else []))


def _sentence(schema: JsonSchema, unions: list[str]) -> str:
    said = []
    for keyword in unions:
        shapes = [_shape(branch, schema, {}) for branch in schema[keyword]]
        groups = [_listed(shape.required or shape.properties) for shape in shapes if shape]
        groups = list(dict.fromkeys(group for group in groups if group))
        if len(groups) > 1:
            number = "one" if keyword == "oneOf" else "at least one"
            said.append(f"Give {number} of these groups of arguments: {' or '.join(groups)}.")
    return " ".join(said)


def _listed(names: Collection[str]) -> str:
    shown = ", ".join(list(names)[:_NAMED])
    return f"({shown}{', …' if len(names) > _NAMED else ''})" if shown else ""


# The subset of Google

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


def google_subset(schema: JsonSchema, notes: list[str]) -> JsonSchema:
    """Return a schema of `plain_root` with documented keywords only."""
    said: set[str] = set()
    left: dict[str, None] = {}
    limits = [each["maxItems"] for each in every_part(schema) if "maxItems" in each]
    numbers = (limit for limit in limits if isinstance(limit, (int, float)))
    taken = _TAKEN - {"maxItems"} if sum(numbers) > _MAX_ITEMS else _TAKEN

    def change(schema: JsonSchema, path: tuple[str, ...]) -> Rewritten:
        result, exact = with_members_merged(schema), True
        _use_enum(result)
        left_out = [key for key in result if key not in taken]
        if "patternProperties" in result and "additionalProperties" in result:
            left_out.append("additionalProperties")  # it excepts the patterns, which are left out
        if result.get("format", "date") not in _FORMATS:
            left_out.append("format")
        if "enum" in result and not all(_is_plain(value) for value in result["enum"]):
            left_out.append("enum")
        sayings: JsonSchema = {}
        for keyword in left_out:
            value = result.pop(keyword)
            exact = exact and keyword in _ANNOTATIONS
            if keyword in _SAID:
                said.add(keyword)
                sayings[keyword] = value
            elif keyword not in _ANNOTATIONS:
                place = join_pointer(path) or "the root"
                left[f"at {place}: the API does not accept {keyword}; left out"] = None
        return Rewritten(described(result, sayings), exact)

    result: JsonSchema = widened(schema, change).schema
    notes += [f"moved into descriptions: {', '.join(sorted(said))}"] if said else []
    notes += left
    return result


def with_members_merged(schema: JsonSchema) -> JsonSchema:
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


# Keywords for the properties or items that their siblings do not cover.
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


def described(schema: JsonSchema, keywords: JsonSchema) -> JsonSchema:
    """Return a schema whose description has keywords that the API does not accept."""
    sayings = []
    for keyword, value in keywords.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        more = "…" if len(text) > _MAX_SAID_LENGTH else ""
        sayings.append(f"{keyword}: {text[:_MAX_SAID_LENGTH]}{more}")
    if not sayings:
        return schema
    return {
        **schema,
        "description": f"{schema.get('description', '')} ({'; '.join(sayings)})".lstrip(),
    }
