"""From a schema to rules, without recursion: what a subschema refers to is compiled later."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple, Optional

from ...errors import SchemaError
from ..json_schema import pointer_tokens
from .applicators import APPLICATORS, UNEVALUATED
from .assertions import ASSERTIONS
from .evaluation import (
    ANY,
    ENTRIES_PER_STEP,
    Check,
    Dialect,
    Evaluated,
    Failure,
    Failures,
    Position,
    Rule,
    Run,
    rules_by_type,
)
from .pattern_syntax import PatternError
from .patterns import Pattern, PatternMemory
from .references import Registry, split_fragment
from .values import Budget, SchemaLimits, describe, text_steps


class Site(NamedTuple):
    """One keyword in one schema, about to be compiled."""

    keyword: str
    value: object
    schema: Mapping[str, object]
    position: Position
    compiler: Compiler

    @property
    def dialect(self) -> Dialect:
        """The dialect in force here."""
        return self.position.resource.dialect

    @property
    def location(self) -> str:
        """The location of the keyword, as errors show it."""
        return f"{self.position.location}/{self.keyword}"

    def error(self, fault: str) -> SchemaError:
        """The error to raise for a malformed keyword; ``fault`` follows its name."""
        return SchemaError(f"{self.keyword} {fault}", self.location)

    def fail(self, message: str) -> list[Failure]:
        """Return the failure of a rule whose value does not match."""
        return [Failure(message, self.position, self.keyword)]

    def assertion(
        self, types: Sequence[type], holds: Callable[[Any, Run], bool], fault: str
    ) -> Rule:
        """Return the rule for values of these types; ``fault`` follows one for which it fails."""

        def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
            return None if holds(value, run) else self.fail(f"{describe(value)} {fault}")

        return Rule(types, check)

    def sibling(self, keyword: str) -> Site:
        """The site of another keyword of the same schema."""
        return self._replace(keyword=keyword, value=self.schema[keyword])

    def child(self, *tokens: str | int, in_place: bool = False) -> Check:
        """Compile the subschema at these tokens below the keyword."""
        path = (self.keyword, *[str(token) for token in tokens])
        target = self.position.children.get(path)
        if target is None:
            fault = f"{describe('/'.join(path))} is not a schema"
            raise SchemaError(fault, self.position.location)
        return self.compiler.edge(self.position, target, in_place)

    def size(self) -> int:
        """The value as a number of things. Raises `SchemaError` otherwise, as all below do."""
        number = self.number()
        if number < 0 or number != math.floor(number):
            raise self.error("is not a whole number, 0 or more")
        return int(number)

    def number(self) -> float:
        """The value as a number; NaN and infinity, which JSON lacks, are none."""
        value = self.value
        if isinstance(value, float) and math.isfinite(value):
            return value
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error("is not a number")
        return value

    def text(self) -> str:
        """The value as a string."""
        if not isinstance(self.value, str):
            raise self.error("is not a string")
        return self.value

    def members(self) -> Mapping[str, object]:
        """The value as an object."""
        if not isinstance(self.value, dict):
            raise self.error("is not an object")
        return self.value

    def items(self) -> Sequence[object]:
        """The value as an array that is not empty."""
        if not isinstance(self.value, list) or not self.value:
            raise self.error("is not an array with at least one item")
        return self.value

    def names(self, value: object) -> tuple[str, ...]:
        """A value as an array of member names."""
        if isinstance(value, list):
            self.compiler.spend(len(value) // ENTRIES_PER_STEP)
            if all(isinstance(name, str) for name in value):
                return tuple(value)
        raise self.error("is not an array of strings")


# Compiles one keyword; None when it asserts nothing here.
Build = Callable[[Site], Optional[Rule]]


# In the order of evaluation: the last ones need the parts that the others have evaluated.
_KEYWORDS: Mapping[str, Build] = {**ASSERTIONS, **APPLICATORS, **UNEVALUATED}
_ORDER = {keyword: index for index, keyword in enumerate(_KEYWORDS)}
# The keywords whose entries are all looked at whenever their schema is applied.
_WALKED = ("properties", "required", "patternProperties", "dependentRequired", "dependencies")
# Steps for a subschema or a reference, besides its content.
_STEPS_PER_SUBSCHEMA = 5


class Compiler:
    """Compiles every subschema that can be reached from the first one, each once.

    With ``refers`` False, references are not followed: whether they lead somewhere is left open.
    """

    def __init__(
        self,
        registry: Registry,
        limits: SchemaLimits,
        budget: Budget,
        *,
        assert_formats: bool = False,
        refers: bool = True,
    ) -> None:
        self.spend: Callable[[int], None] = budget.spend
        self.asserts_formats: bool = assert_formats
        self.depth: int = limits.validation_depth
        self._limits = limits
        self._refers = refers
        self._registry = registry
        self._reached: set[Position] = set()
        self._pending: list[Position] = []
        self._patterns: dict[str, Pattern] = {}
        self._pattern_states = limits.pattern_states
        self._pattern_memory = PatternMemory()
        self._dynamic_names: set[str] = set()
        # The schemas that each one applies to the same value.
        self._in_place: dict[Position, list[Position]] = {}

    def compile(self, *positions: Position) -> None:
        """Compile schemas and all they refer to. Raises `SchemaError`."""
        self._reach(positions)
        while self._pending:
            while self._pending:
                self._fill(self._pending.pop())
            # A document that was referred to meanwhile may have further anchors of these names.
            for name in self._dynamic_names:
                self._compile_dynamic_anchors(name)
        try:
            TopologicalSorter(self._in_place).prepare()
        except CycleError as error:
            circle: list[Position] = error.args[1]
            fault = "its references lead in a circle"
            raise SchemaError(fault, circle[0].location) from None

    def _reach(self, positions: Iterable[Position]) -> None:
        for position in positions:
            if position not in self._reached:
                self._reached.add(position)
                self._pending.append(position)

    def _fill(self, position: Position) -> None:
        schema = position.value
        if position.document:
            is_schema = partial(_check_schema, self._limits, position)
            position.rules = rules_by_type([Rule(ANY, is_schema)])
            return
        if isinstance(schema, bool):
            nothing = Site("", schema, {}, position, self)
            refuse = nothing.assertion(ANY, lambda value, run: False, "is not allowed here")
            position.rules = rules_by_type([] if schema else [refuse])
            return
        if not isinstance(schema, dict):
            raise SchemaError(f"{describe(schema)} is not a schema", position.location)
        self.spend(_STEPS_PER_SUBSCHEMA + len(schema) // ENTRIES_PER_STEP)
        dialect = position.resource.dialect
        keywords = [name for name in schema if name in _ORDER and name not in dialect.foreign]
        if dialect.legacy and "$ref" in schema:
            keywords = ["$ref"]
        keywords.sort(key=_ORDER.__getitem__)
        position.tracks = not UNEVALUATED.keys().isdisjoint(keywords)
        rules: list[Rule] = []
        for keyword in keywords:
            site = Site(keyword, schema[keyword], schema, position, self)
            try:
                rule = _KEYWORDS[keyword](site)
            except PatternError as error:
                raise SchemaError(str(error), site.location) from None
            if rule is not None:
                rules.append(rule)
            entries = schema[keyword]
            if keyword in _WALKED and isinstance(entries, (dict, list)):
                names = [name for name in entries if isinstance(name, str)]  # they are compared
                position.cost += len(entries) // ENTRIES_PER_STEP + text_steps(names)
        position.rules = rules_by_type(rules)

    def refer(self, origin: Position, reference: str) -> Check:
        """Compile the target of a ``$ref``."""
        if not self._refers:
            return lambda value, run, seen: None
        return self.edge(origin, self._registry.resolve(reference, origin), in_place=True)

    def refer_dynamically(self, origin: Position, reference: str) -> Check:
        """Compile the targets of a ``$dynamicRef``."""
        if not self._refers:
            return self.refer(origin, reference)
        target = self._registry.resolve(reference, origin)
        _, name = split_fragment(reference)
        if target.resource.dynamic_anchors.get(name) is not target:
            return self.edge(origin, target, in_place=True)
        self._dynamic_names.add(name)
        self._compile_dynamic_anchors(name)

        def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
            run.steps -= len(run.scope) // ENTRIES_PER_STEP
            # The outermost one that has the anchor; none if the target has not been entered yet.
            having = (resource for resource in run.scope if name in resource.dynamic_anchors)
            resource = next(having, target.resource)
            return resource.dynamic_anchors[name].check_inside(value, run, seen)

        return check

    def _compile_dynamic_anchors(self, name: str) -> None:
        positions = self._registry.dynamic_anchors[name]
        self.spend(len(positions))
        self._reach(positions)

    def edge(self, origin: Position, target: Position, in_place: bool) -> Check:
        """Compile a schema that another one applies; ``in_place``: to the very same value."""
        self._reach([target])
        if in_place:
            self._in_place.setdefault(origin, []).append(target)
        return target.check if target.resource is origin.resource else target.check_inside

    def pattern(self, text: str) -> Pattern:
        """Compile a regular expression. Raises `PatternError`."""
        if text not in self._patterns:
            self.spend(min(len(text), self._pattern_states))
            pattern = Pattern(text, self._pattern_states, self._pattern_memory)
            self._pattern_states -= pattern.size
            self.spend(pattern.size)
            self._patterns[text] = pattern
        return self._patterns[text]


def _check_schema(
    limits: SchemaLimits, metaschema: Position, value: object, run: Run, seen: Evaluated | None
) -> Failures:
    """Check that a value is a schema, as the metaschema of a dialect would."""
    registry = Registry(limits, run)
    try:
        registry.add_document("", value, metaschema.resource.dialect)
        Compiler(registry, limits, run, refers=False).compile(*registry.positions)
    except SchemaError as error:
        path = pointer_tokens(error.location.partition("#")[2])
        return [Failure(error.fault, metaschema, "", [*reversed(path)])]
    return None
