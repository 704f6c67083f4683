"""Waiting before trying again: F-HTTP-4."""

from __future__ import annotations

import random

import pytest

from mcpclient.transports.backoff import MAX_TRIES, delays


@pytest.mark.parametrize(
    ("chance", "expected"),
    [(0.0, [1.0, 2.0, 4.0, 8.0, 16.0]), (1.0, [1.25, 2.5, 5.0, 10.0, 20.0])],
)
def test_exponential_with_jitter(
    chance: float, expected: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-HTTP-4: each delay twice the one before, a quarter more at most, five tries."""
    monkeypatch.setattr(random, "random", lambda: chance)
    assert list(delays()) == expected
    assert len(expected) == MAX_TRIES


def test_chance_as_it_comes() -> None:
    """F-HTTP-4: by default every client of a restarted server waits a little differently."""
    for base, delay in zip([1.0, 2.0, 4.0, 8.0, 16.0], delays()):
        assert base <= delay <= base * 1.25
