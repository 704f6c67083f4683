"""YAML within lines: quotes, brackets and single scalars: F-API-16."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpclient.formats.front_matter import (
    FlowReader,
    FrontMatterError,
    folded,
    read_quoted,
    scalar,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("12", 12),
        ("-012", -12),
        ("0x1F", "0x1F"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("-1e3", -1000.0),
        ("1.2.3", "1.2.3"),
        ("2024-01-01", "2024-01-01"),
        ("1" * 5000, "1" * 5000),
    ],
)
def test_scalars(text: str, value: object) -> None:
    """F-API-16: the core schema of YAML 1.2; a number too long to convert stays text."""
    assert scalar(text) == value
    assert type(scalar(text)) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[]", []),
        ("{}", {}),
        ("[" * 33 + "]" * 33, json.loads("[" * 33 + "]" * 33)),
        ("[a, 'b, c', \"d\", 1, [x], {y: z}]", ["a", "b, c", "d", 1, ["x"], {"y": "z"}]),
        ("[a,\n b, # one\n c,\n]", ["a", "b", "c"]),
        ("{a: 1, 'b c': [2], d, e: }", {"a": 1, "b c": [2], "d": None, "e": None}),
        ("{f: x:y, 'g':1}", {"f": "x:y", "g": 1}),
        ("{a: b c\n  d, e#f: 1}", {"a": "b c d", "e#f": 1}),
        ("'it''s'", "it's"),
        (r'"\x41\u00e9\U0001F600\n\/\""', 'A\u00e9\U0001f600\n/"'),
        ('"one\n  two\n\n  three \\\n  four"', "one two\nthree four"),
        ("'a\n b\n '", "a b "),
        ('"a\n "', "a "),
    ],
)
def test_flow(text: str, value: Any) -> None:
    """F-API-16: collections in brackets and quoted scalars, over several lines."""
    reader = FlowReader(text)
    assert reader.value() == value
    assert reader.position == len(text)


def test_the_reader_says_where_the_value_ends() -> None:
    reader = FlowReader("[1] # rest")
    reader.value()
    assert reader.text[reader.position :] == " # rest"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1", "not closed"),
        ("{a: 1", "not closed"),
        ("['a]", "not closed"),
        ("[1 2: 3]", "found instead of , or ]"),
        ("{a: 1, a: 2}", "twice"),
        ("[*alias]", "not supported"),
        ("[,]", "not supported"),
        ('"\\q"', "no escape"),
        ('"\\UFFFFFFFF"', "no character"),
        ("[" * 34 + "]" * 34, "too deeply"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    """F-API-16: what is broken or could be read in two ways is never guessed at."""
    with pytest.raises(FrontMatterError, match=reason):
        FlowReader(text).value()


def test_a_character_escaped_in_two_halves() -> None:
    """F-API-16: as JSON escapes what is beyond 16 bits; half of one stays what it is."""
    assert FlowReader(r'"\ud83d\ude00 \ud83d \ude00\ud83d"').value() == "😀 \ud83d \ude00\ud83d"


def test_a_quoted_scalar_without_end() -> None:
    assert read_quoted('x "open', 2) is None
    assert read_quoted("'a' b", 0) == ("a", 3)


def test_folding() -> None:
    assert folded("a\nb\n\n\nc") == "a b\n\nc"
    assert folded("a \n\t\n  b") == "a\nb"
    assert folded("a\n") == "a "
