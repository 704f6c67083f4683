"""The tree of a JSON Schema, for all that read one: references, alternatives, types, properties.

Readers look at schemas as servers write them: what is malformed reads as absent. `schema` has the
validation, and ``adapters.schemas`` the rewriting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from .wire_object import object_in, strings_in

_MAX_CHAIN = 16  # references that lead from one to the next
_MAX_ALTERNATIVES = 500

# Keywords whose values are data, in which nothing is a schema.
DATA = frozenset({"const", "default", "enum", "examples"})


def pointer_tokens(pointer: str) -> tuple[str, ...]:
    """Return the member names and array indexes of a JSON pointer; none for an empty one."""
    tokens = pointer[1:].split("/") if pointer else []
    return tuple([token.replace("~1", "/").replace("~0", "~") for token in tokens])


def tokens_of(reference: object) -> tuple[str, ...] | None:
    """Return the tokens of a ``$ref`` of the form ``#`` or ``#/…``; None for anything else."""
    if not isinstance(reference, str) or (reference != "#" and reference[:2] != "#/"):
        return None
    return pointer_tokens(unquote(reference[1:]) if "%" in reference else reference[1:])


def target_of(reference: object, root: object) -> object:
    """Return the target of a ``$ref`` within ``root``, or None."""
    tokens = tokens_of(reference)
    value = root if tokens is not None else None
    for token in tokens or ():
        if isinstance(value, Mapping):
            value = value.get(token)
        elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    return value


def referenced(schema: object, root: object) -> Mapping[str, Any]:
    """Return the schema that a reference within ``root`` means; {} where it means none."""
    for _ in range(_MAX_CHAIN):
        if not isinstance(schema, Mapping):
            return {}
        if tokens_of(schema.get("$ref")) is None:
            return schema
        schema = target_of(schema["$ref"], root)
    return {}


def alternatives(schema: object, root: object) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and all that it refers to or combines, each once: each tells about a value.

    They are few, although a server may send schemas that contain themselves.
    """
    pending: list[object] = [schema]
    seen: set[int] = set()
    while pending and len(seen) < _MAX_ALTERNATIVES:
        found = pending.pop(0)
        if isinstance(found, Mapping) and id(found) not in seen:
            seen.add(id(found))
            yield found
            pending.append(target_of(found.get("$ref"), root))
            for keyword in ("allOf", "anyOf", "oneOf"):
                branches = found.get(keyword)
                pending += branches if isinstance(branches, list) else []


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
