"""``expect``: F-SHOW-5."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient import UsageError
from mcpclient.cli.shell.words import plain, split_words, unmet
from mcpclient.protocol.types import CallToolResult

RESULT = CallToolResult(
    {
        "content": [{"type": "text", "text": "hi there"}],
        "structuredContent": {"sum": 3, "list": [1, "two"], "ok": True, "text": "hi there"},
    }
)


def failure(line: str) -> str | None:
    return unmet(split_words(line), RESULT)


@pytest.mark.parametrize(
    "line",
    [
        'text == "hi there"',
        "_.text == 'hi there'",
        "text",
        "not is_error",
        "is_error == false",
        "text != hi",
        "text contains hi",
        "not text contains ho",
        "structured.sum == 3",
        "structured.sum == 3.0",
        'structured["sum"] != "3"',
        "structured.ok == true",
        "structured.ok != 1",
        'structured.list == [1, "two"]',
        "structured.list != [true, 2]",
        "structured.list contains two",
        "structured.list contains 1",
        "structured contains sum",
        "structured.text == _.text",
        'structured == {"sum": 3, "list": [1, "two"], "ok": true, "text": "hi there"}',
        "content[0].raw.type == text",
    ],
)
def test_what_holds(line: str) -> None:
    assert failure(line) is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('text == "hi"', 'expected text == "hi", and text is "hi there"'),
        ("is_error", "expected is_error, and is_error is false"),
        ("not text", 'expected not text, and text is "hi there"'),
        ("structured.sum == 4", "expected structured.sum == 4, and structured.sum is 3"),
        ('structured.sum == "3"', 'expected structured.sum == "3", and structured.sum is 3'),
        ("structured.sum contains 3", "and structured.sum is 3"),
        ("structured.list contains true", 'and structured.list is [1, "two"]'),
        ("text != _.text", 'and text is "hi there"'),
    ],
)
def test_what_does_not_hold(line: str, said: str) -> None:
    """F-SHOW-5: what was expected, and what is there."""
    assert said in (failure(line) or "")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("text is hi", "compares with ==, !=, contains, not with 'is'"),
        ("text ==", "takes one value"),
        ("text == hi there", "takes one value"),
        ("nothing.there == 1", "has no 'nothing'"),
        ("te[ == 1", "not a path"),
    ],
)
def test_an_expectation_that_makes_no_sense(line: str, problem: str) -> None:
    """F-SHOW-5: that is wrong usage, and no failed test."""
    with pytest.raises(UsageError, match=problem):
        failure(line)


def test_long_and_odd_values() -> None:
    long = CallToolResult({"content": [{"type": "text", "text": "\x1b[31m" + "x" * 500}]})
    said = unmet(split_words("text == y"), long)
    assert said is not None and "\x1b" not in said and said.endswith("…")
    assert plain([b"\xff", RESULT.content[0]]) == ["\ufffd", {"type": "text", "text": "hi there"}]


@given(
    st.lists(
        st.sampled_from(["not", "text", "==", "contains", "_.text", "[1]", "''", "_["]), min_size=1
    )
)
def test_no_expectation_crashes(words: list[str]) -> None:
    try:
        failure(" ".join(words))
    except UsageError as error:
        assert str(error)
