"""The schemas of the published revisions, compact; `conformance.published` makes the data."""

from __future__ import annotations

import json
from functools import lru_cache
from pkgutil import get_data
from typing import Any

from ...errors import McpError
from ..schema import Schema, SchemaLimits, Violation, compile_schema
from ..schema_properties import referenced
from ..wire_object import value_at

# A list of 10,000 tools is judged whole; there is no clock, so that the judgement never differs.
_LIMITS = SchemaLimits(validation_steps=5_000_000, violations=50)


@lru_cache(maxsize=1)
def _revisions() -> dict[str, dict[str, Any]]:
    source = get_data(str(__package__), "published.json")
    assert source is not None, "every loader of files and archives has data"
    found: dict[str, dict[str, Any]] = {}
    before: Any = {}
    for name, patch in json.loads(source).items():
        before = found[name] = patched(before, patch)
    return found


def patched(value: Any, patch: Any) -> Any:
    """Apply a merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for name, part in patch.items():
        if part is None:
            del merged[name]
        else:
            merged[name] = patched(merged.get(name), part)
    return merged


def revision(name: str) -> dict[str, Any]:
    """Return a revision's ``results``, ``requests`` and ``notifications``, each a definition by
    method, and its ``$defs``. An unknown revision is empty.
    """
    return _revisions().get(name, {})


@lru_cache(maxsize=256)
def schema_of(name: str, definition: str) -> Schema | None:
    """Return the compiled schema of a definition of a revision; None if it has no such one."""
    definitions = revision(name).get("$defs", {})
    if definition not in definitions:
        return None
    document = {"$ref": f"#/$defs/{definition}", "$defs": definitions}
    return compile_schema(document, limits=_LIMITS, assert_formats=True)


@lru_cache(maxsize=256)
def telling_params(name: str, notification: str) -> frozenset[str] | None:
    """Return the params whose value decides whether a notification matches its schema.

    Of all others the type does. None if that cannot be said.
    """
    rules = revision(name)
    place = ("$defs", rules.get("notifications", {}).get(notification), "properties", "params")
    params = referenced(value_at(rules, place), rules)
    if not params.keys() <= {"type", "properties", "required"}:
        return None
    return frozenset(
        member
        for member, schema in params.get("properties", {}).items()
        # Whether a number is an integer depends on its value.
        if not schema.keys() <= {"type"} or "integer" in schema.get("type", ())
    )


def validated(schema: Schema, value: Any) -> list[Violation]:
    """Return the violations of a value; none for a value that cannot be checked within limits."""
    try:
        return schema.validate(value)
    except (McpError, ValueError):
        return []
