"""A field of a form as a question, and typed text as its value."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.cli.asking import Field
from tests.support.tables import each_row

ENUM = {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]}
ONE_OF = {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g"}]}
SEVERAL = {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b"}]}}


@each_row(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, " hi ", "hi"),
        ({"type": "string"}, "", None),
        ({"type": "string", "default": "d"}, "", "d"),
        ({"type": "boolean"}, "Y", True),
        ({"type": "boolean"}, "off", False),
        ({"type": "integer"}, "5", 5),
        ({"type": "number"}, "2.0", 2),
        ({"type": "number"}, "2.5", 2.5),
        (ENUM, "2", "g"),
        (ENUM, "Red", "r"),
        (ENUM, "g", "g"),
        (ONE_OF, "1", "r"),
        (SEVERAL, "1, b", ["a", "b"]),
        ({"type": "array", "items": {"type": "string", "enum": ["1", "0"]}}, "0", ["0"]),
    ],
)
def test_what_is_typed_becomes_a_value(schema: dict[str, Any], text: str, value: Any) -> None:
    """F-SHOW-9: types, defaults, and choices by number, title or value."""
    assert Field("f", schema).value(text) == value


@each_row(
    ("schema", "text", "reason"),
    [
        ({"type": "string"}, "", "it is needed"),
        ({"type": "boolean"}, "maybe", "needed: yes or no"),
        ({"type": "integer"}, "2.5", "needed: whole number"),
        ({"type": "number"}, "x", "needed: number"),
        ({"type": "number"}, "inf", "needed: number"),
        ({"type": "integer", "minimum": 3}, "2", "2 is less than 3"),
        ({"type": "integer", "maximum": 3}, "4", "4 is greater than 3"),
        ({"type": "string", "minLength": 3}, "ab", "2 characters are less than 3"),
        ({"type": "string", "maxLength": 1}, "ab", "2 characters are more than 1"),
        ({"type": "string", "format": "email"}, "ab", "format email"),
        ({"type": "string", "format": "date", "default": "soon"}, "", "format date"),
        ({"type": "string", "pattern": "^a$"}, "b", "pattern"),
        ({**SEVERAL, "minItems": 2}, "1", "1 items are less than 2"),
        (ENUM, "3", "from 1 to 2"),
        (ENUM, "²", "from 1 to 2"),
    ],
)
def test_what_does_not_fit_is_said(schema: dict[str, Any], text: str, reason: str) -> None:
    """F-SHOW-9"""
    with pytest.raises(ValueError, match=reason):
        Field("f", schema, required=True).value(text)


def test_the_question() -> None:
    """F-SHOW-9, F-SHOW-3: in plain lines, and escaped."""
    colour = {**ENUM, "title": "Colour\x1b", "description": "Of\nit", "default": "g"}
    assert Field("c", colour).question() == [
        r"Colour\x1b (text, optional)",
        "  Of it",
        "  1. Red",
        "  2. Green  [Green]",
    ]
    number = {"type": "integer", "minimum": 1, "maximum": 9, "default": 5}
    assert Field("n", number, True).question() == ["n (whole number, from 1 to 9)  [5]"]
    email = {"type": "string", "format": "email"}
    assert Field("e", email, True).question() == ["e (email)"]
    agreed = {"type": "boolean", "default": True}
    assert Field("b", agreed, True).question() == ["b (yes or no)  [yes]"]
    several = {**SEVERAL, "default": ["a", "b"]}
    assert Field("s", several, True).question()[-1] == "  2. b  [A, b]"
