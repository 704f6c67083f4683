"""Rewriting JSON Schemas, and the references in them, so that valid values stay valid.

A keyword that a model API does not support is removed, so the schema accepts more. Below ``not``,
``oneOf`` or ``if``, accepting more inside would mean accepting less outside, so those keywords are
removed as well. Schemas here are of dialect 2020-12, and none that is given is changed.

Every model API can start from the normal form of a tool's schema. It is valid in dialect 2020-12,
describes an object, has ``properties``, refers only to its own parts by JSON pointers, and has no
boolean where an API wants an object. Notes list the changes of meaning. Sources: the release notes
of JSON Schema draft-06, draft-07, 2019-09 and 2020-12.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Callable, NamedTuple

from ...protocol.json_schema import pointer_tokens, target_of, tokens_of
from ...protocol.schema import SchemaError, compile_schema
from ...protocol.schema.references import DRAFT_2020_12, LIST, MAP, ONE, subschemas
from ...protocol.schema.values import SchemaLimits, join_pointer
from ...protocol.schema_properties import types_of
from ...protocol.types import Tool

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


Tokens = tuple[str, ...]
Change = Callable[[JsonSchema, Tokens], Rewritten]
"""Takes a schema whose subschemas are rewritten, and its JSON pointer tokens from the root."""


def rewritten(schema: object, change: Change, path: Tokens = ()) -> Rewritten:
    """Apply ``change`` to a schema and all its subschemas but booleans, the innermost first."""
    if not isinstance(schema, dict):
        return Rewritten(schema, True)
    children = [
        (tokens, rewritten(value, change, path + tokens))
        for tokens, value in subschemas(schema, DRAFT_2020_12)
    ]
    whole, exact = assembled(schema, children)
    changed, still_exact = change(whole, path)
    return Rewritten(changed, exact and still_exact)


def assembled(schema: Mapping[str, Any], children: Iterable[tuple[Tokens, Rewritten]]) -> Rewritten:
    """Return ``schema`` with these subschemas, without keywords that would now reject more.

    ``children``: each with the tokens of the JSON pointer to it.
    """
    result = dict(schema)
    inexact: set[str] = set()
    for tokens, (inner, exact) in children:
        put(result, schema, tokens, inner)
        if not exact and tokens[0] not in DEFINITIONS:
            inexact.add(tokens[0])
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

    def watch(value: JsonSchema, path: Tokens) -> Rewritten:
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


def every_part(schema: object) -> Iterator[JsonSchema]:
    """Yield a schema and all its subschemas, without booleans."""
    pending = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield value
            pending += [inner for _, inner in subschemas(value, DRAFT_2020_12)]


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


MAX_INLINED = 1_000
"""The most subschemas of a schema without references: a few definitions can describe more places
than fit into memory. So many take about 15 ms."""
# Keywords without effect on which values are valid.
_BESIDE = frozenset({"title", "description", "default", "examples", "deprecated"})


def inlined(schema: JsonSchema, notes: list[str], most: int = MAX_INLINED) -> JsonSchema:
    """Return a schema in normal form without references; append to ``notes`` those it cuts off.

    References are cut off once there are ``most`` subschemas. A definition that contains itself
    cannot be inlined for ever: at the second occurrence, a schema that accepts any value of the
    same type ends the expansion.
    """
    count = 0

    def expand(value: object, path: Tokens, opened: Tokens) -> Rewritten:
        nonlocal count
        if not isinstance(value, dict):
            return Rewritten(value, True)
        count += 1
        part = {key: inner for key, inner in value.items() if key not in DEFINITIONS}
        reference = part.pop("$ref", None)
        children = [
            (tokens, expand(inner, path + tokens, opened))
            for tokens, inner in subschemas(part, DRAFT_2020_12)
        ]
        whole, exact = assembled(part, children)
        if not isinstance(reference, str):
            return Rewritten(whole, exact)
        target = target_of(reference, schema)
        if reference not in opened and count < most:
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

    return dict(expand(schema, (), ()).schema)


def _joined(beside: JsonSchema, target: Any) -> JsonSchema:
    """Return a schema that requires the keywords beside a reference, and its target."""
    if not isinstance(target, dict):
        target = {} if target else {"not": {}}
    if beside.keys() <= _BESIDE:
        return {**target, **beside}
    if not target:
        return beside
    return {**beside, "allOf": [*beside.get("allOf", []), target]}


def with_root_apart(schema: JsonSchema, changing: Iterable[str], notes: list[str]) -> JsonSchema:
    """Return a schema without references to its root, or into keywords that change there.

    Where there are such references, all are inlined; appends to ``notes`` those that are cut off.
    """
    changes = {*changing, "properties"}
    references = (tokens_of(value.get("$ref")) for value in every_part(schema))
    is_changed = any(tokens == () or (tokens and tokens[0] in changes) for tokens in references)
    return inlined(schema, notes) if is_changed else schema


# The normal form

# Dialects in which a reference overrides its sibling keywords.
_HIDING = ("draft-03", "draft-04", "draft-06", "draft-07")
_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
# `compile_schema` checks no annotations, and no schema that never applies, as then without if.
_KINDS: Mapping[str, tuple[Any, type, str]] = {
    **dict.fromkeys(("title", "description", "format"), (str, object, "a string")),
    **dict.fromkeys(("required", "propertyOrdering"), (list, str, "an array of strings")),
    **dict.fromkeys(("dependentRequired", "dependentSchemas"), (dict, object, "an object")),
    "enum": (list, object, "an array"),
}


def modern_schema(schema: dict[str, Any] | bool, notes: list[str]) -> JsonSchema:
    """Return a copy in dialect 2020-12, without ``$schema``.

    Appends to ``notes`` each value that is not a schema where one belongs. The result may still
    break the rules of single keywords.
    """
    if isinstance(schema, bool):
        if not schema:
            notes.append("its schema accepts nothing; it takes any arguments")
        return {}
    dialect = schema.get("$schema")
    reference_hides = isinstance(dialect, str) and any(name in dialect for name in _HIDING)

    def modern(value: object, path: Tokens) -> Any:
        if isinstance(value, bool):
            return value
        if not isinstance(value, dict):
            notes.append(f"at {join_pointer(path)}: not a schema; anything is taken there")
            return {}
        result = {key: inner for key, inner in value.items() if key != "$schema"}
        if reference_hides and "$ref" in result:
            kept = {"$ref", *_BESIDE, *DEFINITIONS}
            result = {key: inner for key, inner in result.items() if key in kept}
        for keyword, (kind, inside, words) in _KINDS.items():
            given = result.get(keyword, kind())
            if not isinstance(given, kind) or not all(isinstance(each, inside) for each in given):
                location = join_pointer((*path, keyword))
                notes.append(f"at {location}: {keyword} is not {words}; left out")
                del result[keyword]
        _update_keywords(result)
        for keyword, (shape, *_) in DRAFT_2020_12.places.items():
            inner, place = result.get(keyword), (*path, keyword)
            if shape == MAP and isinstance(inner, dict):
                result[keyword] = {name: modern(one, (*place, name)) for name, one in inner.items()}
            elif shape == LIST and isinstance(inner, list) and inner:
                numbered = enumerate(inner)
                result[keyword] = [modern(one, (*place, str(index))) for index, one in numbered]
            elif shape == ONE and isinstance(inner, (dict, bool)):
                result[keyword] = modern(inner, place)
            elif keyword in result:
                notes.append(f"at {join_pointer(place)}: not a schema; left out")
                del result[keyword]
        return result

    modernized: JsonSchema = modern(schema, ())
    return modernized


def _update_keywords(schema: JsonSchema) -> None:
    if isinstance(schema.get("items"), list):
        schema["prefixItems"] = schema.pop("items")
        if "additionalItems" in schema:
            schema["items"] = schema["additionalItems"]
        if not schema["prefixItems"]:
            del schema["prefixItems"]
    schema.pop("additionalItems", None)  # no meaning with one schema for all items
    identifier = schema.get("$id")
    if isinstance(identifier, str) and identifier.startswith("#") and len(identifier) > 1:
        schema["$anchor"] = schema.pop("$id")[1:]
    for exclusive, bound in _BOUNDS.items():
        is_old = isinstance(schema.get(exclusive), bool)
        if is_old and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    dependencies = schema.pop("dependencies", None)
    if isinstance(dependencies, dict):
        for name, needed in dependencies.items():
            keyword = "dependentRequired" if isinstance(needed, list) else "dependentSchemas"
            schema.setdefault(keyword, {}).setdefault(name, needed)


# Number of invalid parts to remove before giving up on the whole schema.
_MAX_REPAIRS = 20
# Far more than honest tools need.
_LIMITS = SchemaLimits(compilation_steps=200_000)
_IDENTIFYING = ("$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$vocabulary")
# Keywords with boolean values that every API accepts.
_TAKES_BOOLEAN = frozenset({"additionalProperties", "unevaluatedProperties", "unevaluatedItems"})


def normal_schema(tool: Tool) -> tuple[JsonSchema, list[str]]:
    """Return the normal form of a tool's input schema, and notes on changes of its meaning."""
    notes: list[str] = []
    written = tool.raw.get("inputSchema", {})
    if not isinstance(written, (dict, bool)):
        notes.append("its schema is not an object; it takes any arguments")
        written = {}
    try:
        finite = _finite(written)
        if finite != written:
            notes.append("numbers that JSON does not have were left out of its schema")
        modern = modern_schema(finite, notes)
        valid = _valid(modern, notes)
        local = without_unused(_localized(without_unused(valid), notes))
    except RecursionError:
        notes.append("its schema is too large or nested too deeply; it takes any arguments")
        local = {}
    return _of_an_object(local, notes), notes


