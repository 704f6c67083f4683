"""What is wrong with the entries of a server's lists: named, instead of dropped in silence."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import McpError
from ..net.clocks import steady_seconds
from ..protocol.schema_on_demand import compile_schema

# What each list's entries are told apart by, and have to have.
_REQUIRED = {
    "tools": ("name", "inputSchema"),
    "resources": ("uri", "name"),
    "templates": ("uriTemplate", "name"),
    "prompts": ("name",),
}
_TEXTS = ("name", "title", "description", "uri", "uriTemplate", "mimeType")
_SCHEMAS = ("inputSchema", "outputSchema")

# Seconds of checking after which others get a turn.
_TURN = 0.01


class Oddity(NamedTuple):
    """One thing that is wrong: in which entry of which list, in which field, and why."""

    entry: int
    name: str
    field: str
    reason: str


def odd_entries(kind: str, entries: Iterable[Any]) -> list[Oddity]:
    """Return what is wrong with the entries of a list, as far as it shows at a glance.

    ``kind``: ``tools``, ``resources``, ``templates`` or ``prompts``.
    """
    found: list[Oddity] = []
    seen: dict[str, int] = {}
    key = _REQUIRED[kind][0]
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            found.append(Oddity(index, "", "", f"is {_kind_of(entry)} and not an object"))
            continue
        name = entry.get(key)
        shown = name if isinstance(name, str) else ""
        found += (Oddity(index, shown, *problem) for problem in _problems(kind, entry))
        if shown and seen.setdefault(shown, index) != index:
            found.append(Oddity(index, shown, key, f"is also that of entry {seen[shown] + 1}"))
    return found


def _problems(kind: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field in _REQUIRED[kind]:
        if field not in entry:
            yield field, "is missing"
    for field in _TEXTS:
        if field in entry and not isinstance(entry[field], str):
            yield field, f"is {_kind_of(entry[field])} and not a string"
    if entry.get("name") == "":
        yield "name", "is empty"
    for field in (*_SCHEMAS, "annotations", "_meta"):
        if field in entry and not isinstance(entry[field], Mapping):
            yield field, f"is {_kind_of(entry[field])} and not an object"
    schema = entry.get("inputSchema")
    if kind == "tools" and isinstance(schema, Mapping) and schema.get("type") != "object":
        yield "inputSchema", 'has a type other than "object"'
    arguments = entry.get("arguments", [])
    if kind == "prompts" and not (
        isinstance(arguments, list) and all(isinstance(each, Mapping) for each in arguments)
    ):
        yield "arguments", "is not a list of objects"


def _kind_of(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    return names.get(type(value), "an array" if isinstance(value, list) else "an object")


async def odd_schemas(tools: Iterable[Any]) -> list[Oddity]:
    """Return the schemas of tools that are not JSON Schema; other tasks get their turns."""
    found: list[Oddity] = []
    clock = asyncio.get_running_loop().time
    began = clock()
    for index, tool in enumerate(tools):
        for field in _SCHEMAS:
            schema = tool.get(field) if isinstance(tool, Mapping) else None
            if isinstance(schema, Mapping):
                try:
                    compile_schema(schema, clock=steady_seconds)
                except (McpError, ValueError) as error:
                    name = tool.get("name")
                    shown = name if isinstance(name, str) else ""
                    found.append(Oddity(index, shown, field, f"is no JSON Schema: {error}"))
        if clock() - began > _TURN:
            await asyncio.sleep(0)
            began = clock()
    return found
