r"""The grammar of ECMA-262 regular expressions, parsed into a tree.

Accepted is the grammar of the ``u`` flag, plus what patterns in the wild rely on: a punctuation
character may be escaped needlessly, and ``{``, ``}`` and ``]`` may stand for themselves. Back
references are refused, because no algorithm is known that checks them in bounded time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from string import ascii_letters, digits
from typing import NamedTuple, Union

Test = Callable[[str], bool]


class CharacterSet(NamedTuple):
    """Single characters and tests of one, joined, and perhaps complemented."""

    characters: frozenset[str] = frozenset()
    tests: tuple[Test, ...] = ()
    negated: bool = False

    def contains(self, character: str) -> bool:
        """Whether the set holds this character."""
        found = character in self.characters or any(test(character) for test in self.tests)
        return found is not self.negated


# Source: ECMA-262, CharacterClassEscape, WhiteSpace and LineTerminator.
_SPACES = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"
_CLASSES = {
    "d": frozenset(digits),
    "s": frozenset((*_SPACES, *map(chr, range(0x2000, 0x200B)))),
    "w": frozenset((*ascii_letters, *digits, "_")),
}
_ANY_BUT_LINE_END = CharacterSet(frozenset("\n\r\u2028\u2029"), negated=True)

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

_MAX_NESTING = 50
_MAX_COUNT_DIGITS = 6
_QUANTIFIER = re.compile(r"[*+?]|\{([0-9]+)(,?)([0-9]*)\}")
_SHORT_QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
# How a group may begin behind its parenthesis: a look, or a name that is not used.
_GROUP = re.compile(r"\?(?::|(<?)([=!])|<([^>]*)>)")
# An escape behind its backslash.
_ESCAPE = re.compile(
    r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,8})\}|[pP]\{([^}]*)\}|c([A-Za-z])"
    r"|[dDsSwWtnvfr]|0(?!\d)|[^A-Za-z0-9]"
)
_SECOND_HALF = re.compile(r"[dD][c-fC-F][0-9A-Fa-f]{2}")
_ESCAPES: dict[str, str | CharacterSet] = {
    **{"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "0": "\0"},
    **{letter: CharacterSet(members) for letter, members in _CLASSES.items()},
    **{letter.upper(): CharacterSet(members, (), True) for letter, members in _CLASSES.items()},
}
_NO_DIGITS = "hexadecimal digits are missing"
_NO_PROPERTY = "\\p needs the name of a property in braces"
_BROKEN_ESCAPES = {"x": _NO_DIGITS, "u": _NO_DIGITS, "p": _NO_PROPERTY, "P": _NO_PROPERTY}
_LAST_CODE = 0x10FFFF


class PatternError(Exception):
    """The pattern cannot be used; ``str()`` is the reason."""


class Concatenation(NamedTuple):
    """One part after the other; without parts, the empty text."""

    parts: tuple[Expression, ...]


class Choice(NamedTuple):
    """Any one of these."""

    options: tuple[Expression, ...]


class Repeat(NamedTuple):
    """A part, at least and at most so often; ``most`` is None without an upper bound."""

    part: Expression
    least: int
    most: int | None


class Boundary(NamedTuple):
    r"""A place in the text: ``^`` the start, ``$`` the end, ``\b`` the edge of a word."""

    kind: str
    expected: bool = True


class Look(NamedTuple):
    """A look ahead or behind, which matches a place in the text and consumes nothing."""

    part: Expression
    behind: bool
    expected: bool


Expression = Union[CharacterSet, Concatenation, Choice, Repeat, Boundary, Look]


def parse_pattern(text: str) -> Expression:
    """The tree of a pattern. Raises `PatternError` with a reason that names the position."""
    parser = _Parser(text)
    expression = parser.alternatives()
    if parser.position < len(text):
        raise parser.error("nothing opens this parenthesis")
    return expression


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._nesting = 0

    def error(self, reason: str) -> PatternError:
        return PatternError(f"{reason}, at character {self.position} of the pattern")

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _next(self) -> str:
        character = self._peek()
        if not character:
            raise self.error("the pattern ends too early")
        self.position += 1
        return character

    def _skip(self, expected: str) -> bool:
        if self.text.startswith(expected, self.position):
            self.position += len(expected)
            return True
        return False

    def alternatives(self) -> Expression:
        options = [self._sequence()]
        while self._skip("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Expression:
        parts: list[Expression] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(self._term()))
        return parts[0] if len(parts) == 1 else Concatenation(tuple(parts))

    def _repeated(self, part: Expression) -> Expression:
        bounds = self._quantifier()
        if bounds is None:
            return part
        if isinstance(part, (Boundary, Look)):
            raise self.error("a place in the text cannot be repeated")
        self._skip("?")  # a reluctant quantifier matches the same strings
        if self._quantifier() is not None:
            raise self.error("a quantifier follows a quantifier")
        return Repeat(part, *bounds)

    def _quantifier(self) -> tuple[int, int | None] | None:
        found = _QUANTIFIER.match(self.text, self.position)
        if found is None:  # then a brace stands for itself
            return None
        self.position = found.end()
        if found[0] in _SHORT_QUANTIFIERS:
            return _SHORT_QUANTIFIERS[found[0]]
        least, comma, most = found.groups()
        if max(len(least), len(most)) > _MAX_COUNT_DIGITS:
            raise self.error("the count of a repetition is too large")
        if not comma:
            return int(least), int(least)
        if most and int(most) < int(least):
            raise self.error("the counts of a repetition are out of order")
        return int(least), int(most) if most else None

    def _term(self) -> Expression:
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escape()
        if character == ".":
            return _ANY_BUT_LINE_END
        if character in "^$":
            return Boundary(character)
        if character in "*+?":
            raise self.error("there is nothing to repeat")
        return _as_set(character)

    def _group(self) -> Expression:
        self._nesting += 1
        if self._nesting > _MAX_NESTING:
            raise self.error(f"groups are nested over {_MAX_NESTING} deep")
        opening = _GROUP.match(self.text, self.position)
        behind, sign, name = opening.groups() if opening is not None else (None, None, None)
        if self._peek() == "?" and (
            opening is None or (name is not None and not name.replace("$", "_").isidentifier())
        ):
            raise self.error("'(?' begins no group of ECMA-262")
        self.position = self.position if opening is None else opening.end()
        part = self.alternatives()
        if not self._skip(")"):
            raise self.error("a parenthesis is not closed")
        self._nesting -= 1
        if sign is not None:
            return Look(part, bool(behind), sign == "=")
        # Within a group of its own even a place may be repeated.
        return Concatenation((part,)) if isinstance(part, (Boundary, Look)) else part

    def _class(self) -> CharacterSet:
        negated = self._skip("^")
        characters: set[str] = set()
        tests: list[Test] = []
        while not self._skip("]"):
            first = self._class_atom()
            if self._peek() == "-" and self.text[self.position + 1 : self.position + 2] != "]":
                self.position += 1
                tests.append(self._range(first, self._class_atom()))
            elif isinstance(first, str):
                characters.add(first)
            else:
                tests.append(first.contains)
        return CharacterSet(frozenset(characters), tuple(tests), negated)

    def _range(self, first: str | CharacterSet, last: str | CharacterSet) -> Test:
        if not isinstance(first, str) or not isinstance(last, str):
            raise self.error("a class of characters cannot bound a range")
        if last < first:
            raise self.error("the bounds of a range are out of order")
        return lambda character: first <= character <= last

    def _class_atom(self) -> str | CharacterSet:
        character = self._next()
        if character != "\\":
            return character
        return "\b" if self._skip("b") else self._character_escape()

    def _escape(self) -> Expression:
        if self._skip("b"):
            return Boundary("b")
        if self._skip("B"):
            return Boundary("b", expected=False)
        if self._peek() in "123456789k" and self._peek():
            raise PatternError("back references cannot be checked in bounded time")
        return _as_set(self._character_escape())

    def _character_escape(self) -> str | CharacterSet:
        found = _ESCAPE.match(self.text, self.position)
        if found is None:
            kind = self._next()
            raise self.error(_BROKEN_ESCAPES.get(kind, f"\\{kind} is not an escape of ECMA-262"))
        self.position = found.end()
        byte, unit, code, name, letter = found.groups()
        if name is not None:
            return CharacterSet(tests=(_property_test(name),), negated=found[0][0] == "P")
        if letter is not None:
            return chr(ord(letter) % 32)
        if byte or unit or code:
            return self._character(int(byte or unit or code, 16), bool(unit))
        return _ESCAPES.get(found[0], found[0])

    def _character(self, code: int, is_unit: bool) -> str:
        if code > _LAST_CODE:
            raise self.error("this is not a code point")
        if is_unit and 0xD800 <= code < 0xDC00 and self._skip("\\u"):
            low = _SECOND_HALF.match(self.text, self.position)
            if low is None:
                raise self.error("this is not the second half of a surrogate pair")
            self.position = low.end()
            code = 0x10000 + (code - 0xD800) * 0x400 + int(low[0], 16) - 0xDC00
        return chr(code)


def _property_test(expression: str) -> Test:
    r"""Return the test that ``\p{expression}`` stands for: a general category, by any of its names.

    Scripts and other properties are not known: Python's Unicode database does not hold them.
    """
    kind, equals, value = expression.partition("=")
    name = value if equals and kind in ("General_Category", "gc") else expression
    category = _CATEGORY_NAMES.get(name, name)
    if category not in _CATEGORIES:
        raise PatternError(f"the Unicode property {expression!r} is not supported")
    members = ("Lu", "Ll", "Lt") if category == "LC" else (category,)
    return lambda character: unicodedata.category(character).startswith(members)


def _as_set(part: str | CharacterSet) -> CharacterSet:
    return CharacterSet(frozenset(part)) if isinstance(part, str) else part
