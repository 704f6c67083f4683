"""How much a schema, and one validation against it, may cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

Clock = Optional[Callable[[], float]]
"""Tells the time in seconds, of any clock that never goes backwards."""

# How many steps are done between two looks at the clock, and how long one takes where work is
# about to be done that cannot be interrupted.
_SLICE = 500
_SECONDS_PER_STEP = 1e-6


@dataclass(frozen=True)
class SchemaLimits:
    """Bounds that keep a hostile schema or a hostile value from exhausting this process.

    ``seconds``: how long making a schema ready, and each validation, may take; nothing else
    happens in the event loop meanwhile. ``validation_steps``: the work one validation may take, on
    any machine: an ordinary value takes one or two steps for each of its parts, none takes much
    over a microsecond, and large parts take more. Exponential combinations of ``anyOf`` and friends
    end at one of these two. ``compilation_steps``: the same for making a schema ready.
    ``validation_depth``: how many schemas may be applied inside one another, each ``$ref`` and
    each level of the value counting as one. Below half of Python's recursion limit.
    ``violations``: how many violations one validation reports at most.
    ``schema_depth``: how deep subschemas may nest inside one another.
    ``subschemas``: how many there may be, those of referenced documents included.
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
    """The work has reached one of its limits; ``str()`` says which."""


class Budget:
    """What some work may still cost, in steps and, where there is a clock, in time.

    Steps are handed out in slices, so that the clock is asked seldom. Who subtracts from ``steps``
    directly calls `look` when they are below zero.
    """

    __slots__ = ("_clock", "_deadline", "_left", "_seconds", "steps")

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
        """Take the next slice of steps. Raises `Stopped` when there is none, or no time left."""
        owed = -self.steps
        if owed > self._left:
            raise Stopped("it takes too many steps")
        clock = self._clock
        if clock is not None and clock() + owed * _SECONDS_PER_STEP > self._deadline:
            raise Stopped(f"it takes longer than {self._seconds:g} s")
        self.steps = min(_SLICE, self._left - owed)
        self._left -= owed + self.steps
