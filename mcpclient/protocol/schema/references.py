"""The dialects, the places of all subschemas, and the targets of references.

A document is a tree of subschemas. One with an ``$id`` starts a resource, which has a URI of its
own, and anchors that are looked up within it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote, urljoin

from ...errors import SchemaError
from ..json_schema import pointer_tokens
from .evaluation import Dialect, Position, Resource
from .values import Budget, SchemaLimits, describe, join_pointer

# The kinds of values that a keyword may have.
ONE = "a schema"
LIST = "a list of schemas"
MAP = "an object of schemas"

_PLACES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("$defs", "definitions", "properties", "patternProperties"), (MAP,)),
    **dict.fromkeys(("dependentSchemas", "dependencies"), (MAP,)),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), (LIST,)),
    **dict.fromkeys(("items", "contains", "additionalProperties", "propertyNames"), (ONE,)),
    **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), (ONE,)),
    **dict.fromkeys(("if", "then", "else", "not"), (ONE,)),
}
_NOT_IN_DRAFT_07 = frozenset(
    {"$anchor", "$dynamicRef", "$dynamicAnchor", "$defs", "prefixItems", "dependentSchemas"}
    | {"dependentRequired", "unevaluatedItems", "unevaluatedProperties"}
)
_PLACES_07 = {name: shapes for name, shapes in _PLACES.items() if name not in _NOT_IN_DRAFT_07}
_PLACES_07["items"] = (ONE, LIST)
_PLACES_07["additionalItems"] = (ONE,)


DRAFT_2020_12 = Dialect(_PLACES, frozenset({"additionalItems"}))
DRAFT_07 = Dialect(_PLACES_07, _NOT_IN_DRAFT_07, legacy=True)

DIALECTS: Mapping[str, Dialect] = {
    "https://json-schema.org/draft/2020-12/schema": DRAFT_2020_12,
    "http://json-schema.org/draft/2020-12/schema": DRAFT_2020_12,
    "http://json-schema.org/draft-07/schema": DRAFT_07,
    "https://json-schema.org/draft-07/schema": DRAFT_07,
}


def subschemas(
    schema: Mapping[str, object], dialect: Dialect
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield each direct subschema of a schema, with the tokens of the JSON pointer to it.

    Values in the place of a subschema that are neither an object nor a boolean are left out: the
    keyword reports them.
    """
    for keyword, value in schema.items():
        shapes = dialect.places.get(keyword, ())
        found: Iterable[tuple[tuple[str, ...], object]] = ()
        if LIST in shapes and isinstance(value, list):
            found = [((keyword, str(index)), item) for index, item in enumerate(value)]
        elif MAP in shapes and isinstance(value, dict):
            found = [((keyword, name), item) for name, item in value.items()]
        elif ONE in shapes:
            found = [((keyword,), value)]
        for tokens, item in found:
            if isinstance(item, (dict, bool)):
                yield tokens, item


def split_fragment(uri: str) -> tuple[str, str]:
    """Return a URI without its fragment, and the fragment with percent escapes decoded."""
    absolute, _, fragment = uri.partition("#")
    return absolute, unquote(fragment)


_ANCHOR = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
# Every relative $id repeats the URI it is relative to.
_MAX_URI_LENGTH = 4096
# The steps of finding a subschema, and of following a reference.
_STEPS_PER_SUBSCHEMA = 2
_ENTRIES_PER_STEP = 4
_STEPS_PER_REFERENCE = 5
_CHARACTERS_PER_STEP = 100
_TOKEN_PAIRS_PER_STEP = 500


