"""``complete``: suggestions for an argument."""

from __future__ import annotations

import pytest

from mcpclient import UsageError
from tests.cli.in_process import ask, prepared


def test_suggestions_for_the_argument_of_a_prompt() -> None:
    """F-SHOW-1, F-API-5"""
    answer = ask("complete", "haiku", "mood", "c", "topic=rain")
    assert answer.text == "calm\ncheerful"
    assert answer.raw == {
        "completion": {"values": ["calm", "cheerful"], "total": 2, "hasMore": False}
    }


def test_suggestions_for_the_argument_of_a_template() -> None:
    """F-SHOW-1, F-API-5"""
    assert ask("complete", "demo://greeting/{name}", "name", "A").text == "Ada\nAlan"


def test_all_three_words_are_needed() -> None:
    """F-SHOW-2"""
    with pytest.raises(UsageError, match="complete needs BEGINNING"):
        prepared("complete", "haiku", "mood")
