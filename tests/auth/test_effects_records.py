"""F-AUTH-9: records of a store, which somebody may have damaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from mcpclient.auth.effects import number_in, part_of, read_record, strings_in


@dataclass(frozen=True)
class Thing:
    """A field of each kind that records have."""

    name: str
    tags: tuple[str, ...]
    weight: float
    owner: str | None
    parts: tuple[str, ...] | None = None
    color: str = "red"
    is_old: bool = False
    inside: object = None


WHOLE = {"name": "x", "tags": ["a", "b"], "weight": 2, "owner": "me", "parts": [], "is_old": True}


def test_a_whole_record_is_read() -> None:
    """F-AUTH-9: by its fields, whatever else is there; a part may be given instead."""
    thing = read_record(Thing, {**WHOLE, "color": "blue", "inside": 1, "more": {}}, inside=WHOLE)
    assert thing == Thing("x", ("a", "b"), 2.0, "me", (), "blue", is_old=True, inside=WHOLE)


@pytest.mark.parametrize(
    "damage", [{"name": None}, {"name": 7}, {"tags": "a"}, {"tags": ["a", 7]}, {"weight": "2"}]
)
def test_a_record_without_what_it_needs_is_none(damage: dict[str, Any]) -> None:
    """F-AUTH-9: missing, or of another type."""
    assert read_record(Thing, {**WHOLE, **damage}, inside=None) is None


def test_a_damaged_field_that_may_be_missing_is_as_if_it_were() -> None:
    """F-AUTH-9: the others stay."""
    damage = {"owner": 7, "parts": "all", "color": ["red"], "is_old": "yes"}
    thing = read_record(Thing, {**WHOLE, **damage}, inside=None)
    assert thing == Thing("x", ("a", "b"), 2.0, None, None, "red", is_old=False)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0, 0.0),
        (1.5, 1.5),
        (True, None),
        ("1", None),
        (None, None),
        (10**400, None),
        (float("nan"), None),
        (float("inf"), None),
    ],
)
def test_a_number_is_finite(value: object, number: float | None) -> None:
    """F-AUTH-9"""
    assert number_in(value) == number


def test_parts_are_objects_and_lists_hold_strings() -> None:
    """F-AUTH-9"""
    assert part_of({"a": {"b": 1}}, "a") == {"b": 1}
    assert part_of({"a": [1]}, "a") == part_of({}, "a") == {}
    assert strings_in(["a"]) == strings_in(("a",)) == ("a",)
    assert strings_in("a") is strings_in(None) is strings_in([1]) is None
