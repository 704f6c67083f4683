"""The clocks of this machine."""

from __future__ import annotations

import datetime

import pytest

from mcpclient.net import clocks
from mcpclient.net.clocks import seconds_since_epoch, steady_seconds, timestamp


def test_a_timestamp_is_the_time_of_day_in_utc() -> None:
    """F-API-13: a task of the client's says since when it is."""
    before = int(seconds_since_epoch())
    text = timestamp()
    said = datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    seconds = said.replace(tzinfo=datetime.timezone.utc).timestamp()
    assert before <= seconds <= seconds_since_epoch()


def test_a_timestamp_is_that_of_the_clock_which_is_read_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-API-13: at the begin of a second, too, when a coarser clock is still in the last one."""
    monkeypatch.setattr(clocks, "seconds_since_epoch", lambda: 1785240000.001)
    assert timestamp() == "2026-07-28T12:00:00Z"


def test_the_steady_clock_never_goes_back() -> None:
    """F-API-7: no matter what happens to the time of day."""
    times = [steady_seconds() for _ in range(100)]
    assert times == sorted(times)