class Registry:
    """All subschemas of a document, which are its ``positions``.

    ``dynamic_anchors``: the places of every ``$dynamicAnchor`` found so far, by its name. A
    metaschema that it refers to is a document without content, named like the dialect.
    """

    def __init__(self, limits: SchemaLimits, budget: Budget) -> None:
        self.dynamic_anchors: dict[str, list[Position]] = {}
        self.positions: list[Position] = []
        self._limits = limits
        self._spend = budget.spend
        self._resources: dict[str, Resource] = {}

    def add_document(self, uri: str, schema: object, dialect: Dialect = DRAFT_2020_12) -> Position:
        """Find all subschemas of a document. Its ``$schema`` outranks ``dialect``."""
        resource = Resource(uri, dialect)
        self._resources[uri] = resource
        resource.root = Position(uri, schema, resource)
        self._index(resource.root)
        return resource.root

    def resolve(self, reference: str, origin: Position) -> Position:
        """Return the target of a ``$ref`` in ``origin``. Raises `SchemaError`."""
        uri, fragment = self._absolute(reference, origin)
        resource = self._resource(uri, origin)
        if not fragment:
            return resource.root
        if fragment.startswith("/"):
            return self._at_pointer(resource.root, pointer_tokens(fragment), origin)
        if fragment in resource.anchors:
            return resource.anchors[fragment]
        raise SchemaError(f"there is no anchor {describe(fragment)} to refer to", origin.location)

    def _absolute(self, reference: str, origin: Position) -> tuple[str, str]:
        """Return a reference as an absolute URI and a decoded fragment."""
        self._spend(_STEPS_PER_REFERENCE + len(reference) // _CHARACTERS_PER_STEP)
        relative, fragment = split_fragment(reference)
        try:
            uri = urljoin(origin.resource.uri, relative)
        except ValueError as error:
            raise SchemaError(f"{describe(relative)}: {error}", origin.location) from None
        if len(uri) > _MAX_URI_LENGTH:
            raise SchemaError("a URI in it is too long", origin.location)
        return uri, fragment

    def _resource(self, uri: str, origin: Position) -> Resource:
        if uri not in self._resources:
            dialect = DIALECTS.get(uri)
            if dialect is None:
                raise SchemaError(
                    f"it refers to {describe(uri)}, which is not part of it, "
                    "and references are not fetched",
                    origin.location,
                )
            self.add_document(uri, {}, dialect)
        return self._resources[uri]

    def _at_pointer(self, root: Position, tokens: Sequence[str], origin: Position) -> Position:
        """Return the subschema at a JSON pointer.

        Where no keyword has put a subschema, the value becomes one by being referred to.
        """
        self._spend(len(tokens) ** 2 // _TOKEN_PAIRS_PER_STEP)
        value, nearest, behind = root.value, root, 0
        for index, token in enumerate(tokens, 1):
            if isinstance(value, dict) and token in value:
                value = value[token]
            elif isinstance(value, list) and _INDEX.fullmatch(token) and int(token) < len(value):
                value = value[int(token)]
            else:
                pointer = describe(join_pointer(tokens))
                raise SchemaError(f"there is nothing at {pointer} to refer to", origin.location)
            found = nearest.children.get(tuple(tokens[behind:index]))
            if found is not None:
                nearest, behind = found, index
        if behind < len(tokens):
            nearest = nearest.add_child(tuple(tokens[behind:]), value)
            self._index(nearest)
        return nearest

    def _index(self, start: Position) -> None:
        """Find every subschema below a position, without recursion."""
        pending = [start]
        while pending:
            position = pending.pop()
            self.positions.append(position)
            if len(self.positions) > self._limits.subschemas:
                fault = f"it has over {self._limits.subschemas} subschemas"
                raise SchemaError(fault, position.location)
            if position.depth > self._limits.schema_depth:
                fault = f"it is nested over {self._limits.schema_depth} deep"
                raise SchemaError(fault, position.location)
            schema = position.value
            if isinstance(schema, dict):
                entries = [value for value in schema.values() if isinstance(value, (dict, list))]
                most = len(schema) + sum(map(len, entries))  # subschemas
                self._spend(_STEPS_PER_SUBSCHEMA + most // _ENTRIES_PER_STEP)
                self._identify(position, schema)
                for tokens, value in subschemas(schema, position.resource.dialect):
                    pending.append(position.add_child(tokens, value))

    def _identify(self, position: Position, schema: Mapping[str, object]) -> None:
        """Start a resource where the schema has an ``$id``, and register its anchors."""
        outer = position.resource
        dialect = outer.dialect
        is_root = position.parent is None
        if "$schema" in schema and (is_root or "$id" in schema):
            name = schema["$schema"]
            uri = name[:-1] if isinstance(name, str) and name.endswith("#") else name
            named = DIALECTS.get(uri) if isinstance(uri, str) else None
            if named is None:
                fault = f"its dialect, {describe(name)}, is not supported; 2020-12 and draft-07 are"
                raise SchemaError(fault, position.location)
            dialect = named
        if is_root:
            outer.dialect = dialect
        if "$id" in schema and not (dialect.legacy and "$ref" in schema):
            self._start_resource(position, schema["$id"], dialect)
        if dialect.legacy:
            return
        for keyword in ("$anchor", "$dynamicAnchor"):
            if keyword in schema:
                name = schema[keyword]
                if not isinstance(name, str) or not _ANCHOR.fullmatch(name):
                    raise SchemaError(f"{keyword} is not a name", position.location)
                self._add_anchor(name, position)
                if keyword == "$dynamicAnchor":
                    position.resource.dynamic_anchors[name] = position
                    self.dynamic_anchors.setdefault(name, []).append(position)

    def _start_resource(self, position: Position, identifier: object, dialect: Dialect) -> None:
        if not isinstance(identifier, str):
            raise SchemaError("$id is not a string", position.location)
        uri, fragment = self._absolute(identifier, position)
        if dialect.legacy and identifier.startswith("#"):
            self._add_anchor(fragment, position)
            return
        if fragment and not dialect.legacy:
            raise SchemaError("$id has a fragment", position.location)
        if position.parent is None:
            # The document itself: it keeps its resource, which gains a second URI.
            position.resource.uri = uri
            self._resources[uri] = position.resource
            return
        resource = Resource(uri, dialect)
        resource.root = position
        position.resource = resource
        known = self._resources.setdefault(uri, resource).root
        self._expect_same(known, position, f"the $id {describe(uri)}")

    def _add_anchor(self, name: str, position: Position) -> None:
        known = position.resource.anchors.setdefault(name, position)
        self._expect_same(known, position, f"the anchor {describe(name)}")

    def _expect_same(self, known: Position, position: Position, name: str) -> None:
        if known.value != position.value:
            raise SchemaError(f"two different schemas have {name}", position.location)
