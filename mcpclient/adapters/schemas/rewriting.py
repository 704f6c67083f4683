"""Rewriting JSON Schemas, and the references in them, so that valid values stay valid.

A keyword that a model API does not support is removed, so the schema accepts more. Below ``not``,
``oneOf`` or ``if``, accepting more inside would mean accepting less outside, so those keywords are
removed as well. Schemas here are of dialect 2020-12, and none that is given is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Callable, NamedTuple
from urllib.parse import quote, unquote

from ...protocol.schema.references import DRAFT_2020_12, pointer_tokens, subschemas
from ...protocol.schema.values import join_pointer

JsonSchema = dict[str, Any]

# Keywords that depend on the parts that their siblings have evaluated.
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_IN_PLACE = frozenset({"allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas"})
DEFINITIONS = ("$defs", "definitions")
"""Keywords whose schemas apply only through references."""
_CONDITIONAL = ("if", "then", "else")


class Rewritten(NamedTuple):
    """A schema, and whether it accepts exactly the values that the original accepts."""

    schema: Any
    exact: bool


class Child(NamedTuple):
    """A rewritten subschema, and the tokens of the JSON pointer to it from its parent."""

    tokens: tuple[str, ...]
    schema: Any
    exact: bool


Change = Callable[[JsonSchema, tuple[str, ...]], Rewritten]
"""Takes a schema whose subschemas are rewritten, and its JSON pointer tokens from the root."""


def rewritten(schema: object, change: Change, path: tuple[str, ...] = ()) -> Rewritten:
    """Apply ``change`` to a schema and all its subschemas but booleans, the innermost first."""
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
    """Return ``schema`` with these subschemas, without keywords that would now reject more."""
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
        branches = {"anyOf": result.pop("oneOf")}
        if "anyOf" in result:
            branches = {"allOf": [*result.get("allOf", []), branches]}
        result.update(branches)
    if "contains" in inexact:
        result.pop("maxContains", None)
    if inexact & _IN_PLACE or "if" in inexact:
        for keyword in _UNEVALUATED:
            result.pop(keyword, None)
    return Rewritten(result, not inexact)


def widened(schema: object, change: Change) -> Rewritten:
    """Apply `rewritten` to a schema that may refer to definitions.

    If a definition accepts more than before, so does each schema that refers to it.
    """
    is_widened = False

    def watch(value: JsonSchema, path: tuple[str, ...]) -> Rewritten:
        nonlocal is_widened
        refers = is_widened and "$ref" in value
        changed = change(value, path)
        is_widened = is_widened or not changed.exact
        return Rewritten(changed.schema, changed.exact and not refers)

    result = rewritten(schema, watch)
    return rewritten(schema, watch) if is_widened else result


def put(result: JsonSchema, original: Mapping[str, Any], place: Sequence[str], value: Any) -> None:
    """Put a subschema at its place in ``result``, a shallow copy of ``original``."""
    keyword, *inner = place
    if not inner:
        result[keyword] = value
        return
    if result[keyword] is original[keyword]:
        result[keyword] = original[keyword].copy()
    container = result[keyword]
    container[int(inner[0]) if isinstance(container, list) else inner[0]] = value


# Characters that a fragment may contain unquoted. Source: RFC 3986, section 3.5.
_UNQUOTED = "/~!$&'()*+,;=:@-._?"


Tokens = tuple[str, ...]


def reference_to(tokens: tuple[str, ...]) -> str:
    """Return the ``$ref`` to the place with these tokens from the root."""
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
    """Return the target of a ``$ref`` of the form ``#/…``, or None."""
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


def every_part(schema: object) -> Iterator[JsonSchema]:
    """Yield a schema and all its subschemas, without booleans."""
    pending = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield value
            pending += [inner for _, inner in subschemas(value, DRAFT_2020_12)]


