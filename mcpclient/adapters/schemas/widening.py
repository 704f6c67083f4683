"""Rewriting JSON Schemas so that what was valid stays valid.

A model API that does not take a keyword gets a schema without it. Where the keyword stands in a
plain place that only allows more. Below ``not``, ``oneOf`` or ``if`` allowing more inside would
allow less outside; there the keyword around goes as well. Schemas here are of dialect 2020-12.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, NamedTuple

from ...protocol.schema.dialects import DRAFT_2020_12, subschemas

JsonSchema = dict[str, Any]

# Keywords that look at what the ones applied to the same value have looked at.
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_IN_PLACE = frozenset({"allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas"})
# Definitions assert nothing where they stand.
DEFINITIONS = ("$defs", "definitions")
"""The keywords whose schemas hold for nothing but what refers to them."""
_CONDITIONAL = ("if", "then", "else")


class Rewritten(NamedTuple):
    """A schema, and whether it still accepts exactly what the one it was made of accepts."""

    schema: Any
    exact: bool


class Child(NamedTuple):
    """A rewritten subschema, and the tokens of the JSON pointer to it from its parent."""

    tokens: tuple[str, ...]
    schema: Any
    exact: bool


Change = Callable[[JsonSchema, tuple[str, ...]], Rewritten]
"""Takes a schema whose subschemas are rewritten, and the tokens that lead to it from the root."""


def rewritten(schema: object, change: Change, path: tuple[str, ...] = ()) -> Rewritten:
    """Apply ``change`` to a schema and all its subschemas, the innermost first.

    The original is not touched. Booleans are handed on as they are.
    """
    if not isinstance(schema, dict):
        return Rewritten(schema, True)
    children = [
        Child(tokens, *rewritten(value, change, path + tokens))
        for tokens, value in subschemas(schema, DRAFT_2020_12)
    ]
    whole, exact = assembled(schema, children)
    changed, still_exact = change(whole, path)
    return Rewritten(changed, exact and still_exact)


def assembled(schema: Mapping[str, Any], children: Iterable[Child]) -> Rewritten:
    """Return ``schema`` with these subschemas, without what would now allow less than before."""
    result = dict(schema)
    inexact: set[str] = set()
    for child in children:
        put(result, schema, child.tokens, child.schema)
        if not child.exact and child.tokens[0] not in DEFINITIONS:
            inexact.add(child.tokens[0])
    if "not" in inexact:
        del result["not"]
    if "if" in inexact:
        for keyword in _CONDITIONAL:
            result.pop(keyword, None)
    if "oneOf" in inexact:
        _use_any_of(result)
    if "contains" in inexact:
        result.pop("maxContains", None)
    if inexact & _IN_PLACE or "if" in inexact:
        for keyword in _UNEVALUATED:
            result.pop(keyword, None)
    return Rewritten(result, not inexact)


def widened(schema: object, change: Change) -> Rewritten:
    """Do what `rewritten` does, for schemas that may refer to definitions.

    Where a definition accepts more than before, so does whatever refers to it.
    """
    found = False

    def watch(value: JsonSchema, path: tuple[str, ...]) -> Rewritten:
        nonlocal found
        changed = change(value, path)
        found = found or not changed.exact
        return changed

    def watch_references(value: JsonSchema, path: tuple[str, ...]) -> Rewritten:
        changed = change(value, path)
        return Rewritten(changed.schema, changed.exact and "$ref" not in value)

    result = rewritten(schema, watch)
    return rewritten(schema, watch_references) if found else result


def put(result: JsonSchema, original: Mapping[str, Any], place: Sequence[str], value: Any) -> None:
    """Put a subschema at its place in ``result``, a copy of ``original`` that shares its inside."""
    keyword, *inner = place
    if not inner:
        result[keyword] = value
        return
    if result[keyword] is original[keyword]:
        result[keyword] = original[keyword].copy()
    container = result[keyword]
    container[int(inner[0]) if isinstance(container, list) else inner[0]] = value


def _use_any_of(schema: JsonSchema) -> None:
    branches = schema.pop("oneOf")
    if "anyOf" not in schema:
        schema["anyOf"] = branches
    else:
        schema["allOf"] = [*schema.get("allOf", []), {"anyOf": branches}]
