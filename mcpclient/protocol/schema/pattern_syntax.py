r"""The grammar of ECMA-262 regular expressions, parsed into a tree.

Accepted is the grammar of the ``u`` flag, plus what patterns in the wild rely on: a punctuation
character may be escaped needlessly, and ``{``, ``}`` and ``]`` may stand for themselves. Back
references are refused, because no algorithm is known that checks them in bounded time.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import NamedTuple, Union

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


_MAX_NESTING = 50
_MAX_COUNT_DIGITS = 6
_COUNTS = re.compile(r"\{([0-9]+)(,?)([0-9]*)\}")
_CLASS_ESCAPES = {
    "d": DIGIT,
    "D": DIGIT.complement(),
    "s": SPACE,
    "S": SPACE.complement(),
    "w": WORD,
    "W": WORD.complement(),
}
_CONTROL_ESCAPES = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
_LAST_CODE = 0x10FFFF


class PatternError(Exception):
    """The pattern is not an expression that can be checked; ``str()`` says why."""


class UncheckablePattern(PatternError):
    """The pattern may well be an expression, but no automaton can be built for it."""


class Sequence(NamedTuple):
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


Expression = Union[CharacterSet, Sequence, Choice, Repeat, Boundary, Look]


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

    def _take(self) -> str:
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
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeated(self, part: Expression) -> Expression:
        bounds = self._quantifier()
        if bounds is None:
            return part
        if isinstance(part, (Boundary, Look)):
            raise self.error("a place in the text cannot be repeated")
        self._skip("?")  # a lazy quantifier matches the same strings
        if self._quantifier() is not None:
            raise self.error("a quantifier follows a quantifier")
        return Repeat(part, *bounds)

    def _quantifier(self) -> tuple[int, int | None] | None:
        if self._skip("*"):
            return 0, None
        if self._skip("+"):
            return 1, None
        if self._skip("?"):
            return 0, 1
        counts = _COUNTS.match(self.text, self.position)
        if counts is None:  # then the brace stands for itself
            return None
        least, comma, most = counts.groups()
        if max(len(least), len(most)) > _MAX_COUNT_DIGITS:
            raise self.error("the count of a repetition is too large")
        self.position = counts.end()
        if not comma:
            return int(least), int(least)
        if most and int(most) < int(least):
            raise self.error("the counts of a repetition are out of order")
        return int(least), int(most) if most else None

    def _term(self) -> Expression:
        character = self._take()
        if character == "(":
            return self._group()
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escape()
        if character == ".":
            return ANY_BUT_LINE_END
        if character in "^$":
            return Boundary(character)
        if character in "*+?":
            raise self.error("there is nothing to repeat")
        return _single(character)

    def _group(self) -> Expression:
        self._nesting += 1
        if self._nesting > _MAX_NESTING:
            raise self.error(f"groups are nested over {_MAX_NESTING} deep")
        look = self._look()
        if look is None and self._skip("?") and not self._skip(":"):
            self._group_name()
        part = self.alternatives()
        if not self._skip(")"):
            raise self.error("a parenthesis is not closed")
        self._nesting -= 1
        if look is not None:
            return Look(part, *look)
        # Within a group of its own even a place may be repeated.
        return Sequence((part,)) if isinstance(part, (Boundary, Look)) else part

    def _look(self) -> tuple[bool, bool] | None:
        for opening, behind, expected in (
            ("?=", False, True),
            ("?!", False, False),
            ("?<=", True, True),
            ("?<!", True, False),
        ):
            if self._skip(opening):
                return behind, expected
        return None

    def _group_name(self) -> None:
        end = self.text.find(">", self.position)
        name = self.text[self.position + 1 : max(end, 0)].replace("$", "_")
        if not self._skip("<") or not name.isidentifier():
            raise self.error("'(?' begins no group of ECMA-262")
        self.position = end + 1

    def _class(self) -> CharacterSet:
        negated = self._skip("^")
        members: list[CharacterSet] = []
        while not self._skip("]"):
            first = self._class_atom()
            if self._peek() == "-" and self.text[self.position + 1 : self.position + 2] != "]":
                self.position += 1
                first = self._range(first, self._class_atom())
            members.append(first)
        return _union(members, negated)

    def _range(self, first: CharacterSet, last: CharacterSet) -> CharacterSet:
        start, end = _code_of(first), _code_of(last)
        if start is None or end is None:
            raise self.error("a class of characters cannot bound a range")
        if end < start:
            raise self.error("the bounds of a range are out of order")
        return CharacterSet([(start, end)])

    def _class_atom(self) -> CharacterSet:
        character = self._take()
        if character != "\\":
            return _single(character)
        if self._skip("b"):
            return _single("\b")
        return self._character_escape()

    def _escape(self) -> Expression:
        if self._skip("b"):
            return Boundary("b")
        if self._skip("B"):
            return Boundary("b", expected=False)
        if self._peek() in "123456789k" and self._peek():
            raise UncheckablePattern("back references cannot be checked in bounded time")
        return self._character_escape()

    def _character_escape(self) -> CharacterSet:
        kind = self._take()
        if kind in _CLASS_ESCAPES:
            return _CLASS_ESCAPES[kind]
        if kind in "pP":
            return self._property(negated=kind == "P")
        return _single(self._escaped_character(kind))

    def _escaped_character(self, kind: str) -> str:
        if kind in _CONTROL_ESCAPES:
            return _CONTROL_ESCAPES[kind]
        if kind == "c" and self._peek().isalpha() and self._peek().isascii():
            return chr(ord(self._take()) % 32)
        if kind == "0" and not self._peek().isdigit():
            return "\0"
        if kind == "x":
            return chr(self._hexadecimal(2))
        if kind == "u":
            return self._unicode_escape()
        if kind.isalnum() and kind.isascii():
            raise self.error(f"\\{kind} is not an escape of ECMA-262")
        return kind

    def _unicode_escape(self) -> str:
        if self._skip("{"):
            end = self.text.find("}", self.position)
            code = self._hexadecimal(end - self.position)
            if code > _LAST_CODE or not self._skip("}"):
                raise self.error("this is not a code point")
            return chr(code)
        code = self._hexadecimal(4)
        if 0xD800 <= code < 0xDC00 and self._skip("\\u"):
            low = self._hexadecimal(4)
            if not 0xDC00 <= low < 0xE000:
                raise self.error("this is not the second half of a surrogate pair")
            return chr(0x10000 + (code - 0xD800) * 0x400 + low - 0xDC00)
        return chr(code)

    def _hexadecimal(self, digits: int) -> int:
        text = self.text[self.position : self.position + max(digits, 0)]
        if not text or len(text) != digits or digits > 8 or text.strip(_HEXADECIMAL):
            raise self.error("hexadecimal digits are missing")
        self.position += digits
        return int(text, 16)

    def _property(self, negated: bool) -> CharacterSet:
        end = self.text.find("}", self.position)
        if not self._skip("{") or end < 0:
            raise self.error("\\p needs the name of a property in braces")
        name = self.text[self.position : end]
        test = property_test(name)
        if test is None:
            raise UncheckablePattern(f"the Unicode property {name!r} is not supported")
        self.position = end + 1
        return CharacterSet((), (test,), negated)


_HEXADECIMAL = "0123456789abcdefABCDEF"


def _single(character: str) -> CharacterSet:
    return CharacterSet([(ord(character), ord(character))])


def _code_of(single: CharacterSet) -> int | None:
    """The code point of a set that was written as one character."""
    if single.tests or single.negated or len(single.ranges) != 1:
        return None
    start, end = single.ranges[0]
    return start if start == end else None


def _union(members: list[CharacterSet], negated: bool) -> CharacterSet:
    plain = [member for member in members if not member.tests and not member.negated]
    others = [member.contains for member in members if member.tests or member.negated]
    return CharacterSet([bounds for member in plain for bounds in member.ranges], others, negated)
