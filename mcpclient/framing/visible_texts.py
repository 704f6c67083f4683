"""The invisible characters in JSON of a server: named by their places, or left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .invisible import CONTROLS, find_invisible, without_invisible

_NAMED = 3


def with_visible_texts(value: Any) -> Any:
    """Return a JSON value with `without_invisible` of its descriptions and titles.

    Names and other strings stay, since calls repeat them.
    """
    if isinstance(value, Mapping):
        return {
            name: without_invisible(item)
            if name in ("description", "title") and isinstance(item, str)
            else with_visible_texts(item)
            for name, item in value.items()
        }
    return list(map(with_visible_texts, value)) if isinstance(value, list) else value


def described_invisible(text: str) -> str:
    """Return how many invisible characters a string has, and the first ones; "" for none."""
    if text.isascii() and CONTROLS.search(text) is None:
        return ""
    found = find_invisible(text)
    if not found:
        return ""
    plural = "s" if len(found) > 1 else ""
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"{len(found)} invisible character{plural}: {', '.join(map(str, found[:_NAMED]))}{more}"


def invisible_in(value: Any, place: str = "") -> Iterator[str]:
    """Yield a description of each string of a JSON value with invisible characters.

    It begins with the place, such as ``inputSchema.properties.path.description``.
    """
    if isinstance(value, str):
        described = described_invisible(value)
        if described:
            yield f"{place}: {described}" if place else described
    elif isinstance(value, Mapping):
        for name, item in value.items():
            inner = f"{place}.{without_invisible(str(name))}".lstrip(".")
            described = described_invisible(name) if isinstance(name, str) else ""
            if described:
                yield f"the name {inner}: {described}"
            yield from invisible_in(item, inner)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from invisible_in(item, f"{place}[{index}]")
