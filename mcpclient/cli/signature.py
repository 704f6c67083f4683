"""What a tool takes, in one line: the arguments and their types, as a schema names them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..protocol.types import Tool
from ..recording.secret_arguments import resolved
from .render import one_line

_MAX_CHAIN = 16
_MAX_VALUES = 6


def properties_of(schema: Any) -> dict[str, Mapping[str, Any]]:
    """Return the schema of each argument by its name, references followed."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return {}
    return {name: resolved(each, schema) for name, each in properties.items()}


def required_of(schema: Any) -> list[str]:
    """Return the names of the arguments that are needed."""
    required = schema.get("required") if isinstance(schema, Mapping) else None
    names = required if isinstance(required, list) else []
    return [name for name in names if isinstance(name, str)]


def kinds_of(schema: Any, root: Any) -> frozenset[str]:
    """Return the JSON types that a schema names, of any of its choices; empty: it names none."""
    return frozenset(_kinds(schema, root, 0))


def _kinds(schema: Any, root: Any, depth: int) -> Iterator[str]:
    schema = resolved(schema, root)
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    yield from (each for each in kinds if isinstance(each, str))
    if kind is None:
        values = schema["enum"] if _is_list(schema.get("enum")) else []
        values = values + ([schema["const"]] if "const" in schema else [])
        yield from (_kind_of(value) for value in values)
    if depth < _MAX_CHAIN:
        for key in ("anyOf", "oneOf", "allOf"):
            options = schema.get(key)
            for option in options if _is_list(options) else ():
                yield from _kinds(option, root, depth + 1)


def _kind_of(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "null" if value is None else "boolean"
    if isinstance(value, (int, float)):
        return "integer" if isinstance(value, int) else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def type_of(schema: Any, root: Any) -> str:
    """Return the type of an argument in a few words, escaped: ``integer``, ``"a" | "b"``."""
    schema = resolved(schema, root)
    values = schema.get("enum")
    if _is_list(values) and values:
        shown = [one_line(json.dumps(value, ensure_ascii=False)) for value in values[:_MAX_VALUES]]
        return " | ".join(shown + ["…"] * (len(values) > _MAX_VALUES))
    kinds = sorted(kinds_of(schema, root))
    if kinds == ["array"]:
        items = sorted(kinds_of(schema.get("items"), root))
        return f"array of {one_line(' | '.join(items))}" if items else "array"
    return one_line(" | ".join(kinds)) or "any"


def signature(tool: Tool) -> str:
    """Return how a tool is called, escaped: ``add a=number b=number [round=integer]``."""
    schema = tool.input_schema
    needed = set(required_of(schema))
    words = [one_line(tool.name)]
    for name, each in properties_of(schema).items():
        word = f"{one_line(name)}={type_of(each, schema)}"
        words.append(word if name in needed else f"[{word}]")
    return " ".join(words)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)
