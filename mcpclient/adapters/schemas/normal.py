"""A tool's input schema as servers write it, made into one that every model API can start from.

The result is of dialect 2020-12 and valid, describes an object, has ``properties``, refers only to
its own parts by JSON pointers, and has no boolean where an API wants an object. What cannot be kept
is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any

from ...protocol.schema import SchemaError, compile_schema
from ...protocol.schema.dialects import DRAFT_2020_12, join_pointer, pointer_tokens, subschemas
from ...protocol.schema.references import Position, Registry
from ...protocol.schema.values import Budget, SchemaLimits, Stopped
from ...protocol.types import Tool
from .modern import modern_schema
from .pointers import reference_to, with_root_kept_apart, without_unused
from .widening import JsonSchema, Rewritten, put, widened

# How many parts that cannot be used are taken out, before the schema as a whole is.
_MAX_REPAIRS = 20
# No tool that is meant well comes near.
_LIMITS = SchemaLimits(compilation_steps=200_000)
_IDENTIFYING = ("$id", "$anchor", "$dynamicAnchor", "$vocabulary")
# Where a boolean is what people write, and every API takes it.
_TAKES_BOOLEAN = frozenset({"additionalProperties", "unevaluatedProperties", "unevaluatedItems"})


def normal_schema(tool: Tool) -> tuple[JsonSchema, list[str]]:
    """Return the normal form of a tool's input schema, and what was changed in meaning.

    The original is not touched.
    """
    notes: list[str] = []
    written = tool.raw.get("inputSchema", {})
    if not isinstance(written, (dict, bool)):
        notes.append("its schema is not an object; it takes any arguments")
        written = {}
    try:
        finite = _finite(written)
        if finite != written:
            notes.append("numbers that JSON does not have were left out of its schema")
        modern = modern_schema(finite, notes)
        valid = _valid(modern, notes)
        local = without_unused(widened(valid, _Localizing(valid, notes).change).schema)
    except (RecursionError, Stopped):
        notes.append("its schema is too large or nested too deeply; it takes any arguments")
        local = {}
    return _of_an_object(local, notes), notes


def _finite(value: Any) -> Any:
    """Leave out infinities and NaN, which some servers write and no model API reads."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items() if not _is_endless(inner)}
    if isinstance(value, list):
        return [_finite(inner) for inner in value if not _is_endless(inner)]
    return value


def _is_endless(value: object) -> bool:
    return isinstance(value, float) and not isfinite(value)


def _of_an_object(schema: JsonSchema, notes: list[str]) -> JsonSchema:
    kinds = schema.get("type", "object")
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        notes.append(f"its schema is for {kinds!r}, but arguments are always an object")
        schema = {key: value for key, value in schema.items() if key == "description"}
    if schema.get("type") != "object":  # what else refers to the root may be no object
        schema = with_root_kept_apart(schema, ("type",))
    return {**schema, "type": "object", "properties": schema.get("properties", {})}


def _valid(schema: JsonSchema, notes: list[str]) -> JsonSchema:
    """Take out what breaks the rules of JSON Schema, one part after the other."""
    for _ in range(_MAX_REPAIRS):
        try:
            compile_schema(schema, limits=_LIMITS)
        except SchemaError as error:
            tokens = _tokens(error.location)
            notes.append(f"at {join_pointer(tokens) or 'the root'}: {error.fault}; left out")
            schema = _without(schema, tokens)
        else:
            return schema
    notes.append("too much of its schema is broken; it takes any arguments")
    return {}


def _tokens(location: str) -> tuple[str, ...]:
    return tuple(pointer_tokens(location.partition("#")[2]))


def _without(schema: JsonSchema, tokens: tuple[str, ...]) -> JsonSchema:
    """Leave out a keyword; of a whole subschema its references, else all but its texts."""
    if not tokens:
        references = ("$id", "$ref", "$dynamicRef")
        if any(keyword in schema for keyword in references):
            return {key: value for key, value in schema.items() if key not in references}
        return {key: schema[key] for key in ("title", "description") if key in schema}
    changed = schema.copy()
    for place, inner in subschemas(schema, DRAFT_2020_12):
        if tokens[: len(place)] == place and isinstance(inner, dict):
            put(changed, schema, place, _without(inner, tokens[len(place) :]))
            return changed
    changed.pop(tokens[0], None)
    return changed


class _Localizing:
    """Turns every reference into a JSON pointer, so that no identifier is needed any more."""

    def __init__(self, schema: JsonSchema, notes: list[str]) -> None:
        self._notes = notes
        budget = Budget(_LIMITS.compilation_steps, _LIMITS.seconds, None)
        self._registry = Registry({}, _LIMITS, budget)
        root = self._registry.add_document("", schema)
        self._positions = dict(_positions(root, ()))

    def change(self, schema: JsonSchema, path: tuple[str, ...]) -> Rewritten:
        result = {key: value for key, value in schema.items() if key not in _IDENTIFYING}
        exact = True
        for keyword in ("$ref", "$dynamicRef"):
            if keyword in result:
                target = self._target(str(result.pop(keyword)), keyword, path)
                if target is not None and "$ref" not in result:
                    result["$ref"] = target
                else:
                    exact = False
        return Rewritten(_without_booleans(result), exact)

    def _target(self, reference: str, keyword: str, path: tuple[str, ...]) -> str | None:
        position = self._positions.get(path)
        if position is None:  # below what only a reference makes a schema
            return reference if reference.startswith("#/") else None
        try:
            target = self._registry.resolve(reference, position)
        except SchemaError:  # in a definition that nothing refers to, or else it would be no more
            return None
        anchors = [name for name, _ in self._registry.dynamic_anchors]
        is_static = keyword == "$ref" or anchors.count(reference.lstrip("#")) == 1
        if is_static and not target.location.partition("#")[0]:
            return reference_to(_tokens(target.location))
        note = f"at {join_pointer(path) or 'the root'}: the reference {reference!r} was left out"
        if note not in self._notes:
            self._notes.append(note)
        return None


def _positions(
    position: Position, tokens: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Position]]:
    yield tokens, position
    for inner, child in position.children.items():
        yield from _positions(child, tokens + inner)


def _without_booleans(schema: JsonSchema) -> JsonSchema:
    result = schema.copy()
    for place, value in subschemas(schema, DRAFT_2020_12):
        if isinstance(value, bool) and place[0] not in _TAKES_BOOLEAN:
            put(result, schema, place, {} if value else {"not": {}})
    return result
