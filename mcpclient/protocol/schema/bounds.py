"""How much a schema, and one validation against it, may cost."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SchemaLimits"]


@dataclass(frozen=True)
class SchemaLimits:
    """Bounds that keep a hostile schema or a hostile value from exhausting this process.

    ``schema_depth``: how deep subschemas may nest inside one another.
    ``subschemas``: how many there may be, those of referenced documents included.
    ``pattern_states``: the summed size of the automata of all regular expressions.
    ``validation_steps``: the work one validation may take, in steps of about a microsecond; an
    ordinary value takes about one for each of its parts. Exponential combinations of ``anyOf``
    and friends end here.
    ``validation_depth``: how many schemas may be applied inside one another, each ``$ref`` and
    each level of the value counting as one. Below half of Python's recursion limit.
    ``violations``: how many violations one validation reports at most.

    Source: MCP 2026-07-28, "Composition-Keyword Resource Use".
    """

    schema_depth: int = 128
    subschemas: int = 20_000
    pattern_states: int = 20_000
    validation_steps: int = 1_000_000
    validation_depth: int = 300
    violations: int = 20
