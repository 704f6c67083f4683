"""What a keyword sees while it is compiled: its schema, its neighbours, and ways to complain."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Optional

from ...errors import SchemaError
from .dialects import Dialect
from .evaluation import ENTRIES_PER_STEP, Check, Failure
from .patterns import Pattern
from .references import Position

OBJECT: Sequence[type] = (dict,)
ARRAY: Sequence[type] = (list,)
TEXT: Sequence[type] = (str,)
NUMBER: Sequence[type] = (int, float)
ANY: Sequence[type] = (dict, list, str, bool, int, float, type(None))


class Rule(NamedTuple):
    """A compiled keyword, and the JSON types of the values it has something to say about."""

    types: Sequence[type]
    check: Check


class CompilerServices(NamedTuple):
    """What the compiler does for keywords.

    ``spend`` accounts for work before it is done; ``child`` compiles a subschema given its origin,
    the tokens that lead to it, and whether it is applied to the same value; ``refer`` the target
    of a reference; ``refer_dynamically`` that of a ``$dynamicRef``; ``pattern`` a regular
    expression.
    """

    spend: Callable[[int], None]
    child: Callable[[Position, tuple[str, ...], bool], Check]
    refer: Callable[[Position, str], Check]
    refer_dynamically: Callable[[Position, str], Check]
    pattern: Callable[[str], Pattern]
    asserts_formats: bool
    depth: int


class Site(NamedTuple):
    """One keyword in one schema, about to be compiled."""

    keyword: str
    value: object
    schema: Mapping[str, object]
    position: Position
    services: CompilerServices

    @property
    def dialect(self) -> Dialect:
        """The dialect in force here."""
        return self.position.resource.dialect

    @property
    def location(self) -> str:
        """Where the keyword is, as errors show it."""
        return f"{self.position.location}/{self.keyword}"

    def error(self, fault: str) -> SchemaError:
        """The error to raise for a malformed keyword; ``fault`` follows its name."""
        return SchemaError(f"{self.keyword} {fault}", self.location)

    def fail(self, message: str) -> list[Failure]:
        """What a rule returns when the value does not match."""
        return [Failure(message, self.position, self.keyword)]

    def sibling(self, keyword: str) -> Site:
        """The site of another keyword of the same schema."""
        return self._replace(keyword=keyword, value=self.schema[keyword])

    def child(self, *tokens: str | int, in_place: bool = False) -> Check:
        """Compile the subschema at these tokens below the keyword."""
        path = (self.keyword, *[str(token) for token in tokens])
        return self.services.child(self.position, path, in_place)

    def size(self) -> int:
        """The value as a number of things. Raises `SchemaError` otherwise, as all below do."""
        number = self.number()
        if number < 0 or number != math.floor(number):
            raise self.error("is not a whole number, 0 or more")
        return int(number)

    def number(self) -> float:
        """The value as a number; NaN and infinity, which JSON lacks, are none."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error("is not a number")
        if isinstance(value, float) and not math.isfinite(value):
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
            self.services.spend(len(value) // ENTRIES_PER_STEP)
            if all(isinstance(name, str) for name in value):
                return tuple(value)
        raise self.error("is not an array of strings")

    def pattern(self, text: str) -> Pattern:
        """A regular expression."""
        return self.services.pattern(text)


# Compiles one keyword; None when it asserts nothing here.
Build = Callable[[Site], Optional[Rule]]
