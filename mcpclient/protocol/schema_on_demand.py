"""The validator of JSON Schemas, imported when it is first used.

Importing it takes as long as all the rest of a client that talks to one server over stdio, and most
clients never need it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..on_demand import import_part

if TYPE_CHECKING:
    from .schema import Schema, SchemaLimits

__all__ = ["compile_schema"]


def compile_schema(
    schema: object,
    *,
    clock: Callable[[], float],
    limits: SchemaLimits | None = None,
    assert_formats: bool = False,
) -> Schema:
    """Compile a JSON Schema; see `protocol.schema.compile_schema`. ``clock`` limits the time."""
    package: Any = import_part(".schema", __package__)
    compiled: Schema = package.compile_schema(
        schema,
        limits=limits or package.SchemaLimits(),
        assert_formats=assert_formats,
        clock=clock,
    )
    return compiled
