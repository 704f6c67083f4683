"""Schemas of older dialects, and schemas that are broken in common ways, as dialect 2020-12.

Sources: the release notes of JSON Schema draft-06, draft-07, 2019-09 and 2020-12.
"""

from __future__ import annotations

from typing import Any

from ...protocol.schema.dialects import DRAFT_2020_12, LIST, MAP, ONE, join_pointer
from .widening import JsonSchema

# Dialects in which a reference hides what stands beside it.
_HIDING = ("draft-03", "draft-04", "draft-06", "draft-07")
_BESIDE_REFERENCE = frozenset({"$ref", "title", "description", "default", "examples", "deprecated"})
_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


def modern_schema(schema: dict[str, Any] | bool, notes: list[str]) -> JsonSchema:
    """Return a copy in dialect 2020-12, without ``$schema``.

    Appends to ``notes`` what stood where a schema belongs and is none. The result may still break
    rules that concern single keywords.
    """
    if isinstance(schema, bool):
        if not schema:
            notes.append("its schema accepts nothing; it takes any arguments")
        return {}
    dialect = schema.get("$schema")
    hides = isinstance(dialect, str) and any(name in dialect for name in _HIDING)
    return _Modernizing(hides, notes).schema(schema, ())


class _Modernizing:
    def __init__(self, reference_hides: bool, notes: list[str]) -> None:
        self._reference_hides = reference_hides
        self._notes = notes

    def schema(self, schema: JsonSchema, path: tuple[str, ...]) -> JsonSchema:
        result = {key: value for key, value in schema.items() if key != "$schema"}
        if self._reference_hides and "$ref" in result:
            kept = _BESIDE_REFERENCE | {"$defs", "definitions"}
            result = {key: value for key, value in result.items() if key in kept}
        _update_keywords(result)
        rewrite = {MAP: self._map, LIST: self._list, ONE: self._single}
        for keyword, (shape, *_) in DRAFT_2020_12.places.items():
            if keyword in result:
                rewrite[shape](result, keyword, path)
        if isinstance(result.get("required"), bool):  # a keyword of the property, in draft-03
            del result["required"]
        return result

    def _map(self, result: JsonSchema, keyword: str, path: tuple[str, ...]) -> None:
        if not isinstance(result[keyword], dict):
            self._leave_out(result, keyword, path)
            return
        result[keyword] = {
            name: self._inner(value, (*path, keyword, name))
            for name, value in result[keyword].items()
        }

    def _list(self, result: JsonSchema, keyword: str, path: tuple[str, ...]) -> None:
        values = result[keyword]
        if not isinstance(values, list) or not values:
            self._leave_out(result, keyword, path)
            return
        result[keyword] = [
            self._inner(value, (*path, keyword, str(index))) for index, value in enumerate(values)
        ]

    def _single(self, result: JsonSchema, keyword: str, path: tuple[str, ...]) -> None:
        if isinstance(result[keyword], (dict, bool)):
            result[keyword] = self._inner(result[keyword], (*path, keyword))
        else:
            self._leave_out(result, keyword, path)

    def _inner(self, value: object, path: tuple[str, ...]) -> Any:
        if isinstance(value, dict):
            return self.schema(value, path)
        if not isinstance(value, bool):
            self._notes.append(f"at {join_pointer(path)}: not a schema; anything is taken there")
            return {}
        return value

    def _leave_out(self, result: JsonSchema, keyword: str, path: tuple[str, ...]) -> None:
        self._notes.append(f"at {join_pointer((*path, keyword))}: not a schema; left out")
        del result[keyword]


def _update_keywords(schema: JsonSchema) -> None:
    if isinstance(schema.get("items"), list):
        schema["prefixItems"] = schema.pop("items")
        if "additionalItems" in schema:
            schema["items"] = schema["additionalItems"]
        if not schema["prefixItems"]:
            del schema["prefixItems"]
    schema.pop("additionalItems", None)  # which means nothing beside one schema for all
    identifier = schema.get("$id")
    if isinstance(identifier, str) and identifier.startswith("#") and len(identifier) > 1:
        schema["$anchor"] = schema.pop("$id")[1:]
    for exclusive, bound in _BOUNDS.items():
        is_old = isinstance(schema.get(exclusive), bool)
        if is_old and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    dependencies = schema.pop("dependencies", None)
    if isinstance(dependencies, dict):
        for name, needed in dependencies.items():
            keyword = "dependentRequired" if isinstance(needed, list) else "dependentSchemas"
            schema.setdefault(keyword, {}).setdefault(name, needed)
