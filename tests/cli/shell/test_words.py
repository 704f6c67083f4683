"""A line of the shell: its words, paths into the last result, and expectations: F-SHOW-5."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient import UsageError
from mcpclient.cli.shell.words import (
    follow_path,
    is_path,
    names_in,
    parse_line,
    parse_path,
    quoted,
    split_words,
    unmet,
)
from mcpclient.protocol.types import CallToolResult
from tests.support.tables import each_row


def texts(line: str) -> list[str]:
    return [word.text for word in split_words(line)]


@each_row(
    ("line", "words"),
    [
        ("", []),
        ("  \t ", []),
        ("# a comment", []),
        ("echo message=hi  # a comment", ["echo", "message=hi"]),
        ("echo message=#1 a#b", ["echo", "message=#1", "a#b"]),
        ("echo message='a  b' \"c d\"", ["echo", "message=a  b", "c d"]),
        (r"echo a\ b \"c 'd\e' " + '"f\\"g\\h"', ["echo", "a b", '"c', r"d\e", 'f"g\\h']),
        ("echo ''", ["echo", ""]),
        ("echo end\\", ["echo", "end"]),
        ('call {"a": "b c", "d": [1, "]"]} e', ["call", '{"a": "b c", "d": [1, "]"]}', "e"]),
        ('echo list=["a b", "c"] n:={"x": 1}', ["echo", 'list=["a b", "c"]', 'n:={"x": 1}']),
        ('echo zip:="01 234" zip="01 234"', ["echo", 'zip:="01 234"', "zip=01 234"]),
        ('_.structured["a b"].c[0]', ['_.structured["a b"].c[0]']),
        ("echo {not json} [nor this]", ["echo", "{not", "json}", "[nor", "this]"]),
        ("echo a|b x>y a&b", ["echo", "a|b", "x>y", "a&b"]),
    ],
)
def test_words(line: str, words: list[str]) -> None:
    """F-SHOW-5: spaces, quotes and JSON."""
    assert texts(line) == words


@each_row(
    ("line", "problem"),
    [
        ("echo 'abc", "the quote ' at column 6 is not closed"),
        ("echo & more", "& belongs at the end"),
        ("&", "there is no command before &"),
    ],
)
def test_a_line_that_makes_no_sense(line: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        parse_line(line)


@given(st.text())
def test_a_quoted_word_says_its_text(text: str) -> None:
    """F-SHOW-5: a completed word is read back as the same word."""
    words, _ = parse_line(f"run {quoted(text)}")
    assert [word.text for word in words] == ["run", text]


@given(st.text(alphabet=st.sampled_from("a \t'\"\\[]{}=:,#&|>_.0\n"), max_size=40) | st.text())
def test_no_line_crashes_the_parser(line: str) -> None:
    """F-SHOW-5: any text is a line, or wrong usage that says why."""
    try:
        parse_line(line)
    except UsageError as error:
        assert str(error)
    for word in split_words(line, unfinished=True):
        assert line[word.start :].startswith(word.typed)


RESULT = CallToolResult(
    {
        "content": [{"type": "text", "text": "three"}, {"type": "text", "text": "3"}],
        "structuredContent": {"sum": 3, "a b": {"c": [1, None]}, "0": "zero"},
        "extra": True,
    }
)


def at(path: str) -> Any:
    return follow_path(RESULT, parse_path(path))


@each_row(
    ("path", "value"),
    [
        ("_.text", "three\n3"),
        ("text", "three\n3"),
        ("_.is_error", False),
        ("_.content[1].text", "3"),
        ("_.content[-1].text", "3"),
        ("_.content.0.text", "three"),
        ('_.structured["sum"]', 3),
        ("_.structured['sum']", 3),
        ("_.structured[sum]", 3),
        ("_.structured.sum", 3),
        ('_["structured"]["a b"].c[0]', 1),
        ("_.structured[0]", "zero"),
        ("_.structured['a b'].c[1]", None),
        ("_.extra", True),
        ("_.raw.extra", True),
    ],
)
def test_a_path_leads_to_a_part(path: str, value: object) -> None:
    """F-SHOW-5: fields of the library, members as the server sent them, places in lists."""
    assert at(path) == value
    assert at("_") is RESULT


@each_row(
    ("path", "problem"),
    [
        ("_.txt", "_ has no 'txt'; did you mean 'text'?"),
        ("_.structured.zzz", "_.structured has no 'zzz'; it has sum, a b, 0"),
        ("_.content[2]", r"_.content has 2 items, numbered from 0, and no '2'"),
        ("_.content.first", r"_.content has 2 items"),
        ("_.text.upper", '_.text is "three\\n3" and has no'),
        ("_.structured.sum.real", "_.structured.sum is 3 and has no 'real'"),
        ("_.is_error[0]", "_.is_error is false and has no '0'"),
        ("_.extra.x", "_.extra is true"),
        ("_.structured['a b'].c[1].d", "is null"),
        ("_[0]", "_ has no '0'"),
        ("_.content[", "not a path"),
        ("_..text", "not a path"),
        ("_.__class__", "has no '__class__'"),
        ("_.content[0].text.__class__.mro()", "and has no '__class__'"),
    ],
)
def test_a_path_that_leads_nowhere(path: str, problem: str) -> None:
    """F-SHOW-5: said where it ends, and nothing of Python can be reached."""
    with pytest.raises(UsageError) as caught:
        at(path)
    assert problem in str(caught.value)


def test_names_that_may_follow() -> None:
    assert {"text", "structured", "data", "is_error"} <= set(names_in(RESULT))
    assert names_in({"a": 1}) == ["a"]
    assert names_in([1]) == names_in("text") == []
    assert is_path("_") and is_path("_.a") and is_path("_[0]") and not is_path("_a")


@given(st.text(alphabet=st.sampled_from("_.[]\"'\\abstext019-"), max_size=30) | st.text())
def test_no_path_crashes_the_reader(path: str) -> None:
    """F-SHOW-5: any text is a path, or wrong usage."""
    try:
        at(path)
    except UsageError as error:
        assert str(error)


EXPECTED = CallToolResult(
    {
        "content": [{"type": "text", "text": "hi there"}],
        "structuredContent": {"sum": 3, "list": [1, "two"], "ok": True, "text": "hi there"},
    }
)


def failure(line: str) -> str | None:
    return unmet(split_words(line), EXPECTED)


@each_row(
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


@each_row(
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
    """F-SHOW-5: the expected and the actual value."""
    assert said in (failure(line) or "")


@each_row(
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
