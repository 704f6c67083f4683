"""Escaping of a server's strings for a terminal or a log.

An escape sequence could rewrite the screen, a bidirectional override could show a name as another
one, an invisible character could hide an instruction, a line feed could forge a line of a log.
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

_UNSAFE_ASCII = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_JOINERS = "\u200c\u200d"
_EMOJI_STYLES = "\ufe0e\ufe0f"
_KEYCAP = "\u20e3"
# Characters that are emoji only with a style, beside the symbols (categories So and Sm).
_STYLED_LETTERS = "\u203c\u2049\u2139\u3030"
# The first script that needs joiners is Arabic; a joiner between Latin letters only hides.
_FIRST_JOINED = 0x0600


def escape(text: str) -> str:
    r"""Return the text with all characters that a terminal obeys or hides written out: ``\x1b``.

    Line feeds and tabs stay; line ends become line feeds. So do the joiners inside of words and
    emoji that need them, and the one character that makes a symbol an emoji.
    """
    text = text.replace("\r\n", "\n")
    if text.isascii():
        return _UNSAFE_ASCII.sub(_written_out, text)
    unsafe = "".join(filter(_is_unsafe, set(text)))
    if not unsafe:
        return text
    return re.sub(f"[{re.escape(unsafe)}]", _written_out, text)


def escape_line(text: str) -> str:
    r"""Return the text as `escape` does, on one line: its line ends are written out, too."""
    return escape(text).replace("\n", r"\n")


@lru_cache(maxsize=4096)
def _is_unsafe(character: str) -> bool:
    if character in "\n\t":
        return False
    if unicodedata.category(character) in _UNSAFE_CATEGORIES:
        return True
    code = ord(character)
    return code & 0xFFFE == 0xFFFE or any(first <= code <= last for first, last in _INVISIBLE)


def _written_out(match: re.Match[str]) -> str:
    character = match.group()
    if _has_a_use(character, match.string, match.start()):
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _has_a_use(character: str, text: str, index: int) -> bool:
    """Whether an invisible character has an effect that the reader needs; two in a row never do."""
    before, after = text[max(index - 1, 0) : index], text[index + 1 : index + 2]
    if character in _JOINERS:
        if before == "\ufe0f":  # of an emoji; the style stands before the joiner
            before = text[max(index - 2, 0) : index - 1]
        return _may_be_joined(before) and _may_be_joined(after)
    if character not in _EMOJI_STYLES or not before:
        return False
    if after == _KEYCAP:
        return before in "#*0123456789"
    is_symbol = unicodedata.category(before) in ("So", "Sm") and not _is_unsafe(before)
    return is_symbol or before in _STYLED_LETTERS


def _may_be_joined(character: str) -> bool:
    if not character or ord(character) < _FIRST_JOINED or _is_unsafe(character):
        return False
    return unicodedata.category(character)[0] in "LMS"