def _repointed(schema: JsonSchema, moved: Mapping[Tokens, Tokens]) -> dict[str, Any]:
    """Return the schema with each ``$ref`` updated for the innermost part that has ``moved``."""

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
    """Return the schema without the definitions at its root that nothing refers to."""
    result = {key: value for key, value in schema.items() if key not in DEFINITIONS}
    used: set[Tokens] = set()
    pending: list[object] = [result]
    while pending:
        for part in every_part(pending.pop()):
            tokens = tokens_of(part.get("$ref"))
            if tokens and tokens not in used:
                used.add(tokens)
                pending.append(target_of(part["$ref"], schema))
    places = {tokens[:2] for tokens in used}
    for keyword in DEFINITIONS:
        definitions = schema.get(keyword, {}).items()
        kept = {name: inner for name, inner in definitions if (keyword, name) in places}
        if kept:
            result[keyword] = kept
    return result


def with_root_kept_apart(schema: JsonSchema, changing: Iterable[str]) -> JsonSchema:
    """Prepare a change of the root's keywords ``changing`` and of its properties.

    References to the root, or into those keywords, are redirected to a copy of the root among the
    definitions.
    """
    changes = {*changing, "properties"}
    references = (tokens_of(value.get("$ref")) for value in every_part(schema))
    if not any(tokens == () or (tokens and tokens[0] in changes) for tokens in references):
        return schema
    definitions = schema.get("$defs", {})
    name = "arguments"
    while name in definitions:
        name += "_"
    moved: dict[Tokens, Tokens] = {(): ("$defs", name)}
    moved.update({(keyword,): (keyword,) for keyword in DEFINITIONS})
    apart = {key: value for key, value in schema.items() if key not in DEFINITIONS}
    return _repointed({**schema, "$defs": {**definitions, name: apart}}, moved)


# A schema of a few definitions can describe more places than fit into memory.
_MAX_SUBSCHEMAS = 5_000
# Keywords without effect on which values are valid.
_ANNOTATIONS = frozenset({"title", "description", "default", "examples", "deprecated"})


def inlined(schema: JsonSchema) -> tuple[JsonSchema, list[str]]:
    """Return a schema in normal form without references, and notes on those that were cut off.

    A definition that contains itself cannot be inlined for ever: at the second occurrence, a schema
    that accepts any value of the same type ends the expansion.
    """
    notes: list[str] = []
    count = 0

    def expand(value: object, path: Tokens, opened: Tokens) -> Rewritten:
        """Expand a subschema. ``opened``: the references that led to it."""
        nonlocal count
        if not isinstance(value, dict):
            return Rewritten(value, True)
        count += 1
        part = {key: inner for key, inner in value.items() if key not in DEFINITIONS}
        reference = part.pop("$ref", None)
        children = [
            Child(tokens, *expand(inner, path + tokens, opened))
            for tokens, inner in subschemas(part, DRAFT_2020_12)
        ]
        whole, exact = assembled(part, children)
        if not isinstance(reference, str):
            return Rewritten(whole, exact)
        target = target_of(reference, schema)
        if reference not in opened and count < _MAX_SUBSCHEMAS:
            expanded, is_exact = expand(target, path, (*opened, reference))
            return Rewritten(_joined(whole, expanded), exact and is_exact)
        name = (tokens_of(reference) or ("the arguments",))[-1]
        place = join_pointer(path) or "the root"
        if reference in opened:
            notes.append(f"at {place}: {name} contains itself; any value of its type is accepted")
        else:
            notes.append(f"at {place}: the schema is too large with {name} in its place")
        cut = {"description": f"Of the same form as {name}."}
        if isinstance(target, dict) and "type" in target:
            cut["type"] = target["type"]
        return Rewritten(_joined(whole, cut), False)

    return dict(expand(schema, (), ()).schema), notes


def _joined(beside: JsonSchema, target: Any) -> JsonSchema:
    """Return a schema that requires the keywords beside a reference, and its target."""
    if not isinstance(target, dict):
        target = {} if target else {"not": {}}
    if beside.keys() <= _ANNOTATIONS:
        return {**target, **beside}
    if not target:
        return beside
    return {**beside, "allOf": [*beside.get("allOf", []), target]}
