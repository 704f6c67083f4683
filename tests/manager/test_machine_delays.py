"""Pauses between attempts: F-MANY-5."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient import Reconnect
from mcpclient.errors import UsageError


def test_pauses() -> None:
    """F-MANY-5, seed 001 (500, 1000, 2000, 4000 ms): then doubled, up to 30 s, and it stays so."""
    delays = [Reconnect().delay(attempt, 0.5) for attempt in range(9)]
    assert delays == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert Reconnect().delay(10**6, 0.5) == 30
    assert [Reconnect((60,)).delay(attempt, 0.5) for attempt in (0, 1, 2)] == [60, 60, 60]


def test_chance() -> None:
    """F-MANY-5: a quarter shorter or longer, so that clients do not return together."""
    assert (Reconnect().delay(2, 0.0), Reconnect().delay(2, 1.0)) == (1.5, 2.5)


@pytest.mark.parametrize(
    "given",
    [{"delays": ()}, {"delays": (-1,)}, {"delays": (float("nan"),)}, {"terminal_errors": 0}],
)
def test_nonsense(given: Any) -> None:
    with pytest.raises(UsageError):
        Reconnect(**given)


def test_the_least_there_is() -> None:
    """F-MANY-5: at once, and after the first failure."""
    least = Reconnect(delays=(0,), terminal_errors=1)
    assert (least.delay(0, 1.0), least.terminal_errors) == (0, 1)
