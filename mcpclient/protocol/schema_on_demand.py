"""The validator of JSON Schemas, imported when it is first used.

Importing it takes as long as all the rest of a client that talks to one server over stdio, and most
clients never need it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..lazy import import_part

if TYPE_CHECKING:
    from .schema import Schema, SchemaLimits


def compile_schema(
    schema: object,
    *,
    clock: Callable[[], float],
    limits: SchemaLimits | None = None,
    assert_formats: bool = False,
    hurry: float | None = None,
) -> Schema:
    """Compile a JSON Schema; see `protocol.schema.compile_schema`. ``clock`` limits the time.

    ``hurry``: the most seconds that this and each validation may take, whatever ``limits`` says.
    """
    package: Any = import_part(".schema", __package__)
    chosen: SchemaLimits = limits or package.SchemaLimits()
    if hurry is not None:
        chosen = package.SchemaLimits(**{**vars(chosen), "seconds": min(chosen.seconds, hurry)})
    compiled: Schema = package.compile_schema(
        schema, limits=chosen, assert_formats=assert_formats, clock=clock
    )
    return compiled
