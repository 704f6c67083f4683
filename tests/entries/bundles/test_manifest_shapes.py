"""The shapes of documents: F-MANY-18."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.entries.bundles.manifest import SCALAR, fitted
from mcpclient.entries.entry import EntryError

SHAPE = {
    "name": str,
    "kind?": frozenset({"a", "b"}),
    "words?": [str],
    "least?": (int, float),
    "value?": SCALAR,
    "flag?": bool,
    "by_name?": {"*": {"inner": str}},
    "any?": object,
}


@pytest.mark.parametrize(
    "value",
    [
        {"name": "x"},
        {"name": "x", "kind": "a", "words": [], "least": 1.5, "value": True, "flag": False},
        {"name": "x", "words": ["a", "b"], "by_name": {"k?": {"inner": "x"}, "*": {"inner": "y"}}},
        {"name": "", "any": {"a": [1]}},
    ],
)
def test_a_value_that_fits_stays(value: Any) -> None:
    assert fitted(value, SHAPE) == value


def test_nulls_and_other_fields_are_left_out() -> None:
    """F-MANY-18: fields of newer versions change nothing."""
    value = {"name": "x", "kind": None, "other": 1, "by_name": {"a": None, "b": {"inner": "x"}}}
    assert fitted(value, SHAPE) == {"name": "x", "by_name": {"b": {"inner": "x"}}}


@pytest.mark.parametrize(
    ("value", "message", "path"),
    [
        ([], "must be an object, not a list", ()),
        ({}, "is missing", ("name",)),
        ({"name": None}, "is missing", ("name",)),
        ({"name": 1}, "must be a string, not a number", ("name",)),
        ({"name": "x", "kind": "c"}, "must be one of a, b, not 'c'", ("kind",)),
        ({"name": "x", "kind": ["a"]}, "must be one of a, b, not", ("kind",)),
        ({"name": "x", "words": "a"}, "must be a list, not a string", ("words",)),
        ({"name": "x", "words": ["a", None]}, "must be a string, not null", ("words", 1)),
        ({"name": "x", "least": True}, "must be a number, not true or false", ("least",)),
        ({"name": "x", "value": {}}, "must be a string, a number, or true or", ("value",)),
        ({"name": "x", "flag": 1}, "must be true or false, not a number", ("flag",)),
        ({"name": "x", "by_name": {"k": {}}}, "is missing", ("by_name", "k", "inner")),
    ],
)
def test_a_value_that_does_not_fit(value: Any, message: str, path: tuple[Any, ...]) -> None:
    """F-MANY-18: with its place."""
    with pytest.raises(EntryError, match=message) as caught:
        fitted(value, SHAPE)
    assert caught.value.path == path
