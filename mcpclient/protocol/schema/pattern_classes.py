"""Sets of characters, as the classes and escapes of regular expressions name them."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable

Test = Callable[[str], bool]


class CharacterSet:
    """Ranges of code points and tests of single characters, joined, and perhaps complemented."""

    __slots__ = ("_ends", "_starts", "negated", "ranges", "tests")

    def __init__(
        self,
        ranges: Iterable[tuple[int, int]],
        tests: Iterable[Test] = (),
        negated: bool = False,
    ) -> None:
        self.ranges: tuple[tuple[int, int], ...] = _merged(ranges)
        self.tests: tuple[Test, ...] = tuple(tests)
        self.negated: bool = negated
        self._starts = [start for start, _ in self.ranges]
        self._ends = [end for _, end in self.ranges]

    def complement(self) -> CharacterSet:
        """All characters that are not in this set."""
        return CharacterSet(self.ranges, self.tests, not self.negated)

    def contains(self, character: str) -> bool:
        """Whether the set holds this character."""
        code = ord(character)
        index = bisect_right(self._starts, code) - 1
        found = index >= 0 and code <= self._ends[index]
        if not found and self.tests:
            found = any(test(character) for test in self.tests)
        return found is not self.negated


def _merged(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def is_word_character(character: str) -> bool:
    r"""Whether ``\w`` matches; ``\b`` asks the same."""
    return character.isascii() and (character.isalnum() or character == "_")


# Source: ECMA-262, CharacterClassEscape, WhiteSpace and LineTerminator.
DIGIT = CharacterSet([(0x30, 0x39)])
WORD = CharacterSet([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
_SPACES = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"
SPACE = CharacterSet([(0x2000, 0x200A), *[(ord(space), ord(space)) for space in _SPACES]])
ANY_BUT_LINE_END = CharacterSet([(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)], negated=True)

# The long names of the general categories. Source: Unicode, PropertyValueAliases.txt.
_CATEGORY_NAMES = {
    "Other": "C", "Control": "Cc", "cntrl": "Cc", "Format": "Cf", "Unassigned": "Cn",
    "Private_Use": "Co", "Surrogate": "Cs", "Letter": "L", "Cased_Letter": "LC",
    "Lowercase_Letter": "Ll", "Modifier_Letter": "Lm", "Other_Letter": "Lo",
    "Titlecase_Letter": "Lt", "Uppercase_Letter": "Lu", "Mark": "M", "Combining_Mark": "M",
    "Spacing_Mark": "Mc", "Enclosing_Mark": "Me", "Nonspacing_Mark": "Mn", "Number": "N",
    "Decimal_Number": "Nd", "digit": "Nd", "Letter_Number": "Nl", "Other_Number": "No",
    "Punctuation": "P", "punct": "P", "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd",
    "Close_Punctuation": "Pe", "Final_Punctuation": "Pf", "Initial_Punctuation": "Pi",
    "Other_Punctuation": "Po", "Open_Punctuation": "Ps", "Symbol": "S", "Currency_Symbol": "Sc",
    "Modifier_Symbol": "Sk", "Math_Symbol": "Sm", "Other_Symbol": "So", "Separator": "Z",
    "Line_Separator": "Zl", "Paragraph_Separator": "Zp", "Space_Separator": "Zs",
}  # fmt: skip
_CATEGORIES = frozenset(_CATEGORY_NAMES.values())

_BINARY_PROPERTIES: dict[str, Test] = {
    "ASCII": str.isascii,
    "Any": lambda character: True,
    "Assigned": lambda character: unicodedata.category(character) != "Cn",
    "Lowercase": str.islower,
    "Lower": str.islower,
    "Uppercase": str.isupper,
    "Upper": str.isupper,
}


def property_test(expression: str) -> Test | None:
    r"""The test that ``\p{expression}`` stands for, or None when it is not known here.

    Known are the general categories under all their names and a few binary properties. Scripts
    are not: Python's Unicode database does not hold them.
    """
    name, equals, value = expression.partition("=")
    if equals:
        if name not in ("General_Category", "gc"):
            return None
        name = value
    elif name in _BINARY_PROPERTIES:
        return _BINARY_PROPERTIES[name]
    category = _CATEGORY_NAMES.get(name, name)
    if category not in _CATEGORIES:
        return None
    members = ("Lu", "Ll", "Lt") if category == "LC" else (category,)
    return lambda character: unicodedata.category(character).startswith(members)
