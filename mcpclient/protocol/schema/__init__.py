"""JSON Schema: 2020-12 and draft-07, with bounds on everything a server can send.

::

    schema = compile_schema(tool.output_schema)
    for violation in schema.validate(structured_content):
        print(violation)  # at /items/0/age: 'x' is not an integer

Nothing is fetched: a reference that leads out of the schema makes the schema unusable, and so does
one that leads in a circle. Regular expressions are matched in linear time (see ``patterns``). What
is not reachable from the root of a schema is not looked at closely.

Sources: JSON Schema Core and Validation 2020-12 and draft-07; MCP 2026-07-28, "JSON Schema Usage".
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import NotChecked as NotChecked
from ...errors import SchemaError as SchemaError
from ...errors import UsageError
from .compiler import Compiler
from .evaluation import Position, Run
from .references import DIALECTS as DIALECTS
from .references import Registry
from .values import Budget, Clock, Stopped, join_pointer
from .values import SchemaLimits as SchemaLimits


@dataclass(frozen=True)
class Violation:
    """One way in which a value does not match its schema.

    ``message``: the fault, ``instance_path`` where in the value (a JSON pointer, empty
    for the value itself) and ``schema_path`` which keyword of the schema said so.
    """

    message: str
    instance_path: str
    schema_path: str

    def __str__(self) -> str:
        return f"at {self.instance_path or 'the top'}: {self.message}"


_DEFAULT_LIMITS = SchemaLimits()


@dataclass(eq=False, repr=False)
class Schema:
    """A compiled schema, made by `compile_schema`; usable any number of times."""

    _root: Position
    _limits: SchemaLimits
    _clock: Clock

    def validate(self, value: object) -> list[Violation]:
        """Return the violations of the value, up to a limit; empty when it matches.

        Raises `NotChecked` for a validation that reaches a limit of `SchemaLimits`: an
        unchecked value is neither valid nor a violation. Raises `UsageError` for a value that
        JSON cannot carry.
        """
        run = Run(self._limits, self._root.resource, self._clock)
        try:
            failures = self._root.check(value, run, None) or []
        except Stopped as stop:
            raise NotChecked(str(stop)) from None
        except RecursionError:
            raise NotChecked("schema and value are nested too deeply") from None
        return [
            Violation(
                failure.message,
                join_pointer(reversed(failure.path)),
                failure.position.location + (f"/{failure.keyword}" if failure.keyword else ""),
            )
            for failure in failures[: self._limits.violations]
        ]


def compile_schema(
    schema: object,
    *,
    limits: SchemaLimits = _DEFAULT_LIMITS,
    assert_formats: bool = False,
    clock: Clock = None,
) -> Schema:
    """Make a schema ready for validating.

    ``schema``: decoded JSON; it must not change afterwards. Its ``$schema`` names
    the dialect, one of `DIALECTS`; 2020-12 without it. ``assert_formats`` makes a value that is not
    of its ``format`` a violation; otherwise, as JSON Schema has it, a format only describes.
    Without a ``clock``, which returns seconds, the limit on time is not kept, only that on steps.

    Raises `SchemaError` for a schema that is malformed, has a reference to nothing or in a
    circle, is of another dialect, or is over the limits.
    """
    budget = Budget(limits.compilation_steps, limits.seconds, clock)
    registry = Registry(limits, budget)
    try:
        root = registry.add_document("", schema)
        Compiler(registry, limits, budget, assert_formats=assert_formats).compile(root)
    except Stopped as stop:
        raise SchemaError(str(stop), "#") from None
    except RecursionError:
        raise SchemaError("it is nested too deeply", "#") from None
    return Schema(root, limits, clock)


def violations_of(
    value: object, schema: object, *, clock: Clock = None, assert_formats: bool = False
) -> list[Violation]:
    """Return the violations of a schema; none of one that is wrong itself, or too costly.

    For a value that its receiver checks as well, and has the last word on.
    """
    try:
        compiled = compile_schema(schema, assert_formats=assert_formats, clock=clock)
        return compiled.validate(value)
    except (SchemaError, NotChecked, UsageError, ValueError):
        return []
