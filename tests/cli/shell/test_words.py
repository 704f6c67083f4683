"""A line of the shell taken apart: F-SHOW-5."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient import UsageError
from mcpclient.cli.shell.words import parse_line, quoted, split_words


def texts(line: str) -> list[str]:
    return [word.text for word in split_words(line)]


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("line", "words", "in_background"),
    [
        ("echo a=1 &", ["echo", "a=1"], True),
        ("echo '|' \"&\"", ["echo", "|", "&"], False),
        ("echo > file", ["echo", ">", "file"], False),
        ("# only a comment", [], False),
    ],
)
def test_what_runs_in_the_background(line: str, words: list[str], in_background: bool) -> None:
    """F-SHOW-5: and that nothing else has a meaning of its own."""
    parsed, found = parse_line(line)
    assert ([word.text for word in parsed], found) == (words, in_background)


@pytest.mark.parametrize(
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


def test_an_unfinished_quote_reaches_to_the_end() -> None:
    words = split_words("echo message='a b", unfinished=True)
    assert [(word.text, word.start) for word in words] == [("echo", 0), ("message=a b", 5)]


@given(st.text())
def test_a_quoted_word_says_its_text(text: str) -> None:
    """F-SHOW-5: what completion puts into a line means what it says."""
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
