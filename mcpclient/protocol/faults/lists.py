"""The faults of a list's entries: names, schemas, and the published schema of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import McpError
from ..schema import compile_schema
from ..schema.values import Clock
from . import Fault, fault
from .published import schema_of, validated


class List(NamedTuple):
    """A list of servers: its ``key`` in results, its entries' definition, and what names them."""

    key: str
    definition: str
    name: str


LISTS: Mapping[str, List] = {
    "tools/list": List("tools", "Tool", "name"),
    "resources/list": List("resources", "Resource", "uri"),
    "resources/templates/list": List("resourceTemplates", "ResourceTemplate", "uriTemplate"),
    "prompts/list": List("prompts", "Prompt", "name"),
}
"""The lists by their methods."""

_BY_KEY = {each.key: each for each in LISTS.values()}
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_NAMES_SINCE = "2025-11-25"


def name_faults(
    key: str, entries: Sequence[Any], revision: str, seen: set[str]
) -> Iterator[tuple[int, Fault]]:
    """Yield the faults in names, each with the index of its entry. ``seen``: names before."""
    member = _BY_KEY[key].name
    for index, entry in enumerate(entries):
        name = entry.get(member) if isinstance(entry, dict) else None
        if not isinstance(name, str):
            continue
        if name in seen:
            yield index, fault("duplicate", f"{member}: another entry has it as well", revision)
        seen.add(name)
        if key == "tools" and revision >= _NAMES_SINCE and not _NAME.fullmatch(name):
            text = "name: must be 1 to 128 letters, digits, underscores, dashes and dots"
            yield index, fault("tool-name", text, revision)


def entry_faults(key: str, entries: Sequence[Any], revision: str) -> list[tuple[int, Fault]]:
    """Return the faults of a list's entries, except for faults in tools' schemas."""
    definition = _BY_KEY[key].definition
    schema = schema_of(revision, definition)
    found = [
        (index, fault("result", _said(violation), revision, f"schema#{definition.lower()}"))
        for index, entry in enumerate(entries)
        for violation in (validated(schema, entry) if schema is not None else ())
    ]
    return sorted([*found, *name_faults(key, entries, revision, set())], key=lambda each: each[0])


def _said(violation: Any) -> str:
    place = violation.instance_path[1:].replace("/", ".") or "the entry"
    return f"{place}: {violation.message}"


def schema_faults(tool: Any, revision: str, clock: Clock = None) -> Iterator[Fault]:
    """Yield the faults of a tool's schemas as JSON Schema. ``clock`` bounds the time it takes."""
    for member in ("inputSchema", "outputSchema"):
        schema = tool.get(member) if isinstance(tool, Mapping) else None
        try:
            if isinstance(schema, Mapping):
                compile_schema(schema, clock=clock)
        except (McpError, ValueError) as error:
            text = f"{member}: is not a usable JSON Schema: {error}"
            yield fault("tool-schema", text, revision)
