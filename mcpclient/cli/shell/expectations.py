"""``expect``: what the last result has to be, which makes a line of the shell a test.

- ``expect PATH``, ``expect not PATH``: there is something, such as ``is_error``, or there is not
- ``expect PATH == VALUE``, ``expect PATH != VALUE``
- ``expect PATH contains VALUE``: a part of a text, an item of a list, a name in an object

A path is one of `paths`; ``_.`` at its beginning may be left out. A value is JSON, a path that
begins with ``_``, or else a text; in quotes it is always a text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable

from ...errors import UsageError
from ...framing.escaping import escape_line
from ...protocol.wire_object import WireObject
from .paths import follow_path, is_path, parse_path
from .words import Word

_MAX_SHOWN_LENGTH = 200


def _contains(found: Any, value: Any) -> bool:
    if isinstance(found, str):
        return (value if isinstance(value, str) else json.dumps(value)) in found
    return isinstance(found, (list, Mapping)) and any(_equal(item, value) for item in found)


def _equal(found: Any, value: Any) -> bool:
    """Compare as JSON does, where ``true`` is no number."""
    if isinstance(found, bool) or isinstance(value, bool):
        return found is value
    if isinstance(found, list) and isinstance(value, list):
        return len(found) == len(value) and all(map(_equal, found, value))
    if isinstance(found, dict) and isinstance(value, dict):
        same_names = found.keys() == value.keys()
        return same_names and all(_equal(found[name], value[name]) for name in found)
    return bool(found == value)


OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda found, value: not _equal(found, value),
    "contains": _contains,
}


@dataclass(frozen=True)
class Expectation:
    """``path``: of what. ``operator``: one of `OPERATORS`, or ``""`` for being there at all.

    ``value``: what it is compared with, ``wanted``: the same as it was typed. ``negated``: it is to
    be the other way round.
    """

    path: str
    operator: str = ""
    value: Any = None
    wanted: str = ""
    negated: bool = False

    def failure(self, result: Any) -> str | None:
        """Return in words what a result is instead, None when it is as expected.

        Raises `UsageError` for a path that leads nowhere.
        """
        found = plain(follow_path(result, parse_path(self.path)))
        if not self.operator:
            return None if bool(found) is not self.negated else self._complaint(found)
        value = self.value
        if isinstance(value, tuple):
            value = plain(follow_path(result, value))
        holds = OPERATORS[self.operator](found, value) is not self.negated
        return None if holds else self._complaint(found)

    def _complaint(self, found: Any) -> str:
        words = (*(["not"] * self.negated), self.path, self.operator, self.wanted)
        return f"expected {' '.join(filter(None, words))}, and {self.path} is {_shown(found)}"


def parse_expectation(words: Sequence[Word]) -> Expectation:
    """Return what the words behind ``expect`` say. Raises `UsageError`."""
    rest = list(words)
    negated = len(rest) > 1 and rest[0].typed == "not"
    if negated:
        rest.pop(0)
    if not rest:
        raise UsageError('expect needs a path, as in: expect text == "hi"')
    path = rest[0].text
    parse_path(path)
    if len(rest) == 1:
        return Expectation(path, negated=negated)
    if rest[1].typed not in OPERATORS:
        known = ", ".join(OPERATORS)
        raise UsageError(f"expect compares with {known}, and not with {rest[1].text!r}")
    if len(rest) != 3:
        raise UsageError(f"{rest[1].text} takes one value; put a text with spaces in quotes")
    value = _value(rest[2])
    return Expectation(path, rest[1].typed, value, rest[2].typed, negated)


def _value(word: Word) -> Any:
    """Return the value that a word means; a path as the tuple of its keys."""
    if word.is_quoted:
        return word.text
    if is_path(word.text):
        return parse_path(word.text)
    try:
        return json.loads(word.text)
    except (ValueError, RecursionError):
        return word.text


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, WireObject):
        return value.raw
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _shown(value: Any) -> str:
    text = escape_line(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _MAX_SHOWN_LENGTH else text[:_MAX_SHOWN_LENGTH] + "…"
