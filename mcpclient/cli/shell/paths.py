"""``_`` is the last result, and a path behind it a part of it: ``_.structured["sum"]``.

A path is read and never evaluated: names behind a dot, and numbers or names in brackets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Union

from ...errors import UsageError
from ...protocol.wire_object import WireObject
from ...suggestions import did_you_mean

Key = Union[str, int]
"""A name, or a place in a list."""

_STEP = re.compile(r"\.([^.\[\]\s]+)|\[(-?[0-9]{1,9})\]|\[(\"(?:[^\"\\]|\\.)*\")\]|\[([^\]\[]*)\]")

# How many names a message lists.
_MAX_NAMES = 12


def is_path(text: str) -> bool:
    """Whether a word is `_` or begins a path with it."""
    return text == "_" or text.startswith(("_.", "_["))


def parse_path(text: str) -> tuple[Key, ...]:
    """Return the keys of a path; a leading ``_`` may be left out. Raises `UsageError`."""
    rest = text[1:] if is_path(text) else f".{text}"
    keys: list[Key] = []
    position = 0
    while position < len(rest):
        step = _STEP.match(rest, position)
        if step is None:
            raise UsageError(
                f"not a path: {text!r}; write names and numbers, as in _.content[0].text"
            )
        keys.append(_key_of(step))
        position = step.end()
    return tuple(keys)


def _key_of(step: re.Match[str]) -> Key:
    name, number, string, bare = step.groups()
    if number is not None:
        return int(number)
    if string is not None:
        try:
            key: str = json.loads(string, strict=False)
        except ValueError:
            return string[1:-1]
        return key
    return name if name is not None else bare.strip("'")


def follow_path(value: Any, keys: Sequence[Key]) -> Any:
    """Return the part of a value that a path leads to. Raises `UsageError` where it leads nowhere.

    A name is a field of a result as this library has it, else one as the server sent it.
    """
    shown = "_"
    for key in keys:
        try:
            value = _step(value, key)
        except (LookupError, TypeError):
            raise UsageError(f"{shown} {_complaint(value, key)}") from None
        shown += f"[{key}]" if isinstance(key, int) else f".{key}"
    return value


def _step(value: Any, key: Key) -> Any:
    if isinstance(value, WireObject):
        if isinstance(key, str) and key in _fields(value):
            return getattr(value, key)
        return value.raw[key] if isinstance(key, str) else _no_such(key)
    if isinstance(value, Mapping):
        return value[str(key)]
    if isinstance(value, (list, tuple)):
        return value[int(key) if isinstance(key, int) or key.isdecimal() else _no_such(key)]
    return _no_such(key)


def _no_such(key: Key) -> Any:
    raise LookupError(key)


def _complaint(value: Any, key: Key) -> str:
    names = names_in(value)
    if not names:
        if isinstance(value, (list, tuple)):
            return f"has {len(value)} items, numbered from 0, and no {key!r}"
        return f"is {_kind(value)} and has no {key!r}"
    hint = did_you_mean(str(key), names) or f"it has {_listed(names)}"
    return f"has no {key!r}; {hint}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_MAX_NAMES]) + (", …" if len(names) > _MAX_NAMES else "")


def _kind(value: Any) -> str:
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, bytes)):
        return "a text" if isinstance(value, str) else "bytes"
    return "a number"


def names_in(value: Any) -> list[str]:
    """Return the names that may follow in a path."""
    if isinstance(value, WireObject):
        return _fields(value)
    return [str(name) for name in value] if isinstance(value, Mapping) else []


def _fields(value: WireObject) -> list[str]:
    kind = type(value)
    return [name for name in dir(kind) if name[0] != "_" and not callable(getattr(kind, name))]
