r"""Regular expressions in linear time: those of a server are never run by backtracking.

Python's ``re`` can take exponential time, and nothing can interrupt it. Here an expression becomes
a nondeterministic automaton (Thompson's construction) of which all states are followed at once,
so the time is at most the length of the text times the size of the automaton. Sets of states that
were met before are remembered, which makes it a deterministic automaton that is built lazily: a
character then costs two look-ups.

A look ahead or behind is an automaton of its own. Before the search it is run once over the text,
a look ahead backwards from the end, and notes every place where it holds; the search then treats
it as it treats ``\b``. So these cost linear time, too. Repetition counts are unrolled, within a
limit on the number of states.

`PatternError` is raised for a malformed or too large expression, and for a back reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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

# The most that the patterns of one schema may cache together, in units of about 50 bytes: a member
# of a set, a successor of one, or the overhead of a set.
_MAX_REMEMBERED = 50_000
_SET = 10
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


class PatternMemory:
    """The memory that several patterns share; when it is full, all of them forget."""

    def __init__(self) -> None:
        self._used = 0
        self._holders: set[_Automaton] = set()

    def take(self, holder: _Automaton, amount: int) -> None:
        """Account for more memory of an automaton."""
        self._used += amount
        self._holders.add(holder)
        if self._used > _MAX_REMEMBERED:
            for each in self._holders:
                each.forget()
            self._holders.clear()
            self._used = 0


class _State(NamedTuple):
    """One state: it accepts a character, or it leads on when the condition ``bit`` is as expected.

    ``bit`` is 0 for a state that leads on always. The state without targets is the final one.
    """

    targets: tuple[int, ...]
    accepts: CharacterSet | None = None
    bit: int = 0
    expected: bool = True


@dataclass(eq=False)
class _States:
    """A set of states, with its cached successors."""

    members: frozenset[int]
    final: bool
    closed: dict[int, _States] = field(default_factory=dict)
    moves: dict[str, _States] = field(default_factory=dict)


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
        self.forget()

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
        states = self._start
        for place, context, character in zip(places, contexts, chain(text, ("",))):
            states = states.closed.get(context) or self._close(states, context, spend)
            if states.final:
                yield place
            if character:
                states = states.moves.get(character) or self._move(states, character, spend)

    def _contexts(self, text: str, spend: Spend) -> Sequence[int]:
        if not self._conditions:
            return bytes(len(text) + 1)
        spend(len(text) // _PLACES_PER_STEP)
        contexts = [0] * (len(text) + 1)
        for bit, places in self._conditions.values():
            for place in places(text, spend):
                contexts[place] |= bit
        return contexts

    def _close(self, states: _States, context: int, spend: Spend) -> _States:
        """The states that are reached without a character, those that accept one or are final."""
        pending = list(states.members)
        seen = set(pending)
        for index in pending:  # grows while it is walked
            targets, accepts, bit, expected = self._states[index]
            if accepts is None and (not bit or bool(context & bit) is expected):
                for target in targets:
                    if target not in seen:
                        seen.add(target)
                        pending.append(target)
        spend(len(pending) // _STATES_PER_STEP)
        kept = [index for index in pending if self._states[index].accepts is not None]
        closed = self._remember(frozenset(kept), _FINAL in seen)
        states.closed[context] = closed
        return closed

    def _move(self, states: _States, character: str, spend: Spend) -> _States:
        following = {self._entry}  # a match may start at every place
        steps = len(states.members)
        for index in states.members:
            targets, accepts, _, _ = self._states[index]
            if accepts is not None:
                steps += len(accepts.tests)
                if accepts.contains(character):
                    following.update(targets)
        spend(steps // _STATES_PER_STEP)
        moved = self._remember(frozenset(following), False)
        states.moves[character] = moved
        return moved

    def _remember(self, members: frozenset[int], final: bool) -> _States:
        known = self._known.get((members, final))
        if known is not None:
            self._memory.take(self, 1)
        else:
            known = self._known[members, final] = _States(members, final)
            self._memory.take(self, _SET + len(members))
        return known

    def forget(self) -> None:
        """Clear the cache."""
        self._known: dict[tuple[frozenset[int], bool], _States] = {}
        self._start = _States(frozenset((self._entry,)), False)


def _word_edges(text: str, spend: Spend) -> Iterable[int]:
    spend(1 + len(text) // _CHARACTERS_PER_STEP)
    return (edge.start() for edge in re.finditer(r"(?a)\b", text))


_BOUNDARIES: dict[str, Places] = {
    "^": lambda text, spend: (0,),
    "$": lambda text, spend: (len(text),),
    "b": _word_edges,
}
