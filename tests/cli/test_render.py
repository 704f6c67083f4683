"""What a server says is harmless when it reaches a terminal; tables are aligned."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.cli.render import (
    Style,
    contents,
    one_line,
    pretty_json,
    shorten,
    table,
    width_of,
)
from mcpclient.errors import ProtocolViolation
from mcpclient.protocol.types import ResourceContents, content_block
from tests.support.properties import examples

PLAIN = Style()


@examples(60)
@given(st.text(st.characters(exclude_categories=())))
def test_what_is_on_one_line_stays_there(text: str) -> None:
    """F-SHOW-3: whatever the text."""
    assert "\n" not in one_line(text)
    assert all(character >= " " for character in one_line(text))


def test_json_is_ascii_and_exact() -> None:
    """F-SHOW-2: nothing in it can reach a terminal, and nothing is lost."""
    value = {"text": "\x1b[31m\u202e\x9b\ud83d ü"}
    assert pretty_json(value).isascii()
    assert "\x1b" not in pretty_json(value)
    assert json.loads(pretty_json(value)) == value


def test_one_line_folds_white_space_and_takes_none() -> None:
    """F-SHOW-3"""
    assert one_line("  two\n  lines\x1b ") == r"two lines\x1b"
    assert one_line(None) == ""


def test_width_counts_the_columns_of_a_terminal() -> None:
    """F-SHOW-3"""
    assert width_of("abc") == 3
    assert width_of("世界") == 4
    assert width_of("e\u0301") == 1


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("short", 5, "short"),
        ("longer text", 8, "longer…"),
        ("世界世界", 6, "世界…"),
        ("世界", 4, "世界"),
    ],
)
def test_shorten_cuts_to_columns(text: str, columns: int, shown: str) -> None:
    """F-SHOW-3"""
    assert shorten(text, columns) == shown


def test_a_table_is_aligned_by_what_is_seen() -> None:
    """F-SHOW-3"""
    shown = table(("NAME", "WHAT"), [("世界", "world"), ("a", "letter")], PLAIN)
    assert shown == "NAME  WHAT\n世界  world\na     letter"


def test_a_table_without_header_or_rows() -> None:
    """F-SHOW-3"""
    assert table((), [("a", "b")], PLAIN) == "a  b"
    assert table((), [], PLAIN) == ""


def test_a_table_has_a_bold_header_and_is_never_cut() -> None:
    """F-SHOW-3: what stands in it is to be copied, and a terminal wraps it."""
    style = Style(colour=True, columns=20)
    shown = table(("N", "A", "WHAT"), [("name", "x" * 50, "word " * 30)], style).splitlines()
    assert shown[0] == "\x1b[1mN     A" + " " * 51 + "WHAT\x1b[0m"
    assert shown[1] == "name  " + "x" * 50 + "  " + " ".join(["word"] * 30)


def block(**fields: object) -> str:
    return contents([content_block(dict(fields))], PLAIN)


def test_text_is_shown_and_everything_else_is_noted() -> None:
    """F-SHOW-3"""
    assert block(type="text", text="a\x1b\n") == r"a\x1b"
    assert block(type="image", mimeType="image/png", data="AAAA") == "[image, image/png, 3 bytes]"
    assert block(type="audio", mimeType="audio/wav", data="AAAA") == "[audio, audio/wav, 3 bytes]"
    assert block(type="resource_link", uri="x://y", name="Y\x1b") == r"[resource, x://y, Y\x1b]"
    assert block(type="hologram") == "[hologram]"
    assert block() == "[content of no type]"


def test_embedded_resources_are_shown_like_resources() -> None:
    """F-SHOW-3"""
    assert block(type="resource", resource={"uri": "x://y", "text": "inside"}) == "inside"
    binary = ResourceContents({"uri": "x://y", "mimeType": "a/b", "blob": "AAAA"})
    assert contents([binary], PLAIN) == "[x://y, a/b, 3 bytes]"
    assert contents([binary], Style(colour=True)) == "\x1b[2m[x://y, a/b, 3 bytes]\x1b[0m"


def test_json_that_is_too_deep_is_one_error() -> None:
    """F-SHOW-2, F-WIRE-7"""
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ProtocolViolation, match="nested too deeply to show"):
        pretty_json(deep)
