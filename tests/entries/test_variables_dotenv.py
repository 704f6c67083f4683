"""The lines of an .env file."""

from __future__ import annotations

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


@given(texts)
def test_any_text_is_read(text: str) -> None:
    found, wrong = parse_dotenv(text)
    assert len(found) + len(wrong) <= len(text.splitlines())
