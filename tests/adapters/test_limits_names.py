"""Names that model APIs take."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcpclient.adapters.limits import NameRule, fit_names

RULE = NameRule("a-z0-9_", 12, first="a-z_")


def test_how_long_a_name_may_be_is_the_rules() -> None:
    """F-TOOL-1"""
    short = NameRule("a-z", 3)
    assert (short.admits("abc"), short.admits("abcd"), short.admits("")) == (True, False, False)


def test_a_fit_name_is_taken_by_no_other() -> None:
    """F-TOOL-1: whichever comes first."""
    for names in (["a b", "a_b"], ["a_b", "a b"]):
        assert fit_names(names, RULE)["a_b"] == "a_b"


def test_names_that_are_taken() -> None:
    """F-TOOL-1: also the name with a digest may be."""
    digest = RULE.fitted("a.b", {"a_b"})
    assert digest != "a_b"
    assert RULE.admits(RULE.fitted("a.b", {"a_b", digest}))
    assert RULE.fitted("a.b", {"a_b", digest}) != digest


@given(st.lists(st.text(max_size=30)))
def test_any_names_become_fit_and_different(names: list[str]) -> None:
    """F-TOOL-1."""
    fitted = fit_names(names, RULE)
    assert list(fitted) == list(dict.fromkeys(names))
    assert len(set(fitted.values())) == len(fitted)
    assert all(RULE.admits(name) for name in fitted.values())
