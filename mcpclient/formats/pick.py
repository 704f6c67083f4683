"""Parts of a JSON value by a path: a subset of jq, with its meaning.

- ``.``: the value itself; ``.name``, ``."any name"``, ``.["any name"]``: a field
- ``.[]``: each item of an array, or value of an object; ``.[0]``, ``.[-1]``: one; ``.[1:3]``: some
- ``{id, who: .author.name}``: an object of fields; ``[.items[].id]``: an array of all
- ``A | B``: of each A its B; ``A, B``: both; ``A?``: nothing where A cannot be

The first dot may be left out, and ``A.{…}`` is short for ``A | {…}``. A field that is missing is
null. Numbers, functions and operators of jq are not understood.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

from ..errors import UsageError

Pick = Callable[[Any], Iterator[Any]]
"""Yields the parts of a value. Raises `UsageError` where the value has no such part."""

_TOKEN = re.compile(
    r'(?P<name>[A-Za-z_]\w*)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<number>-?\d{1,9})'
    r"|(?P<mark>[.\[\]{},:|?])|(?P<end>$)",
    re.ASCII,
)
_SPACE = re.compile(r"\s*", re.ASCII)
_MAX_DEPTH = 50


def parse_pick(text: str) -> Pick:
    """Return the function that picks parts of values. Raises `UsageError` with the column."""
    parser = _Parser(text)
    pick = parser.pipe()
    if parser.kind != "end":
        raise parser.error(f"{parser.word!r} is not expected here")
    return pick


class _Parser:
    """A recursive descent over the tokens of a pick."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = self._depth = 0
        self.word = self.kind = ""
        self.next()

    def next(self) -> str:
        """Advance to the next token, and return the current one."""
        word = self.word
        space = _SPACE.match(self._text, self._end)
        self._start = space.end() if space is not None else self._end
        found = _TOKEN.match(self._text, self._start)
        if found is None:
            raise self.error(f"{self._text[self._start]!r} is not understood")
        self.kind, self.word, self._end = found.lastgroup or "", found[0], found.end()
        return word

    def error(self, problem: str) -> UsageError:
        error = UsageError(f"pick {self._text!r}, column {self._start + 1}: {problem}")
        return error.advise("Write it as in: items[].{id, title}")

    def take(self, mark: str) -> bool:
        """Whether the next token is this one; if so, consume it."""
        is_next = self.word == mark and self.kind == "mark"
        if is_next:
            self.next()
        return is_next

    def expect(self, mark: str) -> None:
        if not self.take(mark):
            raise self.error(f"{mark!r} is missing")

    def pipe(self) -> Pick:
        pick: Pick | None = None
        while pick is None or self.take("|"):
            picks = [self.term()]
            while self.take(","):
                picks.append(self.term())
            part = picks[0] if len(picks) == 1 else partial(_together, picks)
            pick = part if pick is None else _chained(pick, part)
        return pick

    def term(self) -> Pick:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self.error("it is nested too deeply")
        pick = self.first()
        while self.kind == "mark" and self.word in "?.[":
            if self.take("?"):
                pick = partial(_tolerant, pick)
            else:
                self.take(".")
                pick = _chained(pick, self.step())
        self._depth -= 1
        return pick

    def first(self) -> Pick:
        if self.take("["):
            pick = self.pipe()
            self.expect("]")
            return lambda value: iter([list(pick(value))])
        if self.take(".") and self.kind not in ("name", "string") and self.word not in ("[", "{"):
            return lambda value: iter([value])
        return self.step()

    def step(self) -> Pick:
        if self.take("{"):
            return self.object()
        return self.brackets() if self.take("[") else partial(_field, self.field_name())

    def field_name(self) -> str:
        if self.kind not in ("name", "string"):
            raise self.error("the name of a field is missing")
        is_string = self.kind == "string"
        word = self.next()
        try:
            return str(json.loads(word)) if is_string else word
        except ValueError:
            raise self.error(f"{word} is not a JSON string") from None

    def brackets(self) -> Pick:
        if self.take("]"):
            return _each
        if self.kind == "string":
            pick = partial(_field, self.field_name())
        else:
            low = int(self.next()) if self.kind == "number" else None
            if self.take(":"):
                high = int(self.next()) if self.kind == "number" else None
                if low is high is None:
                    raise self.error("a slice needs a number")
                pick = partial(_sliced, slice(low, high))
            elif low is None:
                raise self.error("a number, or a name in quotes, is missing")
            else:
                pick = partial(_item, low)
        self.expect("]")
        return pick

    def object(self) -> Pick:
        fields: dict[str, Pick] = {}
        while not self.take("}"):
            if fields:
                self.expect(",")
            name = self.field_name()
            fields[name] = self.term() if self.take(":") else partial(_field, name)
        return partial(_object, fields)


def _chained(first: Pick, second: Pick) -> Pick:
    return lambda value: (found for each in first(value) for found in second(each))


def _together(picks: list[Pick], value: Any) -> Iterator[Any]:
    return (found for pick in picks for found in pick(value))


def _tolerant(pick: Pick, value: Any) -> Iterator[Any]:
    try:
        yield from pick(value)
    except UsageError:
        return


def _object(fields: dict[str, Pick], value: Any) -> Iterator[Any]:
    for values in product(*(list(pick(value)) for pick in fields.values())):
        yield dict(zip(fields, values))


def _field(name: str, value: Any) -> Iterator[Any]:
    if value is not None and not isinstance(value, dict):
        raise UsageError(f"pick: there is no field {name!r} in {_kind(value)}")
    yield None if value is None else value.get(name)


def _each(value: Any) -> Iterator[Any]:
    if not isinstance(value, (list, dict)):
        raise UsageError(f"pick: {_kind(value)} has no items")
    yield from value if isinstance(value, list) else value.values()


def _item(index: int, value: Any) -> Iterator[Any]:
    if value is not None and not isinstance(value, list):
        raise UsageError(f"pick: there is no item {index} in {_kind(value)}")
    items = value or []
    yield items[index] if -len(items) <= index < len(items) else None


def _sliced(part: slice, value: Any) -> Iterator[Any]:
    if value is not None and not isinstance(value, (list, str)):
        raise UsageError(f"pick: {_kind(value)} cannot be cut")
    yield None if value is None else value[part]


def _kind(value: Any) -> str:
    names = {bool: "a boolean", str: "a string", list: "an array", dict: "an object"}
    return "null" if value is None else names.get(type(value), "a number")
