"""YAML within lines: quotes, brackets and single scalars: F-API-16."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpclient.formats.front_matter import FlowReader, FrontMatterError
from tests.support.tables import each_row


@each_row(
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


@each_row(
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
