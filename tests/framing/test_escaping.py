"""What a server says is harmless when it reaches a terminal or a log."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpclient.framing.escaping import escape


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b]0;owned\x07", r"\x1b[2J\x1b]0;owned\x07"),
        ("progress 10%\rprogress 99%", r"progress 10%\x0dprogress 99%"),
        ("\x9b31m", r"\x9b31m"),
        ("\x7f\x00", r"\x7f\x00"),
        ("user\u202etxt.exe", r"user\u202etxt.exe"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("hidden\U000e0041", r"hidden\U000e0041"),
        ("half \ud83d", r"half \ud83d"),
        ("line\u2028separator", r"line\u2028separator"),
    ],
)
def test_what_a_terminal_would_act_upon_is_written_out(text: str, shown: str) -> None:
    """F-SHOW-3"""
    assert escape(text) == shown


@pytest.mark.parametrize("text", ["two\nlines\tand a tab", "Grüße, 世界", "👩‍🔬 می‌خواهم"])
def test_what_is_harmless_stays(text: str) -> None:
    """F-SHOW-3: also the joiners in emoji and in Persian."""
    assert escape(text) == text


def test_line_ends_of_windows_become_line_feeds() -> None:
    assert escape("a\r\nb") == "a\nb"


@settings(max_examples=60)
@given(st.text(st.characters(exclude_categories=())))
def test_no_control_character_ever_passes(text: str) -> None:
    """F-SHOW-3: whatever the text."""
    assert all(character in "\n\t" or character >= " " for character in escape(text))
    escape(text).encode("utf-8")
