"""Characters that no reader can see, in the strings of a server.

They can hide an instruction from the user that a model reads, or show a name as another one.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# Control, format, surrogate and private characters; separators of lines and of paragraphs.
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})

# Invisible characters of other categories, ends included. First Default_Ignorable_Code_Point
# (DerivedCoreProperties.txt: variation selectors, fillers, a joiner, code points reserved for
# more), then the blanks that are not spaces, then the noncharacters.
_INVISIBLE = (
    *((0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2060, 0x206F)),
    *((0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF)),
    (0x2800, 0x2800),  # Braille without a dot
    (0x13441, 0x13442),  # Egyptian blanks
    (0x16FE4, 0x16FE4),  # Khitan filler
    (0x1D159, 0x1D159),  # a note without a head
    (0xFDD0, 0xFDEF),
)

_JOINERS = "\u200c\u200d"
_EMOJI_STYLES = "\ufe0e\ufe0f"
_KEYCAP = "\u20e3"
# Characters that are emoji only with a style, beside the symbols (categories So and Sm).
_STYLED_LETTERS = "\u203c\u2049\u2139\u3030"
# The first script that needs joiners is Arabic; a joiner between Latin letters only hides.
_FIRST_JOINED = 0x0600


# The flags of England, Scotland and Wales are spelled with tag characters, and end with one.
_FLAGS = tuple(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)
# Unsafe for a terminal, but not invisible: whoever reads them sees that something is there.
_SHOWN_CATEGORIES = frozenset({"Co", "Cs", "Zl", "Zp"})
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Invisible:
    """An invisible character, and its position in the string, counted from 0."""

    def __init__(self, position: int, character: str) -> None:
        self.position: int = position
        self.character: str = character

    def __str__(self) -> str:
        name = unicodedata.name(self.character, "")
        return " ".join(filter(None, (f"U+{ord(self.character):04X}", name, f"at {self.position}")))


def find_invisible(text: str) -> list[Invisible]:
    """Return the characters of a string that no reader can see.

    Not among them are white space, the joiners inside of words and emoji, and the one selector that
    makes a symbol an emoji.
    """
    if text.isascii():
        return [Invisible(match.start(), match.group()) for match in CONTROLS.finditer(text)]
    hidden = set(filter(_is_invisible, set(text)))
    if not hidden:
        return []
    return [
        Invisible(index, character)
        for index, character in enumerate(text)
        if character in hidden and not has_a_use(character, text, index)
    ]


def without_invisible(text: str) -> str:
    """Return a string without the characters of `find_invisible`."""
    found = {each.position for each in find_invisible(text)}
    if not found:
        return text
    return "".join(each for index, each in enumerate(text) if index not in found)


@lru_cache(maxsize=4096)
def is_unsafe(character: str) -> bool:
    """Whether a terminal obeys or hides a character, where it stands alone."""
    if character in "\n\t":
        return False
    if unicodedata.category(character) in _UNSAFE_CATEGORIES:
        return True
    code = ord(character)
    return code & 0xFFFE == 0xFFFE or any(first <= code <= last for first, last in _INVISIBLE)


def _is_invisible(character: str) -> bool:
    is_shown = character == "\r" or unicodedata.category(character) in _SHOWN_CATEGORIES
    return not is_shown and is_unsafe(character)


def has_a_use(character: str, text: str, index: int) -> bool:
    """Whether an invisible character has an effect that the reader needs; two in a row never do.

    Except for the tags in three flags.
    """
    if "\U000e0020" <= character <= "\U000e007f":
        length = len(_FLAGS[0])
        starts = range(max(index - length + 1, 0), index)
        return any(text.startswith(_FLAGS, start) for start in starts)
    before, after = text[max(index - 1, 0) : index], text[index + 1 : index + 2]
    if character in _JOINERS:
        if before == "\ufe0f":  # of an emoji; the style stands before the joiner
            before = text[max(index - 2, 0) : index - 1]
        return _may_be_joined(before) and _may_be_joined(after)
    if character not in _EMOJI_STYLES or not before:
        return False
    if after == _KEYCAP:
        return before in "#*0123456789"
    is_symbol = unicodedata.category(before) in ("So", "Sm") and not is_unsafe(before)
    return is_symbol or before in _STYLED_LETTERS


def _may_be_joined(character: str) -> bool:
    if not character or ord(character) < _FIRST_JOINED or is_unsafe(character):
        return False
    return unicodedata.category(character)[0] in "LMS"
