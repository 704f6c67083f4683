"""The tree of a JSON Schema, for all that read one: references, alternatives, types, properties.

Readers look at schemas as servers write them: what is malformed reads as absent. `schema` has the
validation, and ``adapters.schemas`` the rewriting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_MAX_ALTERNATIVES = 500

TYPES: Mapping[Any, str] = {
    **{type(None): "null", bool: "boolean", int: "integer", float: "number"},
    **{str: "string", list: "array", dict: "object"},
}
"""The names of JSON's types, by the types of their values in Python."""

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
    if "%" in reference:
        from urllib.parse import unquote  # it takes as long as a dozen modules, and is rarely used

        reference = unquote(reference)
    return pointer_tokens(reference[1:])


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


def marks_secrets(schema: Any) -> bool:
    """Whether an input schema may mark a secret."""
    if not isinstance(schema, Mapping):
        return False
    # A schema that only mentions them costs a look at each call, and no more.
    text = repr(schema)
    return "'password'" in text or "'writeOnly'" in text


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
