"""``ping``: whether the server answers."""

from __future__ import annotations

import re

import pytest

from tests.cli.in_process import ask


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_it_says_how_long_the_answer_took(revision: str) -> None:
    """F-SHOW-1"""
    answer = ask("ping", revision=revision)
    assert re.fullmatch(r"answered in \d+\.\d ms", answer.text)
    assert answer.raw["milliseconds"] >= 0
