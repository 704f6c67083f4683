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

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from ...protocol.schema.references import DRAFT_2020_12, subschemas
from ...protocol.schema.values import join_pointer
from .rewriting import JsonSchema, every_part, target_of

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
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
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
    making = _Strict(rules)
    result = making.schema(schema, (), 0)
    parts = list(every_part(schema))
    optional = [part.get("properties", {}).keys() - part.get("required", []) for part in parts]
    unions = sum("anyOf" in part or isinstance(part.get("type"), list) for part in parts)
    if sum(len(part.get("properties", {})) for part in parts) > _MAX_PROPERTIES:
        making.reasons.append(f"it has over {_MAX_PROPERTIES} properties")
    if sum(len(part.get("enum", [])) for part in parts) > _MAX_ENUM_VALUES:
        making.reasons.append(f"it has over {_MAX_ENUM_VALUES} values in enums")
    if not rules.recursive and _is_recursive(schema, schema, ()):
        making.reasons.append("it contains itself")
    made = Strict(result, sum(map(len, optional)), unions)
    return made, list(dict.fromkeys(making.reasons))


def _is_recursive(schema: object, root: JsonSchema, opened: tuple[str, ...]) -> bool:
    if not isinstance(schema, dict):
        return False
    reference = schema.get("$ref")
    if isinstance(reference, str):
        if reference in opened:
            return True
        if _is_recursive(target_of(reference, root), root, (*opened, reference)):
            return True
    inner = [one for place, one in subschemas(schema, DRAFT_2020_12) if place[0] != "$defs"]
    return any(_is_recursive(one, root, opened) for one in inner)


class _Strict:
    def __init__(self, rules: StrictRules) -> None:
        self._rules = rules
        self.reasons: list[str] = []

    def schema(self, schema: JsonSchema, path: tuple[str, ...], level: int) -> JsonSchema:
        """Convert one schema. ``level``: the number of objects and arrays around it."""
        schema = _with_single_member_merged(schema)
        if level > _MAX_LEVELS:
            self._refuse(path, f"over {_MAX_LEVELS} levels deep")
            return schema
        result = {key: value for key, value in schema.items() if key not in _ANNOTATIONS}
        result = self._with_bounds_described(result)
        for keyword in result.keys() - self._rules.taken:
            self._refuse(path, f"{keyword} is not accepted")
        if result.get("format", "date") not in self._rules.formats:
            self._refuse(path, f"the format {result['format']} is not accepted")
        self._type(result, path)
        for keyword in ("$defs", "definitions"):
            if keyword in result:
                result[keyword] = {
                    name: self.schema(inner, (*path, keyword, name), 0)
                    for name, inner in result[keyword].items()
                }
        if "anyOf" in result:
            result["anyOf"] = [
                self.schema(inner, (*path, "anyOf", str(index)), level)
                for index, inner in enumerate(result["anyOf"])
            ]
        if "$ref" in result and len(result) > 1:
            return {"anyOf": [{"$ref": result.pop("$ref")}], **result}
        return self._container(result, path, level)

    def _with_bounds_described(self, schema: JsonSchema) -> JsonSchema:
        """Move bounds that the API does not accept into the description, for the model."""
        rules = self._rules
        bounds = {
            key: value
            for key, value in schema.items()
            if key in rules.described and not (key == "format" and value in rules.formats)
        }
        if not bounds:
            return schema
        result = {key: value for key, value in schema.items() if key not in bounds}
        said = ", ".join(f"{key}: {json.dumps(value)}" for key, value in bounds.items())
        result["description"] = f"{schema.get('description', '')} ({said})".lstrip()
        return result

    def _type(self, result: JsonSchema, path: tuple[str, ...]) -> None:
        values = result.get("enum", [result["const"]] if "const" in result else [])
        if "type" not in result and values:
            kinds = list(dict.fromkeys(_TYPES.get(type(value), "object") for value in values))
            result["type"] = kinds[0] if len(kinds) == 1 else kinds
        if not result.keys() & {"type", "anyOf", "$ref"}:
            self._refuse(path, "accepts anything")

    def _container(self, result: JsonSchema, path: tuple[str, ...], level: int) -> JsonSchema:
        kinds = result.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if "object" in kinds:
            self._object(result, path, level)
        elif "properties" in result:
            self._refuse(path, "has properties without being an object")
        if "array" in kinds:
            if isinstance(result.get("items"), dict):
                result["items"] = self.schema(result["items"], (*path, "items"), level + 1)
            else:
                self._refuse(path, "an array of anything")
        return result

    def _object(self, result: JsonSchema, path: tuple[str, ...], level: int) -> None:
        if result.get("additionalProperties", False) is not False:
            self._refuse(path, "accepts properties that are not listed")
        properties = result.get("properties", {})
        if path and not properties and "additionalProperties" not in result:
            self._refuse(path, "an object of anything")
        required = [name for name in result.get("required", []) if isinstance(name, str)]
        for name in set(required) - set(properties):
            self._refuse(path, f"requires {name!r}, which it does not describe")
        converted = {}
        for name, inner in properties.items():
            strict = self.schema(inner, (*path, "properties", name), level + 1)
            is_nullable = name not in required and self._rules.all_required
            converted[name] = _nullable(strict) if is_nullable else strict
        result["properties"] = converted
        result["required"] = list(converted) if self._rules.all_required else required
        result["additionalProperties"] = False

    def _refuse(self, path: tuple[str, ...], reason: str) -> None:
        self.reasons.append(f"at {join_pointer(path) or 'the root'}: {reason}")


def _with_single_member_merged(schema: JsonSchema) -> JsonSchema:
    """Merge ``{"allOf": [X], "description": …}``, which many libraries generate, into one
    schema."""
    members = schema.get("allOf")
    if not isinstance(members, list) or len(members) != 1 or not isinstance(members[0], dict):
        return schema
    beside = {key: value for key, value in schema.items() if key != "allOf"}
    return {**members[0], **beside} if beside.keys() <= {*_ANNOTATIONS, "description"} else schema


def _nullable(schema: JsonSchema) -> JsonSchema:
    if "type" not in schema:
        described = {key: schema[key] for key in ("description",) if key in schema}
        branches = schema.get("anyOf", [schema])
        if _NULL in branches:
            return schema
        rest = {key: value for key, value in schema.items() if key == "anyOf"}
        return {**described, "anyOf": [*branches, _NULL]} if rest or "$ref" in schema else schema
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
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
    kinds = schema.get("type")
    return kinds is None or kinds == "null" or (isinstance(kinds, list) and "null" in kinds)


def _options(schema: object, root: JsonSchema, opened: tuple[str, ...] = ()) -> list[JsonSchema]:
    """Return the alternatives of a schema, with references resolved."""
    if not isinstance(schema, dict):
        return []
    schema = _with_single_member_merged(schema)
    reference = schema.get("$ref")
    if isinstance(reference, str):
        if reference in opened:
            return []
        return _options(target_of(reference, root), root, (*opened, reference))
    if "anyOf" in schema:
        return [found for branch in schema["anyOf"] for found in _options(branch, root, opened)]
    return [schema]
