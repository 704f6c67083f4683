"""Going through JSON: each value knows whether it is a secret: F-AUTH-12, F-SHOW-8."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.recording.redaction import Place, walk


def secrets_in(value: Any) -> list[Any]:
    found = []

    def leaf(value: Any, place: Place) -> Any:
        if place.is_secret:
            found.append(value)
        return value

    assert walk(value, leaf) == value
    return found


@pytest.mark.parametrize(
    ("value", "secrets"),
    [
        ({"token": {"a": [1, {"b": 2}]}, "c": 3}, [1, 2]),
        ({"name": "token", "value": 1, "other": 2}, [1]),
        ({"key": "mode", "value": 1}, []),
        (["--token", 1, "--mode", 2], [1]),
        ({"action": "accept", "content": {"a": 1}}, [1]),
        ({"action": "accept", "content": [1]}, []),
        ({"action": "decline", "content": {"a": 1}}, []),
        ({"properties": {"token": {"type": "x", "default": 1}, "b": {"default": 2}}}, [1]),
        ({"properties": {"token": True, "pin": {}}}, []),
        ({"properties": {"token": 1, "pin": {"a": 2}}}, [1, 2]),
    ],
)
def test_what_is_a_secret(value: Any, secrets: list[Any]) -> None:
    """F-AUTH-12"""
    assert secrets_in(value) == secrets


def test_names_of_members_can_be_replaced() -> None:
    shown = walk({"a": [{"b": 1}]}, lambda value, place: place.name, key=str.upper)
    assert shown == {"A": [{"B": "b"}]}


def test_a_value_that_contains_itself_has_an_end() -> None:
    """F-SHOW-8: it is no JSON, and nothing is written down of it."""
    value: list[Any] = []
    value.append(value)
    with pytest.raises(RecursionError):
        walk(value, lambda value, place: value)
