"""Putting what ``$ref`` refers to in its place, for APIs that cannot follow references.

A definition that contains itself has no end: where it comes round again, a schema stands that takes
anything of the same type and says whose shape it has.
"""

from __future__ import annotations

from typing import Any

from ...protocol.schema.dialects import DRAFT_2020_12, join_pointer, subschemas
from .pointers import target_of, tokens_of
from .widening import DEFINITIONS, Child, JsonSchema, Rewritten, assembled

# A schema of a few definitions can describe more places than fit into memory.
_MAX_SUBSCHEMAS = 5_000
# These change nothing about which values are valid.
_ANNOTATIONS = frozenset({"title", "description", "default", "examples", "deprecated"})


def inlined(schema: JsonSchema) -> tuple[JsonSchema, list[str]]:
    """Return a schema in normal form without references, and where that was not possible.

    Every value that was valid stays valid. The original is not touched.
    """
    inlining = _Inlining(schema)
    result = inlining.expand(schema, (), ()).schema
    return dict(result), inlining.notes


class _Inlining:
    def __init__(self, root: JsonSchema) -> None:
        self.notes: list[str] = []
        self._root = root
        self._count = 0

    def expand(self, value: object, path: tuple[str, ...], opened: tuple[str, ...]) -> Rewritten:
        """Expand a subschema; ``opened`` are the references that led to it."""
        if not isinstance(value, dict):
            return Rewritten(value, True)
        self._count += 1
        schema = {key: inner for key, inner in value.items() if key not in DEFINITIONS}
        reference = schema.pop("$ref", None)
        children = [
            Child(tokens, *self.expand(inner, path + tokens, opened))
            for tokens, inner in subschemas(schema, DRAFT_2020_12)
        ]
        whole, exact = assembled(schema, children)
        if not isinstance(reference, str):
            return Rewritten(whole, exact)
        target = self._target(reference, path, opened)
        return Rewritten(_joined(whole, target.schema), exact and target.exact)

    def _target(self, reference: str, path: tuple[str, ...], opened: tuple[str, ...]) -> Rewritten:
        target = target_of(reference, self._root)
        if reference not in opened and self._count < _MAX_SUBSCHEMAS:
            return self.expand(target, path, (*opened, reference))
        name = (tokens_of(reference) or ("the arguments",))[-1]
        place = join_pointer(path) or "the root"
        if reference in opened:
            self.notes.append(f"at {place}: {name} contains itself; anything of its type is taken")
        else:
            self.notes.append(f"at {place}: the schema is too large with {name} in its place")
        kept = target if isinstance(target, dict) else {}
        cut: JsonSchema = {key: kept[key] for key in ("type",) if key in kept}
        return Rewritten({**cut, "description": f"Of the same form as {name}."}, False)


def _joined(beside: JsonSchema, target: Any) -> JsonSchema:
    """Both what stood beside a reference and what it refers to must hold."""
    if not isinstance(target, dict):
        target = {} if target else {"not": {}}
    if beside.keys() <= _ANNOTATIONS:
        return {**target, **beside}
    if not target:
        return beside
    return {**beside, "allOf": [*beside.get("allOf", []), target]}