def _finite(value: Any) -> Any:
    """Return a value without infinities and NaN, which some servers send and no API accepts."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items() if not _is_endless(inner)}
    if isinstance(value, list):
        return [_finite(inner) for inner in value if not _is_endless(inner)]
    return value


def _is_endless(value: object) -> bool:
    return isinstance(value, float) and not isfinite(value)


def _of_an_object(schema: JsonSchema, notes: list[str]) -> JsonSchema:
    if "object" not in types_of(schema) and "type" in schema:
        notes.append(f"its schema is for {schema['type']!r}, but arguments are always an object")
        schema = {key: value for key, value in schema.items() if key == "description"}
    if schema.get("type") != "object":  # other references to the root may mean other types
        schema = with_root_apart(schema, ("type",), notes)
    return {**schema, "type": "object", "properties": schema.get("properties", {})}


def _valid(schema: JsonSchema, notes: list[str]) -> JsonSchema:
    for _ in range(_MAX_REPAIRS):
        try:
            compile_schema(schema, limits=_LIMITS)
        except SchemaError as error:
            tokens = tuple(pointer_tokens(error.location.partition("#")[2]))
            notes.append(f"at {join_pointer(tokens) or 'the root'}: {error.fault}; left out")
            schema = _without(schema, tokens)
        else:
            return schema
    notes.append("too much of its schema is broken; it takes any arguments")
    return {}


def _without(schema: JsonSchema, tokens: tuple[str, ...]) -> JsonSchema:
    """Remove a keyword; of a whole subschema, its references, or else all but its description."""
    if not tokens:
        references = ("$id", "$ref", "$dynamicRef")
        if any(keyword in schema for keyword in references):
            return {key: value for key, value in schema.items() if key not in references}
        return {key: schema[key] for key in ("title", "description") if key in schema}
    changed = schema.copy()
    for place, inner in subschemas(schema, DRAFT_2020_12):
        if tokens[: len(place)] == place and isinstance(inner, dict):
            put(changed, schema, place, _without(inner, tokens[len(place) :]))
            return changed
    changed.pop(tokens[0], None)
    return changed


def _localized(schema: JsonSchema, notes: list[str]) -> JsonSchema:
    """Leave out identifiers, and the references to them; those that are JSON pointers stay.

    Where a part has an ``$id``, a pointer may begin there, so none stays.
    """
    has_parts_named = any("$id" in part for part in every_part(schema) if part is not schema)

    def change(value: JsonSchema, path: Tokens) -> Rewritten:
        result = {key: inner for key, inner in value.items() if key not in _IDENTIFYING}
        is_pointer = tokens_of(value.get("$ref")) is not None and not has_parts_named
        if "$ref" in value and not is_pointer:
            del result["$ref"]
        lost = [value[key] for key in ("$ref", "$dynamicRef") if key in value and key not in result]
        place = join_pointer(path) or "the root"
        for reference in lost:
            notes.append(f"at {place}: the reference {reference!r} was left out")
        if "array" in types_of(result) and "unevaluatedItems" not in result:
            result.setdefault("items", {})  # some APIs demand it
        return Rewritten(_without_booleans(result), not lost)

    localized: JsonSchema = widened(schema, change).schema
    notes[:] = dict.fromkeys(notes)  # a schema may be gone through twice
    return localized


def _without_booleans(schema: JsonSchema) -> JsonSchema:
    result = schema.copy()
    for place, value in subschemas(schema, DRAFT_2020_12):
        if isinstance(value, bool) and place[0] not in _TAKES_BOOLEAN:
            put(result, schema, place, {} if value else {"not": {}})
    return result
