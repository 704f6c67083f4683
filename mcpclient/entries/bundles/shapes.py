"""The shape of a JSON document, checked once, so that what reads it need not look at types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import safe_repr
from ..entry import EntryError, kind_of_value

SCALAR = (str, bool, int, float)
_KINDS: dict[Any, str] = {
    str: "a string",
    bool: "true or false",
    (int, float): "a number",
    SCALAR: "a string, a number, or true or false",
}


def fitted(value: Any, shape: Any, *path: str | int) -> Any:
    """Return a value without nulls and without fields that its shape does not have.

    A shape is a type or a tuple of types, a frozenset of strings, a list with the shape of its
    items, or a mapping with those of its fields: ``"name?"`` may be missing, ``"*"`` is any other
    name. Raises `EntryError` with the path of a value that does not fit.
    """
    if isinstance(shape, Mapping):
        if not isinstance(value, Mapping):
            raise _misfit("an object", value, path)
        others = dict.fromkeys(value, shape["*"]) if "*" in shape else {}
        found = {}
        for name, inner in {**others, **shape}.items():
            key = name.rstrip("?") if name in shape else name
            if value.get(key) is not None:
                found[key] = fitted(value[key], inner, *path, key)
            elif name in shape and name == key != "*":
                raise EntryError("is missing", *path, key)
        return found
    if isinstance(shape, list):
        if not isinstance(value, list):
            raise _misfit("a list", value, path)
        return [fitted(item, shape[0], *path, index) for index, item in enumerate(value)]
    if isinstance(shape, frozenset):
        if not isinstance(value, str) or value not in shape:
            raise EntryError(
                f"must be one of {', '.join(sorted(shape))}, not {safe_repr(value)}", *path
            )
    elif not isinstance(value, shape) or (isinstance(value, bool) and shape == (int, float)):
        raise _misfit(_KINDS[shape], value, path)
    return value


def _misfit(expected: str, value: Any, path: tuple[str | int, ...]) -> EntryError:
    return EntryError(f"must be {expected}, not {kind_of_value(value)}", *path)
