"""JSON values by the rules of JSON, where Python's differ.

In JSON a boolean is not a number, 1.0 is the same number as 1, and objects have no order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Optional

from ...errors import UsageError

Clock = Optional[Callable[[], float]]
"""Tells the time in seconds, of any clock that never goes backwards."""

# Steps between two readings of the clock, and the seconds that one is assumed to take before work
# that cannot be interrupted.
_SLICE = 500
_SECONDS_PER_STEP = 1e-6


@dataclass(frozen=True)
class SchemaLimits:
    """Bounds that keep a hostile schema or a hostile value from exhausting this process.

    ``seconds``: how long compiling a schema, and each validation, may take; both block the
    event loop. ``validation_steps``: the work one validation may take, on
    any machine: an ordinary value takes one or two steps for each of its parts, none takes much
    over a microsecond, and large parts take more. Exponential combinations of ``anyOf`` and friends
    end at one of these two. ``compilation_steps``: the same for making a schema ready.
    ``validation_depth``: how many schemas may be applied inside one another, each ``$ref`` and
    each level of the value counting as one. Below half of Python's recursion limit.
    ``violations``: how many violations one validation reports at most.
    ``schema_depth``: how deep subschemas may nest inside one another.
    ``subschemas``: how many there may be, referenced documents included.
    ``pattern_states``: the summed size of the automata of all regular expressions.

    Source: MCP 2026-07-28, "Composition-Keyword Resource Use".
    """

    seconds: float = 0.2
    validation_steps: int = 1_000_000
    compilation_steps: int = 1_000_000
    validation_depth: int = 300
    violations: int = 20
    schema_depth: int = 128
    subschemas: int = 20_000
    pattern_states: int = 20_000


class Stopped(Exception):
    """The work has reached one of its limits; ``str()`` names it."""


class Budget:
    """The budget of some work, in steps and, where there is a clock, in time.

    Steps are granted in slices, so that the clock is read rarely. Code that subtracts from
    ``steps`` directly must call `look` when they are below zero.
    """

    def __init__(self, steps: int, seconds: float, clock: Clock) -> None:
        self.steps: int = 0
        self._left = steps
        self._seconds = seconds
        self._clock = clock
        self._deadline = 0.0 if clock is None else clock() + seconds

    def spend(self, steps: int) -> None:
        """Account for work that is about to be done. Raises `Stopped` when it is too much."""
        self.steps -= steps
        if self.steps < 0:
            self.look()

    def look(self) -> None:
        """Begin the next slice of steps. Raises `Stopped` when none or no time is left."""
        owed = -self.steps
        if owed > self._left:
            raise Stopped("it takes too many steps")
        clock = self._clock
        if clock is not None and clock() + owed * _SECONDS_PER_STEP > self._deadline:
            raise Stopped(f"it takes longer than {self._seconds:g} s")
        self.steps = min(_SLICE, self._left - owed)
        self._left -= owed + self.steps


JSON_TYPES: tuple[type, ...] = (dict, list, str, bool, int, float, type(None))

_SHOWN_TEXT = 80
_SHOWN_NAME = 1000
_SHOWN_BITS = 256
# Equal strings are compared to the end; up to this length that costs next to nothing.
FREE_TEXT = 4096
# Integers become text, bit by bit; up to so many that costs next to nothing.
_FREE_BITS = 8192
# Division takes a time for each pair of digits, which have this many bits.
_DIGIT_BITS = 30
_DIGIT_PAIRS_PER_STEP = 500
# The digits of a float as a whole number, once another float has the same exponent.
_FLOAT_DIGITS = 72


def json_type(value: object) -> type:
    """Return the one of `JSON_TYPES` that a value belongs to; subclasses count.

    Raises `UsageError` for a value JSON does not know.
    """
    for candidate in JSON_TYPES:
        if isinstance(value, candidate):
            return candidate
    raise UsageError(f"a {type(value).__name__} is not a JSON value")


def identity(value: object, depth: int, spend: Callable[[int], None]) -> Hashable:
    """Return a key that is equal for two values exactly when JSON Schema calls them equal.

    Numbers become text, because the hashes of Python's numbers can be made to collide at will
    while hashes of strings are keyed. Raises RecursionError for values nested over ``depth``.
    ``spend`` is called with the work that each part of the value is.
    """
    if isinstance(value, str):
        if len(value) > FREE_TEXT:
            spend(len(value) // FREE_TEXT)
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > _FREE_BITS:
            spend(value.bit_length() // _FREE_BITS)
        return ("number", hex(value))
    if isinstance(value, float):
        # "nan" and "inf" come out of hex() as words, so that even NaN equals itself here.
        return ("number", hex(int(value)) if value.is_integer() else value.hex())
    if depth <= 0:
        raise RecursionError
    if isinstance(value, list):
        spend(len(value))
        return ("array", tuple([identity(item, depth - 1, spend) for item in value]))
    if isinstance(value, dict):
        spend(len(value) + text_steps(value))
        members = [(name, identity(item, depth - 1, spend)) for name, item in value.items()]
        return ("object", frozenset(members))
    raise UsageError(f"a {type(value).__name__} is not a JSON value")


def text_steps(names: Iterable[str]) -> int:
    """Return the steps of comparing these strings with equal ones."""
    return sum(map(len, names)) // FREE_TEXT


def is_multiple(value: float, divisor: float, spend: Callable[[int], None]) -> bool:
    """Whether ``value`` is a whole multiple of ``divisor``, both taken as the decimals they show.

    0.0075 is a multiple of 0.0001 although the nearest binary fractions are not. Infinity and
    NaN, which JSON does not have, are multiples of nothing. ``spend`` is called with the work: with
    many digits, the product of their numbers.
    """
    digits = [
        number.bit_length() // _DIGIT_BITS + 1 if isinstance(number, int) else _FLOAT_DIGITS
        for number in (value, divisor)
    ]
    spend(math.prod(digits) // _DIGIT_PAIRS_PER_STEP)
    if isinstance(value, int) and isinstance(divisor, int):
        return value % divisor == 0
    if isinstance(value, float) and not math.isfinite(value):
        return False
    # The digits that repr shows; an integer may have more than it converts.
    exact, parts = [
        Fraction(repr(number) if isinstance(number, float) else number)
        for number in (value, divisor)
    ]
    return exact % parts == 0


def describe(value: object) -> str:
    """Return a short description of a value of any size, for messages."""
    if isinstance(value, str):
        return repr(value) if len(value) <= _SHOWN_TEXT else repr(value[:_SHOWN_TEXT])[:-1] + "…'"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"an array of {len(value)} items" if len(value) != 1 else "an array of 1 item"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        return f"an integer of {value.bit_length()} bits"
    return str(value)


def join_pointer(tokens: Iterable[str | int]) -> str:
    """Return the JSON pointer of these member names and array indexes. Source: RFC 6901.

    It is for reading: very long names are cut, since every violation would repeat them.
    """
    names = map(str, tokens)
    shown = [name if len(name) <= _SHOWN_NAME else f"{name[:_SHOWN_NAME]}…" for name in names]
    return "".join(["/" + name.replace("~", "~0").replace("/", "~1") for name in shown])
