"""A server's words are harmless when it reaches a terminal or a log: F-SHOW-3."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.framing.escaping import escape, escape_line
from tests.support.properties import examples


@pytest.mark.parametrize(
    "text",
    [
        "two\nlines\tand a tab",
        "Grüße, 世界",
        "\u3000全角\xa0« oui »",
        "👩\u200d🔬 می\u200cخواهم क्\u200dष",
        "\u2764\ufe0f\u200d🔥 1\ufe0f\u20e3 \u2139\ufe0f",
    ],
)
def test_what_is_harmless_stays(text: str) -> None:
    """F-SHOW-3: also the joiners in emoji, in Persian and in Hindi, and the style of an emoji."""
    assert escape(text) == text


# Default_Ignorable_Code_Point of Unicode 15.1, and the blanks among the characters that are none.
INVISIBLE = [
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810)),
    *(*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0x3164),
    *(*range(0xFE00, 0xFE10), 0xFEFF, 0xFFA0, *range(0xFFF0, 0xFFFC)),
    *(*range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000)),
    *(0x2800, 0x1D159, 0x16FE4, 0x13441, 0xFFFE, 0xFFFF, 0x10FFFF, 0xFDD0, 0xE000, 0xF0000),
]


def test_between_latin_letters_none_of_them_passes() -> None:
    """F-SHOW-3"""
    assert [hex(code) for code in INVISIBLE if not escape(f"pay{chr(code)}pal").isascii()] == []


def test_a_line_for_a_log_stays_one_line() -> None:
    """F-SHOW-3: a server cannot forge a line of a log."""
    shown = escape_line("ok\nINFO root: all is well\r\nx\ry\x85z\u2028\tend")
    assert shown == r"ok\nINFO root: all is well\nx\x0dy\x85z\u2028" + "\tend"
    assert len(shown.splitlines()) == 1


@examples(60)
@given(st.text(st.characters(exclude_categories=())))
def test_no_control_character_ever_passes(text: str) -> None:
    """F-SHOW-3: whatever the text."""
    assert all(character in "\n\t" or character >= " " for character in escape(text))
    escape(text).encode("utf-8")
    assert len(escape_line(text).splitlines()) <= 1
