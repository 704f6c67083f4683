"""References within one schema: what they point at, and following what moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from ...protocol.schema.dialects import DRAFT_2020_12, join_pointer, pointer_tokens, subschemas
from .widening import DEFINITIONS, JsonSchema, Rewritten, rewritten

# What may stand in a fragment as it is. Source: RFC 3986, section 3.5.
_UNQUOTED = "/~!$&'()*+,;=:@-._?"


Tokens = tuple[str, ...]


def reference_to(tokens: tuple[str, ...]) -> str:
    """Return the ``$ref`` to the place that these tokens lead to from the root."""
    return "#" + quote(join_pointer(tokens), safe=_UNQUOTED)


def tokens_of(reference: object) -> tuple[str, ...] | None:
    """Return the tokens of a ``$ref`` of the form ``#/…``; None for anything else."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    pointer = unquote(reference[1:])
    if pointer and not pointer.startswith("/"):
        return None
    return tuple(pointer_tokens(pointer))


def target_of(reference: object, root: object) -> object:
    """Return what a ``$ref`` of the form ``#/…`` points at, None when there is nothing."""
    tokens = tokens_of(reference)
    if tokens is None:
        return None
    value = root
    for token in tokens:
        if isinstance(value, dict):
            value = value.get(token)
        elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    return value


def _all_references(schema: object) -> set[tuple[str, ...]]:
    """Return the tokens of every ``$ref`` in a schema."""
    found: set[tuple[str, ...]] = set()
    pending = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            tokens = tokens_of(value.get("$ref"))
            if tokens is not None:
                found.add(tokens)
            pending += [inner for _, inner in subschemas(value, DRAFT_2020_12)]
    return found


def _repointed(schema: JsonSchema, moved: Mapping[Tokens, Tokens]) -> dict[str, Any]:
    """Make every ``$ref`` follow what has moved: from the one beginning of its tokens to the other.

    The longest beginning that fits decides.
    """

    def follow(value: JsonSchema, path: tuple[str, ...]) -> Rewritten:
        tokens = tokens_of(value.get("$ref"))
        for length in range(len(tokens or ()), -1, -1):
            if tokens is not None and tokens[:length] in moved:
                new = moved[tokens[:length]] + tokens[length:]
                return Rewritten({**value, "$ref": reference_to(new)}, True)
        return Rewritten(value, True)

    result: dict[str, Any] = rewritten(schema, follow).schema
    return result


def without_unused(schema: JsonSchema) -> JsonSchema:
    """Leave out the definitions that nothing refers to; the root has no other use for them."""
    used: set[Tokens] = set()
    pending: list[object] = [schema]
    while pending:
        value = pending.pop()
        if not isinstance(value, dict):
            continue
        tokens = tokens_of(value.get("$ref"))
        if tokens is not None and tokens not in used:
            used.add(tokens)
            pending.append(target_of(value["$ref"], schema))
        pending += [
            inner
            for place, inner in subschemas(value, DRAFT_2020_12)
            if place[0] not in DEFINITIONS
        ]
    beginnings = {tokens[:length] for tokens in used for length in range(len(tokens) + 1)}

    def prune(value: JsonSchema, path: Tokens) -> Rewritten:
        result = dict(value)
        for keyword in DEFINITIONS:
            if keyword in result:
                kept = {
                    name: inner
                    for name, inner in result.pop(keyword).items()
                    if (*path, keyword, name) in beginnings
                }
                if kept:
                    result[keyword] = kept
        return Rewritten(result, True)

    pruned: JsonSchema = rewritten(schema, prune).schema
    return pruned


def with_root_kept_apart(schema: JsonSchema, changing: Iterable[str]) -> JsonSchema:
    """Make room for a change of the root's keywords ``changing``, and of its properties.

    Where something refers to the root, or into what changes, a copy of the root is kept among the
    definitions, and the references lead there.
    """
    changes = {*changing, "properties"}
    if not any(not tokens or tokens[0] in changes for tokens in _all_references(schema)):
        return schema
    definitions = schema.get("$defs", {})
    name = "arguments"
    while name in definitions:
        name += "_"
    moved: dict[Tokens, Tokens] = {(): ("$defs", name)}
    moved.update({(keyword,): (keyword,) for keyword in DEFINITIONS})
    apart = {key: value for key, value in schema.items() if key not in DEFINITIONS}
    return _repointed({**schema, "$defs": {**definitions, name: apart}}, moved)
