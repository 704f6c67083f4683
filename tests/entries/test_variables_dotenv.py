"""The lines of an .env file."""

from __future__ import annotations

import pytest
from hypothesis import given

from mcpclient.entries.variables import parse_dotenv
from tests.support.strategies import texts

TEXT = """\ufeff# comment
A=1
export B = two words # comment
C="a \\"b\\"\\n# c" # comment
D='$A \\n'
E=
F=a#b
G="open
not a line
"""


def test_lines() -> None:
    """F-MANY-8: envFile"""
    found, wrong = parse_dotenv(TEXT)
    assert found == {
        "A": "1",
        "B": "two words",
        "C": 'a "b"\n# c',
        "D": "$A \\n",
        "E": "",
        "F": "a#b",
        "G": '"open',
    }
    assert wrong == [9]


@pytest.mark.parametrize("sign", ["\u2028", "\x85", "\x0b", "\x0c"])
def test_only_the_end_of_a_line_ends_a_value(sign: str) -> None:
    """F-MANY-8"""
    assert parse_dotenv(f"A=1{sign}B=2\r\nC=3") == ({"A": f"1{sign}B=2", "C": "3"}, [])


@given(texts)
def test_any_text_is_read(text: str) -> None:
    found, wrong = parse_dotenv(text)
    assert len(found) + len(wrong) <= len(text.splitlines())
