"""The number of examples in property tests: all, or fewer where the slow tests are left out."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import characters, integers, lists, none, text

# What Hypothesis tries of a test that does not say how many.
USUAL = 100

_share = 1


@settings(max_examples=1, database=None)
@given(none())
def prepare(nothing: None) -> None:
    """Have Hypothesis make the source of chance that it keeps, and looks up who refers to.

    That has to come before `gc.freeze`: what is frozen is not found.
    """


@settings(max_examples=3, database=None, deadline=None, suppress_health_check=[*HealthCheck])
@given(lists(integers(), min_size=200, max_size=200), text(characters(codec="utf-8"), min_size=9))
def fill_caches(numbers: list[int], clean: str) -> None:
    """Have Hypothesis read the constants of all modules, and the tables of characters."""


def examples(count: int, **options: Any) -> settings:
    """Return the settings of a test of which ``count`` examples are tried."""
    return settings(max_examples=max(count // _share, 8), **options)


def try_fewer() -> None:
    """Try a tenth of the examples in all tests that are collected from now on."""
    global _share
    _share = 10
    current = settings.get_current_profile_name()
    settings.register_profile("fewer", settings.get_profile(current), max_examples=USUAL // _share)
    settings.load_profile("fewer")
