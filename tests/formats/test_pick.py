"""Parts of JSON, as jq 1.6 picks them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mcpclient import UsageError
from mcpclient.formats.pick import parse_pick
from tests.support.tables import each_row

ITEMS: list[Any] = [
    {"id": 1, "title": "One", "tags": ["a", "b"], "author": {"name": "Ada"}},
    {"id": 2, "title": "Two ü", "tags": [], "author": None},
    {"id": 3},
]
DOCUMENT: Any = {"items": ITEMS, "a b": {"x-y": True}, "n": 1.5, "text": "héllo", "none": None}
# What ``jq -c PICK`` 1.6 prints of the document; None: it fails.
PAIRS: list[tuple[str, Any]] = [
    (".", [DOCUMENT]),
    (".items", [ITEMS]),
    (".items[]", ITEMS),
    (".items[].id", [1, 2, 3]),
    (".items[0]", [ITEMS[0]]),
    (".items[-1].id", [3]),
    (".items[9]", [None]),
    (".items[0:2]|.[].id", [1, 2]),
    (".items[1:]", [ITEMS[1:]]),
    (".items[:1]", [ITEMS[:1]]),
    (".items[-1:]", [[{"id": 3}]]),
    ('."a b"', [{"x-y": True}]),
    ('.["a b"]', [{"x-y": True}]),
    ('."a b"."x-y"', [True]),
    (
        ".items[]|{id,title}",
        [{"id": 1, "title": "One"}, {"id": 2, "title": "Two ü"}, {"id": 3, "title": None}],
    ),
    (
        ".items[]|{id,who:.author.name}",
        [{"id": 1, "who": "Ada"}, {"id": 2, "who": None}, {"id": 3, "who": None}],
    ),
    ("[.items[].id]", [[1, 2, 3]]),
    ("[.items[]|.title]", [["One", "Two ü", None]]),
    (".n,.text", [1.5, "héllo"]),
    (".missing", [None]),
    (".missing.more", [None]),
    (".none.x", [None]),
    (".items[0]|{id,tag:.tags[]}", [{"id": 1, "tag": "a"}, {"id": 1, "tag": "b"}]),
    (
        "{x:.items[0].tags[],y:.items[0].tags[]}",
        [{"x": "a", "y": "a"}, {"x": "a", "y": "b"}, {"x": "b", "y": "a"}, {"x": "b", "y": "b"}],
    ),
    (".text[1:3]", ["él"]),
    (".text.x", None),
    (".n[]", None),
    (".none[]", None),
    (".items.id", None),
    (".n[0]", None),
    (".none[0]", [None]),
    (".none[1:]", [None]),
    (".items[].tags[]?", ["a", "b"]),
    (".text.x?", []),
    (".n?", [1.5]),
    (".items[]?|.author?", [{"name": "Ada"}, None, None]),
    ('.["n"]', [1.5]),
    ('{"a b"}', [{"a b": {"x-y": True}}]),
    ('{"a b":.n}', [{"a b": 1.5}]),
    ("[.items[]|{id}]", [[{"id": 1}, {"id": 2}, {"id": 3}]]),
    (".items|.[]|.id , .title", [1, "One", 2, "Two ü", 3, None]),
    ('.["items"][0].tags[1]', ["b"]),
    ('."a b"[]', [True]),
    ("[.items[].tags[]?]", [["a", "b"]]),
    (".items[0].tags|.[]", ["a", "b"]),
    (".items[1:2][0].title", ["Two ü"]),
    ("[.text.x?]", [[]]),
    ('.items[0]."title"', ["One"]),
    ("{}", [{}]),
    (".text[-2:]", ["lo"]),
    (".text[:-3]", ["hé"]),
    (".[]|.[0]?", [{"id": 1, "title": "One", "tags": ["a", "b"], "author": {"name": "Ada"}}, None]),
]


@each_row(("text", "found"), PAIRS)
def test_a_pick_is_what_jq_finds(text: str, found: Any) -> None:
    """F-SHOW-20"""
    if found is None:
        with pytest.raises(UsageError, match=r"^pick: "):
            list(parse_pick(text)(DOCUMENT))
    else:
        assert list(parse_pick(text)(DOCUMENT)) == found


@each_row(
    ("text", "problem"),
    [
        ("", "column 1: the name of a field is missing"),
        ("items[", "column 7: a number, or a name in quotes, is missing"),
        ("items[].{id", "column 12: ',' is missing"),
        ("a  b", "column 4: 'b' is not expected here"),
        ("a |", "column 4: the name"),
        ("a-b", "column 2: '-' is not understood"),
        ("a[:]", "column 4: a slice needs a number"),
        ('"\\x"', "is not a JSON string"),
        ("[" * 99, "it is nested too deeply"),
        ("{a:" * 9999, "it is nested too deeply"),
        (".a | length(", "column 12: '(' is not understood"),
    ],
)
def test_what_is_wrong_is_said_with_its_column(text: str, problem: str) -> None:
    """F-SHOW-20"""
    with pytest.raises(UsageError, match=re.escape(problem)):
        parse_pick(text)
