"""How much memory JSON values take, roughly: that bounds what a peer sends, and no number does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MAX_MEMORY = 512 * 1024 * 1024
"""Bytes one message may take once it is decoded, unless its text is in proportion."""

# What CPython takes for an object with a member, for an array, and for what a comma separates.
_OBJECT, _ARRAY, _VALUE = 200, 60, 40
# Text of so many times its own size in memory is not in proportion.
_MAX_PER_CHARACTER = 12
# Texts up to this length cannot take too much, whatever is in them.
_HARMLESS = MAX_MEMORY // ((_OBJECT + _VALUE) // 2)

# Commas and brackets in strings make nothing. Strings are looked for where that is quickly done.
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_MAX_QUOTES = 1_000_000


def takes_too_much(text: str) -> bool:
    """Whether JSON text becomes values that take far more memory than it does itself.

    Sixty megabytes of ``[],`` would become 1.5 gigabytes.
    """
    if len(text) < _HARMLESS:
        return False
    allowed = max(MAX_MEMORY, len(text) * _MAX_PER_CHARACTER)
    if _estimated(text) <= allowed:
        return False
    return text.count('"') > _MAX_QUOTES or _estimated(_STRING.sub('""', text)) > allowed


def _estimated(text: str) -> int:
    return text.count("{") * _OBJECT + text.count("[") * _ARRAY + text.count(",") * _VALUE


def is_deep(value: Any, most: int) -> bool:
    """Whether objects and arrays are nested more than ``most`` deep; never recurses."""
    level = [value]
    for _ in range(most):
        level = [
            member
            for parent in level
            if isinstance(parent, (dict, list))
            for member in (parent.values() if isinstance(parent, dict) else parent)
        ]
        if not level:
            return False
    return True


def weight_of(value: Any, most: float) -> int:
    """Return about how many bytes a decoded value takes; the count ends beyond ``most``."""
    weight = 0
    pending = [value]
    while pending and weight <= most:
        part = pending.pop()
        if isinstance(part, (str, bytes)):
            weight += _VALUE + len(part)
        elif isinstance(part, Mapping):
            weight += _OBJECT
            pending += part
            pending += part.values()
        elif isinstance(part, (list, tuple)):
            weight += _ARRAY
            pending += part
        else:
            weight += _VALUE
            if not isinstance(part, (int, float, type(None))):  # an object that holds a value
                pending += [getattr(part, name, None) for name in ("raw", "args")]
    return weight
