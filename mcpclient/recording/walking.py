"""Going through a JSON value of any depth, and knowing at each place whether it is a secret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import Any, Callable, NamedTuple

from .secret_names import is_secret_name

# More levels than `json` reads: what is nested deeper contains itself.
_MAX_DEPTH = 100_000

# Where a schema has the schemas of parameters by their names, and what it has in one of them.
_PARAMETERS = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_KEYWORDS = frozenset(
    ("type", "$ref", "description", "title", "anyOf", "oneOf", "allOf", "enum", "const", "format")
)
_VALUES_IN_A_SCHEMA = frozenset({"default", "const", "enum", "example", "examples"})

# How the members of a value are judged: by their names, as secrets, as schemas by the names of
# their parameters, as the keywords in the schema of a secret.
_BY_NAME, _SECRET, _PARAMETER, _KEYWORD = range(4)

_END: tuple[Any, Any] = (None, None)


class Place(NamedTuple):
    """Where a value stands: whether it is a secret, and the name it has, or its list."""

    is_secret: bool
    name: str


class _Level:
    """An object or a list on the way, and its copy."""

    def __init__(self, value: Any, copy: Any, judged: int, name: str = "") -> None:
        is_object = isinstance(value, Mapping)
        self.members: Iterator[tuple[Any, Any]] = iter(
            value.items() if is_object else zip(repeat(None), value)
        )
        self.copy = copy
        self.judged = judged
        self.name = name
        self.names_a_secret = is_object and _names_a_secret(value)
        self.is_answer = is_object and _is_answer(value)
        self.before: Any = None

    def judge(self, name: Any, member: Any) -> int:
        """Return how a member is judged, and its own members."""
        if self.judged == _SECRET:
            return _SECRET
        if isinstance(self.copy, list):
            before, self.before = self.before, member
            return _SECRET if _is_secret_option(before) else _BY_NAME
        if self.judged == _KEYWORD:
            return _SECRET if name in _VALUES_IN_A_SCHEMA else _BY_NAME
        if name in _PARAMETERS and isinstance(member, Mapping):
            return _PARAMETER
        if isinstance(name, str) and is_secret_name(name):
            is_schema = self.judged == _PARAMETER and _is_schema(member)
            return _KEYWORD if is_schema else _SECRET
        if (self.names_a_secret and name == "value") or (self.is_answer and name == "content"):
            return _SECRET
        return _BY_NAME


def walk(
    value: Any, leaf: Callable[[Any, Place], Any], key: Callable[[Any], Any] = lambda name: name
) -> Any:
    """Return a copy of a JSON value, in which ``leaf`` says what stands for each value without
    members, and ``key`` what stands for the name of a member.

    Raises ValueError for a value that contains itself.
    """
    copies: list[Any] = []
    levels = [_Level([value], copies, _BY_NAME)]
    while levels:
        level = levels[-1]
        entry = next(level.members, _END)
        if entry is _END:
            levels.pop()
            continue
        name, member = entry
        judged = level.judge(name, member)
        own_name = name if isinstance(name, str) else level.name
        copied: Any
        if isinstance(member, Mapping):
            copied = {}
        elif isinstance(member, (list, tuple)):
            copied = []
        else:
            copied = leaf(member, Place(judged == _SECRET, own_name))
        if isinstance(level.copy, dict):
            level.copy[key(name)] = copied
        else:
            level.copy.append(copied)
        if isinstance(member, (Mapping, list, tuple)):
            levels.append(_Level(member, copied, judged, own_name))
        if len(levels) > _MAX_DEPTH:
            raise ValueError("a message that contains itself")
    return copies[0]


def _names_a_secret(value: Mapping[Any, Any]) -> bool:
    """Whether it is a pair such as ``{"name": "API_KEY", "value": "…"}``."""
    name = value.get("name", value.get("key")) if "value" in value else None
    return isinstance(name, str) and is_secret_name(name)


def _is_answer(value: Mapping[Any, Any]) -> bool:
    """Whether it is what a user entered: the result of an elicitation."""
    return value.get("action") == "accept" and isinstance(value.get("content"), Mapping)


def _is_secret_option(word: Any) -> bool:
    return isinstance(word, str) and word.startswith("-") and is_secret_name(word)


def _is_schema(value: Any) -> bool:
    return isinstance(value, bool) or (
        isinstance(value, Mapping) and (not value or not _KEYWORDS.isdisjoint(value))
    )
