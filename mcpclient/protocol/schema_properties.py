"""The types and the properties of a JSON Schema, references followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .json_schema import DATA, target_of, tokens_of
from .wire_object import object_in, strings_in

_MAX_CHAIN = 16  # references that lead from one to the next


def referenced(schema: object, root: object) -> Mapping[str, Any]:
    """Return the schema that a reference within ``root`` means; {} where it means none."""
    for _ in range(_MAX_CHAIN):
        if not isinstance(schema, Mapping):
            return {}
        if tokens_of(schema.get("$ref")) is None:
            return schema
        schema = target_of(schema["$ref"], root)
    return {}


def types_of(schema: Mapping[str, Any]) -> list[str]:
    """Return the types that a schema itself names."""
    kind = schema.get("type")
    return [kind] if isinstance(kind, str) else strings_in(kind)


def properties_of(schema: object) -> dict[str, Mapping[str, Any]]:
    """Return the schema of each property by its name, references followed.

    A keyword beside a reference holds as well, such as a default.
    """
    properties = object_in(object_in(schema).get("properties"))
    found = {}
    for name, each in properties.items():
        target = referenced(each, schema)
        is_merged = target is not each and len(each) > 1 if isinstance(each, dict) else False
        found[name] = {**target, **each} if is_merged else target
    return found


def needed_of(schema: object) -> list[str]:
    """Return the names of the properties that must be given: the required ones without a default.

    Generators of schemas (zod) call those with a default required, and the server fills them in.
    """
    properties = properties_of(schema)
    required = strings_in(object_in(schema).get("required"))
    return [name for name in required if "default" not in properties.get(name, ())]


def without_defaulted(schema: Any) -> Any:
    """Return a schema in which no object requires a property that has a default."""
    if isinstance(schema, list):
        return [without_defaulted(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {
        key: value if key in DATA else without_defaulted(value) for key, value in schema.items()
    }
    if isinstance(schema.get("required"), list):
        found["required"] = needed_of(schema)
    return found
