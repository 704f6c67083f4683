"""Regular expressions: what they match, and that they always finish: F-API-17, F-SAFE-9."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.protocol.schema import SchemaError, compile_schema
from mcpclient.protocol.schema.pattern_syntax import PatternError
from mcpclient.protocol.schema.patterns import Pattern, PatternMemory
from tests.support.properties import examples
from tests.support.tables import each_row


class Meter:
    """Counts the work of a search."""

    def __init__(self) -> None:
        self.steps = 0

    def spend(self, steps: int) -> None:
        self.steps += steps


def matches(pattern: str, text: str) -> bool:
    return Pattern(pattern, 10_000).search(text, Meter().spend)


MATCHES: list[tuple[str, list[str], list[str]]] = [
    ("", ["", "a"], []),
    ("abc", ["xabcx"], ["ab", "acb"]),
    ("^a|b$", ["ax", "xb"], ["xax"]),
    ("^(a|)$", ["a", ""], ["b"]),
    ("^a*$", ["", "aaa"], ["b", "a\n"]),
    ("^a+?$", ["a", "aa"], [""]),
    ("^a?b$", ["b", "ab"], ["aab"]),
    ("^a{2}$", ["aa"], ["a", "aaa"]),
    ("^a{2,}$", ["aa", "aaa"], ["a"]),
    ("^a{1,2}?$", ["a", "aa"], ["", "aaa"]),
    ("^(ab){2}$", ["abab"], ["ab"]),
    ("^a{0}$", [""], ["a"]),
    ("^a{,2}$", ["a{,2}"], ["a"]),
    ("^{a}]$", ["{a}]"], []),
    ("^x{$", ["x{"], []),
    ("^(?:a|b)(?<name>c)$", ["ac", "bc"], ["c"]),
    ("^.$", ["a", "\U0001f600", "\x85"], ["\n", "\r", "\u2028", "\u2029", ""]),
    ("^[a-cx]$", ["a", "b", "x"], ["d", "-"]),
    ("^[^a-c]$", ["d", "\n"], ["a"]),
    ("^[a-]$", ["a", "-"], ["b"]),
    ("^[-a]$", ["a", "-"], ["b"]),
    (r"^[\w-]$", ["-", "a"], ["+"]),
    (r"^[\]\\^]$", ["]", "\\", "^"], ["["]),
    ("^[]$", [], ["", "a"]),
    ("^[^]$", ["a", "\n"], [""]),
    (r"^[\b]$", ["\b"], ["b"]),
    (r"^[\d\s]$", ["1", " "], ["a"]),
    (r"^[^\D]$", ["1"], ["a"]),
    (r"^[\D1]$", ["1", "a"], ["2"]),
    (r"^\d\D$", ["1a"], ["11", "\u0663a"]),
    (r"^\w\W$", ["_-"], ["\xe9-"]),
    (r"^\s\S$", ["\ufeffa", "\u2003a", "\n1"], ["aa", "\u200ba"]),
    (r"^\t\n\v\f\r\0$", ["\t\n\v\f\r\0"], []),
    (r"^\cA\cz$", ["\x01\x1a"], []),
    (r"^\x41\u0042\u{1F600}$", ["AB\U0001f600"], []),
    (r"^\ud83d\ude00$", ["\U0001f600"], []),
    (r"^\ud83dx$", ["\ud83dx"], []),
    (r"^\.\/\-\"\@$", ['./-"@'], []),
    (r"^\p{L}\p{Lu}\P{Lu}$", ["éÉé"], ["1Éé"]),
    (r"^\p{Letter}\p{gc=Nd}\p{General_Category=Punctuation}$", ["π৪!"], ["1"]),
    (r"^\p{LC}$", ["a"], ["ª", "1"]),
    (r"^[\p{L}\d]$", ["é", "1"], ["-"]),
    (r"\bcat\b", ["a cat.", "cat"], ["concat", "cats"]),
    (r"^\B$", [""], []),
    (r"a\Ba", ["aa"], ["a a"]),
    (r"^\b-", [], ["-"]),
    ("^(?=.*[A-Z])(?=.*[0-9]).{4,}$", ["aB1c"], ["ab1c", "aBcd", "B1c"]),
    ("^(?!-)[a-z-]+$", ["a-b"], ["-ab"]),
    ("^[a-z-]+(?<!-)$", ["a-b"], ["ab-"]),
    ("(?<=a)b", ["ab"], ["b", "cb"]),
    ("^(?=(?!ab)a(?=c))", ["ac"], ["ab", "ad"]),
    ("^(?:(?=a)[ab]){2}$", ["aa"], ["ab"]),
    (r"(?=\bx$)", ["a x"], ["ax", "x a"]),
    ("^(?:(?:^)?a)*$", ["aaa", ""], ["b"]),
    ("^((a*)*)*$", ["aaa"], ["b"]),
    ("^(?:(?:){999999}){999999}$", [""], ["a"]),
]


@each_row(("pattern", "yes", "no"), MATCHES)
def test_matches(pattern: str, yes: list[str], no: list[str]) -> None:
    """F-API-17: the expressions of ECMA-262, as far as they are regular and beyond."""
    for text in yes:
        assert matches(pattern, text), text
    for text in no:
        assert not matches(pattern, text), text


REFUSED: list[tuple[str, str]] = [
    ("(", "a parenthesis is not closed, at character 1"),
    ("a)", "nothing opens this parenthesis, at character 1"),
    ("[a", "the pattern ends too early"),
    ("*", "there is nothing to repeat"),
    ("a**", "a quantifier follows a quantifier"),
    ("^*", "a place in the text cannot be repeated"),
    ("(?=a)*", "a place in the text cannot be repeated"),
    ("a{3,2}", "the counts of a repetition are out of order"),
    ("a{9999999}", "the count of a repetition is too large"),
    ("a{999999}", "too large once its repetitions are unrolled"),
    ("(?=a{9999})(?=a{9999})", "too large once its repetitions are unrolled"),
    ("(?P<x>a)", "'(?' begins no group of ECMA-262"),
    ("(?<1>a)", "'(?' begins no group of ECMA-262"),
    ("(?<a", "'(?' begins no group of ECMA-262"),
    ("[z-a]", "the bounds of a range are out of order"),
    (r"[\d-z]", "a class of characters cannot bound a range"),
    (r"[a-\w]", "a class of characters cannot bound a range"),
    (r"[\p{L}-z]", "a class of characters cannot bound a range"),
    (r"\a", r"\a is not an escape of ECMA-262"),
    (r"\Z", r"\Z is not an escape of ECMA-262"),
    (r"\c1", r"\c is not an escape"),
    (r"\01", r"\0 is not an escape"),
    (r"\x4", "hexadecimal digits are missing"),
    (r"\u12_4", "hexadecimal digits are missing"),
    (r"\u{}", "hexadecimal digits are missing"),
    (r"\u{12", "hexadecimal digits are missing"),
    (r"\u{110000}", "this is not a code point"),
    (r"\ud83d\u0041", "this is not the second half of a surrogate pair"),
    (r"\p", "needs the name of a property in braces"),
    (r"\p{L", "needs the name of a property in braces"),
    (r"\p{Script=Greek}", "the Unicode property 'Script=Greek' is not supported"),
    (r"\p{Nonsense}", "the Unicode property 'Nonsense' is not supported"),
    (r"\p{ASCII}", "the Unicode property 'ASCII' is not supported"),
    (r"(a)\1", "back references cannot be checked in bounded time"),
    (r"(?<x>a)\k<x>", "back references cannot be checked in bounded time"),
    ("\\", "the pattern ends too early"),
    ("(" * 60 + ")" * 60, "groups are nested over 50 deep"),
]


@each_row(("pattern", "fault"), REFUSED)
def test_refused(pattern: str, fault: str) -> None:
    """F-API-17, F-SAFE-9: what cannot be checked is refused, with the reason."""
    with pytest.raises(PatternError) as caught:
        Pattern(pattern, 10_000)
    assert fault in str(caught.value)
    with pytest.raises(SchemaError) as refused:
        compile_schema({"properties": {"a": {"pattern": pattern}}})
    assert refused.value.location == "#/properties/a/pattern"


def remembered(memory: PatternMemory) -> int:
    return sum(len(states) + 1 for _, states in memory.steps.values())


@pytest.mark.slow
def test_the_patterns_of_one_schema_share_what_they_remember() -> None:
    """F-SAFE-9: it does not grow with their number (24 MiB each made 2.3 GiB of 50 KB)."""
    memory = PatternMemory()
    patterns = [Pattern(f"a.{{12}}b{n}", 1_000, memory) for n in range(40)]
    text = "".join(random.Random(1).choices("ab", k=1_500))
    most = 0
    for pattern in patterns:
        assert not pattern.search(text, Meter().spend)
        most = max(most, remembered(memory))
    assert 4_000 < most <= 50_000
    assert patterns[0].search(text + "a" + "c" * 12 + "b0", Meter().spend)


ATOMS = ["a", "b", " ", ".", "[ab]", "[^a]", r"\w", r"\W", r"\s", r"\b", "^", "$"]


def combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    quantifiers = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,2}?", "*?"])
    groups = st.sampled_from(["(?=", "(?!", "(", "(?:"])
    return st.one_of(
        st.builds(lambda left, right: left + right, inner, inner),
        st.builds(lambda left, right: f"(?:{left}|{right})", inner, inner),
        st.builds(lambda part, count: f"(?:{part}){count}", inner, quantifiers),
        st.builds(lambda opening, part: f"{opening}{part})", groups, inner),
        st.sampled_from(["(?<=a)", "(?<!b)", r"(?<=\b)"]),
    )


@examples(150)
@given(
    st.recursive(st.sampled_from(ATOMS), combine, max_leaves=8),
    st.text("ab c", min_size=1, max_size=8),
)
def test_it_agrees_with_the_backtracking_engine(pattern: str, text: str) -> None:
    """F-API-17: on short strings, where that one finishes."""
    expected = re.search(pattern.replace("$", r"\Z"), text, re.ASCII) is not None
    assert matches(pattern, text) is expected
