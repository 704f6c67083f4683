"""Schemas at work: their places, the rules they are compiled to, and the state of one validation.

A schema keeps, for each JSON type, the rules that apply to values of that type, so that a string is
never checked by the keywords for arrays. A rule is a closure: it returns None when the value is
fine, otherwise its failures. The place of a failure in the value is noted while the failures travel
outwards, so that a valid value pays nothing for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Optional

from .values import JSON_TYPES, Budget, Clock, SchemaLimits, Stopped, join_pointer, json_type


@dataclass(frozen=True)
class Dialect:
    """One dialect: the places of subschemas, and the keywords that only the other dialect has.

    ``legacy`` marks the rules of draft-07: a ``$ref`` hides its siblings, ``items`` may be a list
    and is completed by ``additionalItems``, and anchors are written as ``$id``.
    """

    places: Mapping[str, tuple[str, ...]]
    foreign: frozenset[str]
    legacy: bool = False


@dataclass(eq=False)
class Resource:
    """A schema with a URI of its own, and the anchors inside it."""

    uri: str
    dialect: Dialect
    root: Position = field(init=False)
    anchors: dict[str, Position] = field(default_factory=dict)
    dynamic_anchors: dict[str, Position] = field(default_factory=dict)


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

    def __init__(self, limits: SchemaLimits, root: Resource, clock: Clock) -> None:
        super().__init__(limits.validation_steps, limits.seconds, clock)
        self.depth: int = limits.validation_depth
        self.violations: int = limits.violations
        self.scope: list[Resource] = [root]

    def merge(self, seen: Evaluated, other: Evaluated) -> None:
        """Add the parts that a subschema has evaluated."""
        self.spend(len(other) // ENTRIES_PER_STEP)
        seen.update(other)


# A rule, and also a whole schema: (value, run, the record of evaluated parts) -> failures. A rule
# is only given values of the types it is made for.
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


@dataclass(eq=False)
class Position:
    """One subschema: its value, the resource it belongs to, its place, and its rules.

    ``tokens`` lead to it from its ``parent``. The way from the root is put together only for
    messages, because long member names would otherwise be repeated in all they contain. It is
    compiled after it was found, because schemas are recursive: to ``rules`` by the type of a value,
    and the ``cost`` of applying them. ``tracks``: a keyword asks which parts the others evaluated.
    """

    document: str
    value: object
    resource: Resource
    parent: Position | None = None
    tokens: tuple[str, ...] = ()
    depth: int = 0
    children: dict[tuple[str, ...], Position] = field(default_factory=dict)
    rules: Mapping[type, Sequence[Check]] = field(default_factory=dict)
    cost: int = 1
    tracks: bool = False

    @property
    def location(self) -> str:
        """The place as a URI whose fragment is a JSON pointer; the main document has no URI."""
        steps: list[str] = []
        position: Position | None = self
        while position is not None:
            steps.append(join_pointer(position.tokens))
            position = position.parent
        return f"{self.document}#" + "".join(reversed(steps))

    def add_child(self, tokens: tuple[str, ...], value: object) -> Position:
        """Add the subschema at these tokens."""
        child = Position(self.document, value, self.resource, self, tokens, self.depth + 1)
        self.children[tokens] = child
        return child

    def check(self, value: object, run: Run, seen: Evaluated | None) -> Failures:
        """Apply the schema to a value, and report the evaluated parts to the outer schema."""
        run.steps -= self.cost
        if run.steps < 0:
            run.look()
        if run.depth < 1:
            raise Stopped("schema and value are nested too deeply")
        rules = self.rules.get(type(value))
        if rules is None:
            rules = self.rules[json_type(value)]
        if not rules:  # as for most strings and numbers
            return None
        run.depth -= 1
        own = Evaluated() if self.tracks else seen
        failures = all_failures(rules, value, run, own)
        run.depth += 1
        if self.tracks and own and seen is not None and failures is None:
            run.merge(seen, own)
        return failures

    def check_inside(self, value: object, run: Run, seen: Evaluated | None) -> Failures:
        """Apply a schema of another resource, which `Run.scope` lists meanwhile."""
        run.scope.append(self.resource)
        failures = self.check(value, run, seen)
        run.scope.pop()
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
