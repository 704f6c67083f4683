"""The size of a result that a model gets."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mcpclient.adapters.limits import Limits, MediaRules, limited
from mcpclient.adapters.parts import prepared
from mcpclient.errors import UsageError
from mcpclient.protocol.types import CallToolResult
from tests.support.tables import each_row


@pytest.mark.parametrize("error", [OSError("disk full"), ValueError("a mistake of the caller's")])
def test_a_place_that_fails(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """F-TOOL-8: what there is room for is still worth having."""

    def fail(text: str) -> str:
        raise error

    with caplog.at_level(logging.WARNING, "mcpclient.adapters"):
        said = limited("x" * 10, Limits(max_chars=2, overflow=fail))
    assert said == "xx\n\n[… 8 characters left out …]\n\n"
    assert caplog.messages == [f"the whole text could not be kept: {type(error).__name__}"]


@each_row(
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


@each_row(
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
