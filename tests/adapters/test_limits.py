"""How much of a result a model gets."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.adapters.limits import Limits, MediaRules, limited, token_warning
from mcpclient.adapters.parts import prepared
from mcpclient.errors import UsageError
from mcpclient.protocol.types import CallToolResult


@pytest.mark.parametrize(
    ("keep_tail", "cut"),
    [
        (0.25, "abc\n\n[… 4 characters left out …]\n\nh"),
        (0, "abcd\n\n[… 4 characters left out …]\n\n"),
        (1, "\n\n[… 4 characters left out …]\n\nefgh"),
    ],
)
def test_beginning_and_end_stay(keep_tail: float, cut: str) -> None:
    """F-TOOL-8."""
    assert limited("abcdefgh", Limits(max_chars=4, keep_tail=keep_tail)) == cut


def test_overflow_to_a_place_of_the_callers() -> None:
    """F-TOOL-8."""
    kept: list[str] = []

    def keep(text: str) -> str:
        kept.append(text)
        return "drawer 3"

    said = limited("x" * 10, Limits(max_chars=2, overflow=keep))
    assert "all 10 are in drawer 3 …]" in said
    assert kept == ["x" * 10]
    assert "all" not in limited("x" * 10, Limits(max_chars=2, overflow=lambda text: ""))


@pytest.mark.parametrize("error", [OSError("disk full"), ValueError("a mistake of the caller's")])
def test_a_place_that_fails(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """F-TOOL-8: what there is room for is still worth having."""

    def fail(text: str) -> str:
        raise error

    with caplog.at_level(logging.WARNING, "mcpclient.adapters"):
        said = limited("x" * 10, Limits(max_chars=2, overflow=fail))
    assert said == "xx\n\n[… 8 characters left out …]\n\n"
    assert caplog.messages == [f"the whole text could not be kept: {type(error).__name__}"]


@pytest.mark.parametrize(
    "given_limits",
    [
        {"max_chars": -1},
        {"max_image_bytes": -1},
        {"keep_tail": 1.1},
        {"keep_tail": -0.1},
        {"overflow": "drop"},
        {"unknown": "show"},
    ],
)
def test_limits_that_make_no_sense(given_limits: dict[str, Any]) -> None:
    """F-TOOL-8."""
    with pytest.raises(UsageError):
        Limits(**given_limits)


def test_many_tokens_are_worth_a_warning() -> None:
    """F-TOOL-3: past 10,000 by a rough estimate."""
    assert token_warning("x" * 40_000) is None
    assert token_warning("x" * 40_004) == "the result has about 10,001 tokens"


@given(st.text(), st.integers(0, 50), st.floats(0, 1))
def test_nothing_is_said_twice(text: str, most: int, keep_tail: float) -> None:
    """F-TOOL-8: what stays is the limit, to the character."""
    said = limited(text, Limits(max_chars=most, keep_tail=keep_tail))
    head, _note, tail = said.partition("\n\n[… ")
    if len(text) > most:
        tail = tail.partition(" …]\n\n")[2] if "\n\n[… " not in text else ""
        assert text.startswith(head) or "\n\n[… " in text
        assert text.endswith(tail)
    else:
        assert said == text


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"content": [], "structuredContent": {"a": [1, "x"], "b": 2}}, "1\nx"),
        ({"content": [{"type": "text", "text": '{"a": [{"c": 1}]}'}]}, '{"c": 1}'),
        ({"content": [{"type": "text", "text": "plain"}]}, "plain"),
        ({"content": [], "structuredContent": {"a": 1}}, '{"a": 1}'),
        ({"content": [{"type": "text", "text": '{"a": [1]}'}], "isError": True}, '{"a": [1]}'),
    ],
)
def test_a_model_gets_the_parts_that_are_picked(content: dict[str, Any], expected: str) -> None:
    """F-SHOW-20: and all of it where the pick does not fit."""
    found = prepared(CallToolResult(content), Limits(pick="a[]"), MediaRules({}))
    assert found.text == expected


def test_a_pick_that_is_wrong_is_refused_at_once() -> None:
    """F-SHOW-20"""
    with pytest.raises(UsageError, match="column 3"):
        Limits(pick="a[")
