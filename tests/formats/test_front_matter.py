"""Front matter: a part of YAML, read as the YAML libraries read it: F-API-16."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.formats.front_matter import FrontMatterError, parse_front_matter, same_content
from tests.support.tables import each_row

EVERYTHING = """\
# A comment before.
name: pdf-processing
description: >-
  Extract, fill
  and assemble

    indented
  documents
license: "Apache-2.0" # a comment
url: http://example.com/#anchor
long: a text
  that goes on # and ends

plain: a: b
empty:
literal: |
  one
    two

  three
folded: >
  a
  b

  c
stripped: |-
  x
   y
"quoted key": 'it''s
  folded'
tags: [a, "b", 3]
map: {x: 1, y: [2]}
over lines: [
  a, b
]
allowed-tools:
- Read
- Bash(git:*)
-
  deep: 1
metadata:
  version: 2.1
  nested:
    - name: x
      list:
        - - 1
          - 2
    - "quoted"
  text below:
    on its own
    line
"""

PARSED: dict[str, Any] = {
    "name": "pdf-processing",
    "description": "Extract, fill and assemble\n\n  indented\ndocuments",
    "license": "Apache-2.0",
    "url": "http://example.com/#anchor",
    "long": "a text that goes on",
    "plain": "a: b",
    "empty": None,
    "literal": "one\n  two\n\nthree\n",
    "folded": "a b\nc\n",
    "stripped": "x\n y",
    "quoted key": "it's folded",
    "tags": ["a", "b", 3],
    "map": {"x": 1, "y": [2]},
    "over lines": ["a", "b"],
    "allowed-tools": ["Read", "Bash(git:*)", {"deep": 1}],
    "metadata": {
        "version": 2.1,
        "nested": [{"name": "x", "list": [[1, 2]]}, "quoted"],
        "text below": "on its own line",
    },
}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_everything_that_is_read(line_end: str) -> None:
    """F-API-16: the values are those that a YAML library gives for the same text."""
    assert parse_front_matter(EVERYTHING.replace("\n", line_end)) == PARSED


@each_row(
    ("text", "value"),
    [
        ("a: |\n", ""),
        ("a: >\n\n  x\n", "\nx\n"),
        ("a: |-\n  x\n\n", "x"),
        ("a: |\n  x\nb: 1", "x\n"),
        ("a:\n  - x\n  # comment\n  - y", ["x", "y"]),
        ("a: 'x' # y", "x"),
        ("a: x\n  # the text has ended", "x"),
        ("'a':", None),
        ("a: -1", -1),
        ("a: -x", "-x"),
    ],
)
def test_single_values(text: str, value: object) -> None:
    """F-API-16: blocks, chomping and comments at their edges."""
    assert parse_front_matter(text)["a"] == value


@each_row(
    ("text", "reason"),
    [
        ("just text", "not a mapping"),
        ("- a", "not a mapping"),
        ("", "not a mapping"),
        ("a: 1\na: 2", "line 2: the key 'a' is there twice"),
        ("a: 1\n  b: 2", "a key is inside a string"),
        ("a: 'x'\n  b: 2", "indented as nothing else"),
        ("a: 'x' y", "follows a value"),
        ("a: [1", "not closed"),
        ("a: - not an item", "not supported"),
        ("a: &anchor x", "not supported"),
        ("a: *alias", "not supported"),
        ("a: !!str x", "not supported"),
        ("a: |+\n  x", "not supported"),
        ("a: >2\n  x", "not supported"),
        ("&a b: c", "not supported"),
        ("? b: c", "not supported"),
        ("\ta: 1", "a tab cannot be used for indentation"),
        ("a:\n    b: 1\n  c: 2", "indented as nothing else"),
        ("a: |\n    x\n  y\nb: 1", "not indented like it"),
        ("'open: 1", "not closed"),
        ('"a" b: 1', "follows a value"),
        ("x" * 70_000, "longer than"),
        ("\n".join(" " * level + "a:" for level in range(34)), "too deeply"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    """F-API-16: what is broken or could be read in two ways is never guessed at."""
    with pytest.raises(FrontMatterError, match=reason):
        parse_front_matter(text)


@each_row(
    "line",
    ["b: &s3cret x", "b: %s3cret", "b: 'x' s3cret", 'b: "s3cret', "b: [s3cret", "b: [@s3cret]"],
)
def test_a_value_that_is_refused(line: str) -> None:
    """F-API-16, F-AUTH-12: the line is reported, and nothing of it but its first character."""
    with pytest.raises(FrontMatterError, match="line 2: ") as caught:
        parse_front_matter(f"a: 1\n{line}\nc: 3\n")
    assert "s3cret" not in str(caught.value)


@each_row(
    ("parsed", "claimed", "is_same"),
    [
        ({"a": [1, "x"]}, {"a": [1.0, "x"]}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1], [1, 2], False),
        ([1, 2], [2, 1], False),
        (True, True, True),
        (True, 1, False),
        (0, False, False),
        ("yes", True, True),
        ("Off", False, True),
        ("off", True, False),
        ("maybe", False, False),
        ("2024-01-01", "2024-01-01T00:00:00.000Z", True),
        ("2024-01-01", "2024-01-02", False),
        (None, None, True),
        (None, "", False),
        ("1", 1, False),
        ({}, [], False),
    ],
)
def test_comparison(parsed: object, claimed: object, is_same: bool) -> None:
    """F-API-16: field by field, but not in what YAML libraries disagree about."""
    assert same_content(parsed, claimed) is is_same
