"""Paths into the last result: F-SHOW-5."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient import UsageError
from mcpclient.cli.shell.words import follow_path, is_path, names_in, parse_path
from mcpclient.protocol.types import CallToolResult

RESULT = CallToolResult(
    {
        "content": [{"type": "text", "text": "three"}, {"type": "text", "text": "3"}],
        "structuredContent": {"sum": 3, "a b": {"c": [1, None]}, "0": "zero"},
        "extra": True,
    }
)


def at(path: str) -> Any:
    return follow_path(RESULT, parse_path(path))


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


def test_bytes_are_a_part_without_parts() -> None:
    with pytest.raises(UsageError, match='is "x"'):
        follow_path({"data": b"x"}, ["data", "y"])


@given(st.text(alphabet=st.sampled_from("_.[]\"'\\abstext019-"), max_size=30) | st.text())
def test_no_path_crashes_the_reader(path: str) -> None:
    """F-SHOW-5: any text is a path, or wrong usage."""
    try:
        at(path)
    except UsageError as error:
        assert str(error)
