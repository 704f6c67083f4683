"""Compiled schemas at work: nodes made of rules, and the state of one validation.

A node is one schema. It keeps, for each JSON type, the rules that apply to values of that type, so
that a string is never checked by the keywords for arrays. A rule is a closure:
it returns None when the value is fine, otherwise its failures. The place of a failure in the
value is noted while the failures travel outwards, so that a valid value pays nothing for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Optional

from .references import Position, Resource
from .values import JSON_TYPES, Budget, Clock, SchemaLimits, Stopped, json_type


@dataclass(eq=False)
class Failure:
    """A violation on its way outwards; ``path`` leads to the value from the inside out."""

    message: str
    position: Position
    keyword: str
    path: list[str | int] = field(default_factory=list)


Failures = Optional[list[Failure]]

# The number of members, items or names that take as long as one step if they are only iterated.
ENTRIES_PER_STEP = 8


# The names and indexes of one value's parts that some keyword has evaluated. Only kept where an
# ``unevaluatedProperties`` or ``unevaluatedItems`` will ask.
Evaluated = set["str | int"]


class Run(Budget):
    """The state of one validation: its remaining budget, and the resources it is in.

    ``scope`` lists the schema resources that were entered, outermost first: ``$dynamicRef`` asks.
    """

    __slots__ = ("depth", "scope", "violations")

    def __init__(self, limits: SchemaLimits, root: Resource, clock: Clock) -> None:
        super().__init__(limits.validation_steps, limits.seconds, clock)
        self.depth: int = limits.validation_depth
        self.violations: int = limits.violations
        self.scope: list[Resource] = [root]

    def merge(self, seen: Evaluated, other: Evaluated) -> None:
        """Add the parts that a subschema has evaluated."""
        self.spend(len(other) // ENTRIES_PER_STEP)
        seen.update(other)

    def check_limits(self) -> None:
        """Raise `Stopped` when one of the counters has run out."""
        self.spend(0)
        if self.depth < 0:
            raise Stopped("schema and value are nested too deeply")


# A rule, and also a whole node: (value, run, the record of evaluated parts) -> failures. A rule is
# only given values of the types it is made for.
Check = Callable[[Any, Run, Optional[Evaluated]], Failures]


def all_failures(
    checks: Iterable[Check], value: object, run: Run, seen: Evaluated | None
) -> Failures:
    """Apply one check after the other, until there are too many failures."""
    failures: Failures = None
    for check in checks:
        found = check(value, run, seen)
        if found is not None:
            failures = found if failures is None else failures + found
            if len(failures) >= run.violations:
                break
    return failures


class Node:
    """One compiled schema. It is created first and filled later, because schemas are recursive."""

    __slots__ = ("cost", "rules")

    def __init__(self) -> None:
        self.rules: Mapping[type, Sequence[Check]] = {}
        self.cost: int = 1

    def check(self, value: object, run: Run, seen: Evaluated | None) -> Failures:
        """Apply the schema to a value."""
        run.steps -= self.cost
        run.depth -= 1
        if run.steps < 0 or run.depth < 0:
            run.check_limits()
        rules = self.rules.get(type(value))
        if rules is None:
            rules = self.rules[json_type(value)]
        failures = all_failures(rules, value, run, seen)
        run.depth += 1
        return failures


class TrackingNode(Node):
    """A schema with a keyword that asks which parts the other keywords have evaluated."""

    __slots__ = ()

    def check(self, value: object, run: Run, seen: Evaluated | None) -> Failures:
        """Apply the schema to a value, and report the evaluated parts to the outer schema."""
        own = Evaluated()
        failures = super().check(value, run, own)
        if seen is not None and failures is None:
            run.merge(seen, own)
        return failures


def rules_by_type(rules: Sequence[tuple[Sequence[type], Check]]) -> Mapping[type, Sequence[Check]]:
    """Group rules by the Python types that they apply to, in their order."""
    return {kind: tuple([check for kinds, check in rules if kind in kinds]) for kind in JSON_TYPES}


OBJECT: Sequence[type] = (dict,)
ARRAY: Sequence[type] = (list,)
TEXT: Sequence[type] = (str,)
NUMBER: Sequence[type] = (int, float)
ANY: Sequence[type] = (dict, list, str, bool, int, float, type(None))


class Rule(NamedTuple):
    """A compiled keyword, and the JSON types of the values it applies to."""

    types: Sequence[type]
    check: Check
