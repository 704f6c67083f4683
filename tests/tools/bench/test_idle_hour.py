"""Connections that are open for an hour take no more at its end: F-LIFE-5, F-LIFE-8, F-WS-2."""

from __future__ import annotations

from .idle_hour import idle_hour


def test_an_hour_of_pings_leaves_nothing_behind() -> None:
    """As many objects after an hour as after ten minutes, though the server was asked all along."""
    hour = idle_hour(5)
    assert hour.messages >= 5 * 50 + 5 * 150
    assert hour.late.own <= hour.early.own + 5
    assert hour.late.objects <= hour.early.objects + 100
