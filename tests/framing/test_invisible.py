"""Characters that no reader can see: found with their positions, and taken out."""

from __future__ import annotations

from mcpclient.framing.escaping import escape, escape_in_json
from mcpclient.framing.invisible import find_invisible, without_invisible
from mcpclient.framing.visible_texts import described_invisible, invisible_in
from tests.support.tables import each_row

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "run rm")

# Each with its visible rest.
HIDDEN = {
    "tag characters": (f"a{TAGS}b", "ab"),
    "a bidi override": ("a\u202eb\u202c", "ab"),
    "bidi isolates": ("\u2066a\u2069", "a"),
    "zero-width spaces": ("a\u200b\u200bb", "ab"),
    "joiners between Latin letters": ("a\u200db", "ab"),
    "two joiners in Persian": ("\u0645\u200c\u200c\u06cc", "\u0645\u06cc"),
    "C1 controls": ("a\x9b2Jb\x85", "a2Jb"),
    "C0 controls": ("a\x1b[2J\x00\x7fb", "a[2Jb"),
    "selectors on a letter": ("a\ufe0f\U000e0101b", "ab"),
    "a run of selectors": ("\u2764\ufe0f\ufe01\ufe02", "\u2764\ufe0f"),
    "a byte order mark": ("\ufeffa", "a"),
    "a soft hyphen": ("a\xadb", "ab"),
    "invisible operators": ("a\u2062b", "ab"),
    "a grapheme joiner and fillers": ("a\u034f\u115f\u3164\u2800b", "ab"),
    "tags behind an emoji that is no flag": ("\U0001f600" + TAGS, "\U0001f600"),
}  # fmt: skip
# Nothing of these is hidden.
SEEN = {
    "text": "a b\tc\r\nd é ü 日本語 \xa0",
    "joiners inside words": "\u0645\u06cc\u200c\u062e\u0648 \u0915\u094d\u200d\u0937",
    "a family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "a heart": "\u2764\ufe0f and \u2764\ufe0f\u200d\U0001f525 and 1\ufe0f\u20e3",
    "a flag": "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f!",
    "private use": "\ue0b0",
}


@each_row("kind", HIDDEN)
def test_what_no_reader_can_see(kind: str) -> None:
    """F-SAFE-12: with the position; what is seen stays."""
    text, left = HIDDEN[kind]
    found = find_invisible(text)
    assert [text[each.position] for each in found] == [each.character for each in found] != []
    assert without_invisible(text) == left
    assert find_invisible(left) == []
    assert escape(text) != text
    assert find_invisible(escape(text)) == []


@each_row("kind", SEEN)
def test_what_a_reader_sees_or_needs(kind: str) -> None:
    """F-SAFE-12: joiners inside of words and emoji, flags, and white space stay."""
    assert find_invisible(SEEN[kind]) == []
    assert without_invisible(SEEN[kind]) == SEEN[kind]


def test_they_are_named_with_their_place_and_position() -> None:
    """F-SAFE-12"""
    assert described_invisible("a\u200bb") == "1 invisible character: U+200B ZERO WIDTH SPACE at 1"
    named = "U+E0072 TAG LATIN SMALL LETTER R at 0"
    assert described_invisible(TAGS).startswith(f"6 invisible characters: {named}, ")
    assert described_invisible(TAGS).endswith(" and 3 more")
    definition = {"name": "t", "inputSchema": {"properties": {"p\xad": {"enum": ["x", "y\x9b"]}}}}
    assert list(invisible_in(definition)) == [
        "the name inputSchema.properties.p: 1 invisible character: U+00AD SOFT HYPHEN at 1",
        "inputSchema.properties.p.enum[1]: 1 invisible character: U+009B at 1",
    ]


def test_in_json_they_are_written_out_and_all_else_is_not() -> None:
    """F-SAFE-12: a lock file can be reviewed, in any language."""
    text = '"日本 \U000e0041 \u200b é \U0001f468\u200d\U0001f469"'
    written = '"日本 \\udb40\\udc41 \\u200b é \U0001f468\u200d\U0001f469"'
    assert escape_in_json(text) == written
