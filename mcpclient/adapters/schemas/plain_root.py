"""Arguments as one plain object, for APIs that refuse combinations at the root of a schema.

Branches of ``anyOf`` and ``oneOf`` become one object that accepts the values of any branch; those
of ``allOf``, and the target of a reference, one that accepts the values of all. Every value that
was valid stays valid; a sentence says which properties belong together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from .rewriting import JsonSchema, target_of, with_root_kept_apart

_COMBINING = ("$ref", "allOf", "anyOf", "oneOf")
# A property that a branch does not mention may have any value.
_ANYTHING: JsonSchema = {}
# The most properties that a sentence about a branch names.
_NAMED = 6


@dataclass
class PlainRoot:
    """A schema without combinations at its root, notes, and a sentence for the description."""

    schema: JsonSchema
    notes: list[str] = field(default_factory=list)
    sentence: str = ""


@dataclass
class _Shape:
    """The properties of an object; ``closed`` means that it accepts no others."""

    properties: dict[str, Any] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    closed: bool = False


def plain_root(schema: JsonSchema, refused: Collection[str]) -> PlainRoot:
    """Return a schema in normal form without the ``refused`` keywords at its root.

    ``$ref`` is always one of them. The original is not touched.
    """
    present = [key for key in schema if key in refused or key == "$ref"]
    if not present:
        return PlainRoot(schema)
    schema = with_root_kept_apart(schema, present)
    combined = [key for key in present if key in _COMBINING]
    notes = [f"{key} at the root was left out" for key in present if key not in _COMBINING]
    result = {key: value for key, value in schema.items() if key not in present}
    if not combined:
        return PlainRoot(result, notes)
    shape = _shape(schema, schema, frozenset()) or _Shape()
    result["properties"] = shape.properties
    result.pop("required", None)
    if shape.required:
        result["required"] = shape.required
    if shape.closed:
        result["additionalProperties"] = False
    result.pop("unevaluatedProperties", None)
    unions = [key for key in combined if key in ("anyOf", "oneOf")]
    notes += [f"{key} at the root was merged into one object" for key in combined if key != "$ref"]
    return PlainRoot(result, notes, _sentence(schema, unions))


def _shape(value: object, root: JsonSchema, opened: frozenset[str]) -> _Shape | None:
    """Return the shape of the objects that a schema accepts; None if it accepts no object."""
    if not isinstance(value, dict) or value.get("not") == {}:
        return None if value is False or isinstance(value, dict) else _Shape()
    kinds = value.get("type", "object")
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        return None
    shape: _Shape | None = _Shape(
        dict(value.get("properties", {})),
        list(value.get("required", [])),
        value.get("additionalProperties") is False and not value.get("patternProperties"),
    )
    reference = value.get("$ref")
    members = list(value.get("allOf", []))
    if isinstance(reference, str) and reference not in opened:
        opened |= {reference}
        members.append(target_of(reference, root))
    for member in members:
        shape = _both(shape, _shape(member, root, opened))
    for keyword in ("anyOf", "oneOf"):
        if keyword in value:
            branches = [_shape(branch, root, opened) for branch in value[keyword]]
            shape = _both(shape, _any([branch for branch in branches if branch is not None]))
    return shape


def _both(first: _Shape | None, second: _Shape | None) -> _Shape | None:
    if first is None or second is None:
        return None
    properties: dict[str, Any] = {}
    for name in [*first.properties, *second.properties]:
        inside = [shape for shape in (first, second) if name in shape.properties]
        if len(inside) == 2:
            properties[name] = _conjunction(first.properties[name], second.properties[name])
        elif not (second if inside[0] is first else first).closed:
            properties[name] = inside[0].properties[name]
    required = dict.fromkeys([*first.required, *second.required])
    return _Shape(properties, list(required), first.closed or second.closed)


def _any(shapes: list[_Shape]) -> _Shape | None:
    if not shapes:
        return None
    names = dict.fromkeys(name for shape in shapes for name in shape.properties)
    properties = {}
    for name in names:
        options = [
            shape.properties.get(name, _ANYTHING)
            for shape in shapes
            if name in shape.properties or not shape.closed
        ]
        properties[name] = _alternatives(options)
    required = [name for name in shapes[0].required if all(name in s.required for s in shapes)]
    return _Shape(properties, required, all(shape.closed for shape in shapes))


def _conjunction(first: Any, second: Any) -> Any:
    if first == second or second == _ANYTHING:
        return first
    return second if first == _ANYTHING else {"allOf": [first, second]}


def _alternatives(options: list[Any]) -> Any:
    distinct: list[Any] = []
    for option in options:
        if option not in distinct:
            distinct.append(option)
    if len(distinct) == 1:
        return distinct[0]
    constants = [_constants(option) for option in distinct]
    if all(constants):
        return _one_of_constants(distinct, constants)
    return {"anyOf": distinct}


def _constants(option: Mapping[str, Any]) -> list[Any]:
    """Return the values of a schema that only lists constants, as discriminators do."""
    if option.keys() <= {"const", "type", "title", "description"} and "const" in option:
        return [option["const"]]
    if option.keys() <= {"enum", "type", "title", "description"}:
        return list(option.get("enum", []))
    return []


def _one_of_constants(options: list[Any], constants: list[list[Any]]) -> JsonSchema:
    kinds = [option.get("type") for option in options]
    result: JsonSchema = {}
    if kinds[0] is not None and kinds.count(kinds[0]) == len(kinds):
        result["type"] = kinds[0]
    values: list[Any] = []
    for value in (value for group in constants for value in group):
        if not any(value is known or _same(value, known) for known in values):
            values.append(value)
    result["enum"] = values
    return result


def _same(first: object, second: object) -> bool:
    return first == second and isinstance(first, bool) == isinstance(second, bool)


def _sentence(schema: JsonSchema, unions: list[str]) -> str:
    """Return a sentence that says which arguments belong together."""
    said = []
    for keyword in unions:
        shapes = [_shape(branch, schema, frozenset()) for branch in schema[keyword]]
        groups = [_listed(shape.required or shape.properties) for shape in shapes if shape]
        groups = list(dict.fromkeys(group for group in groups if group))
        if len(groups) > 1:
            said.append(
                "Give "
                + ("one of these groups" if keyword == "oneOf" else "at least one of these groups")
                + " of arguments: "
                + " or ".join(groups)
                + "."
            )
    return " ".join(said)


def _listed(names: Collection[str]) -> str:
    shown = ", ".join(list(names)[:_NAMED])
    return f"({shown}{', …' if len(names) > _NAMED else ''})" if shown else ""
