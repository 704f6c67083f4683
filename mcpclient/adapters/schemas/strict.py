"""Schemas for the strict modes of model APIs, and the conversion of strict arguments.

Strict mode guarantees arguments that match the schema, and supports little of JSON Schema: an
object has only the listed properties. With OpenAI every property is required, and an optional one
may be null; `without_nulls` removes those nulls before the server sees them.

Sources: "Structured model outputs, Supported schemas" of OpenAI's documentation, and
``openai/lib/_pydantic.py`` of openai 3.54.0, which makes such schemas from models; "Structured
outputs, JSON Schema limitations" of Anthropic's, and ``anthropic/lib/_parse/_transform.py`` of
anthropic 2.12.0, which moves bounds into descriptions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from ...protocol.json_schema import TYPES, target_of
from ...protocol.schema.references import DRAFT_2020_12, subschemas
from ...protocol.schema.values import join_pointer
from ...protocol.schema_properties import types_of
from .reduced import described, with_members_merged
from .rewriting import JsonSchema, Rewritten, every_part, rewritten

_TAKEN = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"}
    | {"$ref", "$defs", "definitions", "title", "description", "pattern", "format", "multipleOf"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"}
    | {"minLength", "maxLength"}
)
_ANNOTATIONS = frozenset(
    {"default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "title"}
)
_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
_BOUNDS = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength"}
    | {"maxLength", "pattern", "minItems", "maxItems", "format"}
)
_MAX_PROPERTIES = 5_000
_MAX_LEVELS = 10
_MAX_ENUM_VALUES = 1_000
_NULL = {"type": "null"}


@dataclass(frozen=True)
class StrictRules:
    """The strict mode of an API.

    ``taken``: the accepted keywords; ``formats``: the accepted values of ``format``. ``described``:
    keywords that move into the description. ``all_required``: whether optional properties are
    required ones that may be null. ``recursive``: whether a schema may contain itself.
    ``most``: the most strict tools in a request, and the most optional properties and unions that
    these have together.
    """

    taken: Collection[str] = _TAKEN
    formats: Collection[str] = _FORMATS
    described: Collection[str] = ()
    all_required: bool = True
    recursive: bool = True
    most: Sequence[float] = (inf, inf, inf)


OPENAI = StrictRules()
CLAUDE = StrictRules(
    taken=(_TAKEN - _BOUNDS) | {"default", "format"},
    formats=_FORMATS | {"uri"},
    described=_BOUNDS,
    all_required=False,
    recursive=False,
    most=(20, 24, 16),
)


@dataclass(frozen=True)
class Strict:
    """A schema for strict mode, with its share of the limits of a request."""

    schema: JsonSchema
    optional: int
    unions: int


def strict_schema(schema: JsonSchema, rules: StrictRules = OPENAI) -> tuple[Strict, list[str]]:
    """Return a schema for strict mode, and the reasons why it cannot be used, if any.

    ``schema`` is in normal form and has no combinations at its root.
    """
    reasons: dict[str, None] = {}

    def change(value: JsonSchema, path: tuple[str, ...]) -> Rewritten:
        result = {key: inner for key, inner in value.items() if key not in _ANNOTATIONS}
        words = {
            key: result.pop(key)
            for key in list(result)
            if key in rules.described and not (key == "format" and result[key] in rules.formats)
        }
        result = described(result, words)
        for reason in _made_strict(result, rules, is_root=not path):
            reasons[f"at {join_pointer(path) or 'the root'}: {reason}"] = None
        if "$ref" in result and len(result) > 1:
            result = {"anyOf": [{"$ref": result.pop("$ref")}], **result}
        return Rewritten(result, True)

    merged = rewritten(schema, lambda value, _: Rewritten(with_members_merged(value), True))
    result = rewritten(merged.schema, change).schema
    parts = list(every_part(schema))
    optional = [part.get("properties", {}).keys() - part.get("required", []) for part in parts]
    unions = sum("anyOf" in part or isinstance(part.get("type"), list) for part in parts)
    exceeded = {
        f"at the root: over {_MAX_LEVELS} levels deep": _levels(schema) > _MAX_LEVELS,
        f"it has over {_MAX_PROPERTIES} properties": (
            sum(len(part.get("properties", {})) for part in parts) > _MAX_PROPERTIES
        ),
        f"it has over {_MAX_ENUM_VALUES} values in enums": (
            sum(len(part.get("enum", [])) for part in parts) > _MAX_ENUM_VALUES
        ),
        "it contains itself": not rules.recursive and _is_recursive(schema),
    }
    reasons.update({reason: None for reason, is_so in exceeded.items() if is_so})
    return Strict(result, sum(map(len, optional)), unions), list(reasons)


def _levels(schema: JsonSchema) -> int:
    inner = subschemas(schema, DRAFT_2020_12)
    depths = (
        _levels(one) + (place[0] in ("properties", "items"))
        for place, one in inner
        if isinstance(one, dict)
    )
    return max(depths, default=0)


def _is_recursive(schema: JsonSchema) -> bool:
    leads: dict[str, set[str]] = {}
    pending = _references(schema)
    while pending:
        reference = pending.pop()
        leads[reference] = _references(target_of(reference, schema))
        pending |= leads[reference] - leads.keys()
    while ends := [each for each, others in leads.items() if others.isdisjoint(leads)]:
        for each in ends:
            del leads[each]
    return bool(leads)


def _references(schema: object) -> set[str]:
    return {part["$ref"] for part in every_part(schema) if "$ref" in part}


def _made_strict(schema: JsonSchema, rules: StrictRules, *, is_root: bool) -> Iterator[str]:
    """Change a schema whose subschemas are strict; yield the reasons why it cannot be."""
    for keyword in schema.keys() - rules.taken:
        yield f"{keyword} is not accepted"
    if schema.get("format", "date") not in rules.formats:
        yield f"the format {schema['format']} is not accepted"
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if "type" not in schema and values:
        schema["type"] = type_of(values)
    if not schema.keys() & {"type", "anyOf", "$ref"}:
        yield "accepts anything"
    if "$ref" in schema and not schema.keys() <= {"$ref", "$defs", "definitions", "description"}:
        yield "more than a description beside a reference"
    kinds = types_of(schema)
    if "array" in kinds and not schema.get("items"):
        yield "an array of anything"
    properties = schema.get("properties", {})
    if "object" not in kinds:
        if "properties" in schema:
            yield "has properties without being an object"
        return
    if schema.get("additionalProperties", False) is not False:
        yield "accepts properties that are not listed"
    if not is_root and not properties and "additionalProperties" not in schema:
        yield "an object of anything"
    required = schema.get("required", [])
    for name in set(required) - set(properties):
        yield f"requires {name!r}, which it does not describe"
    if rules.all_required:
        properties = {
            name: inner if name in required else _nullable(inner)
            for name, inner in properties.items()
        }
        required = list(properties)
    schema.update(properties=properties, required=required, additionalProperties=False)


def type_of(values: Iterable[object]) -> str | list[str]:
    """Return the ``type`` of a schema with these values."""
    kinds = list(dict.fromkeys(TYPES.get(type(value), "object") for value in values))
    return kinds[0] if len(kinds) == 1 else kinds


def _nullable(schema: JsonSchema) -> JsonSchema:
    if "type" not in schema:
        described = {key: schema[key] for key in ("description",) if key in schema}
        branches = schema.get("anyOf", [schema])
        if _NULL in branches:
            return schema
        takes_more = "anyOf" in schema or "$ref" in schema
        return {**described, "anyOf": [*branches, _NULL]} if takes_more else schema
    kinds = types_of(schema)
    if "null" in kinds and None in schema.get("enum", [None]) and "const" not in schema:
        return schema
    result = {**schema, "type": [*(kind for kind in kinds if kind != "null"), "null"]}
    if "const" in result:
        result["enum"] = [result.pop("const")]
    if "enum" in result and None not in result["enum"]:
        result["enum"] = [*result["enum"], None]
    return result


def without_nulls(value: Any, schema: object, root: JsonSchema) -> Any:
    """Return a value without the nulls that models send for missing optional properties.

    ``schema``, in the document ``root``, is the server's. A null that it accepts stays.
    """
    if isinstance(value, list):
        inner = {"anyOf": [option.get("items") for option in _options(schema, root)]}
        return [without_nulls(item, inner, root) for item in value]
    if not isinstance(value, dict):
        return value
    result = dict(value)
    for name, item in value.items():
        if item is not None and not isinstance(item, (list, dict)):
            continue
        options = _options(schema, root)
        declaring = [option for option in options if name in option.get("properties", {})]
        inner = {"anyOf": [option["properties"][name] for option in declaring]}
        is_required = any(name in option.get("required", []) for option in declaring)
        if item is not None:
            result[name] = without_nulls(item, inner, root)
        elif declaring and not (is_required or any(map(_takes_null, _options(inner, root)))):
            del result[name]
    return result


def _takes_null(schema: JsonSchema) -> bool:
    if "enum" in schema or "const" in schema:
        return None in schema.get("enum", [schema.get("const", "")])
    return "type" not in schema or "null" in types_of(schema)


def _options(schema: object, root: JsonSchema) -> list[JsonSchema]:
    options: list[JsonSchema] = []
    opened: set[str] = set()
    pending = [schema]
    while pending:
        option = pending.pop()
        if not isinstance(option, dict):
            continue
        option = with_members_merged(option)
        reference = option.get("$ref")
        if not isinstance(reference, str):
            pending += option.get("anyOf", [])
            options += [] if "anyOf" in option else [option]
        elif reference not in opened:  # definitions can double at each step
            opened.add(reference)
            pending.append(target_of(reference, root))
    return options
