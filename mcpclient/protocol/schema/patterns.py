r"""Regular expressions in linear time: a server's patterns are never run by backtracking.

Python's ``re`` can take exponential time, and nothing can interrupt it. Here an expression becomes
a nondeterministic automaton (Thompson's construction) of which all states are followed at once,
so the time is at most the length of the text times the size of the automaton. Steps that were taken
before are remembered: each then costs one look-up.

A look ahead or behind is an automaton of its own. Before the search it is run once over the text,
a look ahead backwards from the end, and notes every place where it holds; the search then treats
it as it treats ``\b``. So these cost linear time, too. Repetition counts are unrolled, within a
limit on the number of states.

`PatternError` is raised for a malformed or too large expression, and for a back reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from .pattern_syntax import (
    Boundary,
    CharacterSet,
    Choice,
    Concatenation,
    Expression,
    Look,
    PatternError,
    Repeat,
    parse_pattern,
)

# Finds the places of a string, as indexes, at which a condition holds.
Places = Callable[[str, "Spend"], Iterable[int]]
# Called with a number of steps of work that are about to be taken; raises when there were too many.
Spend = Callable[[int], None]

# The most that the patterns of one schema may remember together, in units of about 50 bytes: a
# member of a set of states, or the overhead of a step.
_MAX_REMEMBERED = 50_000
_STEP = 10
_STATES_PER_STEP = 2
_CHARACTERS_PER_STEP = 8
_PLACES_PER_STEP = 4
_CHARACTERS_PER_STATE = 4


class Pattern:
    """A compiled regular expression in the dialect of ECMA-262.

    ``max_states`` bounds the automaton; ``size`` says how many states it has, or would have at
    the usual number of states for its length. ``memory`` is shared with other patterns. Raises
    `PatternError`.
    """

    def __init__(self, text: str, max_states: int, memory: PatternMemory | None = None) -> None:
        # A long text may have few states, but parsing it still takes time.
        least = len(text) // _CHARACTERS_PER_STATE
        if least > max_states:
            raise PatternError("the expression is too long")
        memory = memory or PatternMemory()
        self._automaton = _Automaton(parse_pattern(text), False, max_states, memory)
        self.size: int = max(self._automaton.size, least)

    def search(self, text: str, spend: Spend) -> bool:
        """Whether the expression matches anywhere in the text."""
        return next(self._automaton.places(text, spend), None) is not None


# A step of an automaton: the states it is in, the context, and the next character. Its outcome:
# whether a match ends here, and the states behind the character.
_Step = tuple["_Automaton", frozenset[int], int, str]
_Outcome = tuple[bool, frozenset[int]]


class PatternMemory:
    """The steps that several patterns remember; when there are too many, all are forgotten."""

    def __init__(self) -> None:
        self.steps: dict[_Step, _Outcome] = {}
        self.used: int = 0

    def keep(self, step: _Step, outcome: _Outcome) -> _Outcome:
        """Remember the outcome of a step, and return it."""
        self.used += _STEP + len(outcome[1])
        if self.used > _MAX_REMEMBERED:
            self.steps.clear()
            self.used = 0
        self.steps[step] = outcome
        return outcome


class _State(NamedTuple):
    """One state: it accepts a character, or it leads on when the condition ``bit`` is as expected.

    ``bit`` is 0 for a state that leads on always. The state without targets is the final one.
    """

    targets: tuple[int, ...]
    accepts: CharacterSet | None = None
    bit: int = 0
    expected: bool = True


_FINAL = 0


class _Automaton:
    def __init__(
        self, expression: Expression, backward: bool, max_states: int, memory: PatternMemory
    ) -> None:
        self._memory = memory
        self._backward = backward
        self._max_states = max_states
        self._states = [_State(())]
        self._conditions: dict[str | int, tuple[int, Places]] = {}
        # Of the looks, and of what makes a character class more than a look-up.
        self._further_size = 0
        self._entry = self._emit(expression, _FINAL)

    @property
    def size(self) -> int:
        return len(self._states) + self._further_size

    # The construction goes from the end of the expression to its start: what follows exists first.

    def _add(self, state: _State) -> int:
        if self.size >= self._max_states:
            raise PatternError("the expression is too large once its repetitions are unrolled")
        self._states.append(state)
        return len(self._states) - 1

    def _emit(self, expression: Expression, target: int) -> int:
        """Add the states of an expression that continues at ``target``; returns where it starts."""
        if isinstance(expression, CharacterSet):
            self._further_size += len(expression.tests)
            return self._add(_State((target,), expression))
        if isinstance(expression, Concatenation):
            parts = expression.parts if self._backward else expression.parts[::-1]
            for part in parts:
                target = self._emit(part, target)
            return target
        if isinstance(expression, Choice):
            starts = [self._emit(option, target) for option in expression.options]
            return self._add(_State(tuple(starts)))
        if isinstance(expression, Repeat):
            return self._emit_repeat(expression, target)
        bit = self._condition(expression)
        return self._add(_State((target,), None, bit, expression.expected))

    def _emit_repeat(self, expression: Repeat, target: int) -> int:
        part, least, most = expression
        after = target
        if most is None:
            target = self._add(_State(()))
            self._states[target] = _State((self._emit(part, target), after))
        else:
            for _ in range(most - least):
                target = self._add(_State((self._emit(part, target), after)))
        for _ in range(least):
            start = self._emit(part, target)
            if start == target:  # the part is the empty text, however often
                break
            target = start
        return target

    def _condition(self, expression: Boundary | Look) -> int:
        """Return the bit that says whether a boundary or a look holds at a place."""
        key = expression.kind if isinstance(expression, Boundary) else id(expression)
        if key not in self._conditions:
            if isinstance(expression, Boundary):
                places = _BOUNDARIES[expression.kind]
            else:
                rest = self._max_states - self.size
                look = _Automaton(expression.part, not expression.behind, rest, self._memory)
                self._further_size += look.size
                places = look.places
            self._conditions[key] = 1 << len(self._conditions), places
        return self._conditions[key][0]

    # The search. A context is the sum of the bits of all conditions that hold at a place.

    def places(self, text: str, spend: Spend) -> Iterator[int]:
        """Every index into the text at which a match ends; run backwards, at which it starts."""
        spend(1 + len(text) // _CHARACTERS_PER_STEP)
        contexts = self._contexts(text, spend)
        places: Sequence[int] = range(len(text) + 1)
        if self._backward:
            contexts, places, text = contexts[::-1], places[::-1], text[::-1]
        states = frozenset((self._entry,))
        for place, context, character in zip(places, contexts, chain(text, ("",))):
            step = (self, states, context, character)
            outcome = self._memory.steps.get(step)
            if outcome is None:
                outcome = self._memory.keep(step, self._outcome(*step[1:], spend))
            is_end, states = outcome
            if is_end:
                yield place

    def _contexts(self, text: str, spend: Spend) -> Sequence[int]:
        if not self._conditions:
            return bytes(len(text) + 1)
        spend(len(text) // _PLACES_PER_STEP)
        contexts = [0] * (len(text) + 1)
        for bit, places in self._conditions.values():
            for place in places(text, spend):
                contexts[place] |= bit
        return contexts

    def _outcome(
        self, states: frozenset[int], context: int, character: str, spend: Spend
    ) -> _Outcome:
        pending = [*states]
        seen = set(states)
        following = {self._entry}  # a match may start at every place
        tests = 0
        for index in pending:  # grows while it is walked
            targets, accepts, bit, expected = self._states[index]
            if accepts is not None:
                tests += len(accepts.tests)
                if character and accepts.contains(character):
                    following.update(targets)
            elif not bit or bool(context & bit) is expected:
                pending += [target for target in targets if target not in seen]
                seen.update(targets)
        spend((len(pending) + tests) // _STATES_PER_STEP)
        return _FINAL in seen, frozenset(following)


def _word_edges(text: str, spend: Spend) -> Iterable[int]:
    spend(1 + len(text) // _CHARACTERS_PER_STEP)
    return (edge.start() for edge in re.finditer(r"(?a)\b", text))


_BOUNDARIES: dict[str, Places] = {
    "^": lambda text, spend: (0,),
    "$": lambda text, spend: (len(text),),
    "b": _word_edges,
}
