"""The dialects of JSON Schema: which keywords they know and where these hold subschemas.

Supported are 2020-12, the default of MCP, and draft-07, which many servers still write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

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


@dataclass(frozen=True)
class Dialect:
    """One dialect: the places of subschemas, and the keywords that only the other dialect has.

    ``legacy`` marks the rules of draft-07: a ``$ref`` hides its siblings, ``items`` may be a list
    and is completed by ``additionalItems``, and anchors are written as ``$id``.
    """

    places: Mapping[str, tuple[str, ...]]
    foreign: frozenset[str]
    legacy: bool = False


DRAFT_2020_12 = Dialect(_PLACES, frozenset({"additionalItems"}))
DRAFT_07 = Dialect(_PLACES_07, _NOT_IN_DRAFT_07, legacy=True)

DIALECTS: Mapping[str, Dialect] = {
    "https://json-schema.org/draft/2020-12/schema": DRAFT_2020_12,
    "http://json-schema.org/draft/2020-12/schema": DRAFT_2020_12,
    "http://json-schema.org/draft-07/schema": DRAFT_07,
    "https://json-schema.org/draft-07/schema": DRAFT_07,
}


def dialect_of(uri: str) -> Dialect | None:
    """Return the dialect that a ``$schema`` names, or None when it is not supported."""
    return DIALECTS.get(uri[:-1] if uri.endswith("#") else uri)


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


_MAX_NAME = 1000


def split_fragment(uri: str) -> tuple[str, str]:
    """Return a URI without its fragment, and the fragment with percent escapes decoded."""
    absolute, _, fragment = uri.partition("#")
    return absolute, unquote(fragment)


def join_pointer(tokens: Iterable[str | int]) -> str:
    """Return the JSON pointer of these member names and array indexes. Source: RFC 6901.

    It is for reading: very long names are cut, since every violation would repeat them.
    """
    names = map(str, tokens)
    shown = [name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…" for name in names]
    return "".join(["/" + name.replace("~", "~0").replace("/", "~1") for name in shown])


def pointer_tokens(pointer: str) -> Sequence[str]:
    """Return the member names and array indexes of a JSON pointer; none for an empty one."""
    tokens = pointer[1:].split("/") if pointer else []
    return [token.replace("~1", "/").replace("~0", "~") for token in tokens]
