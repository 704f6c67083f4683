"""The effects of a new configuration: F-MANY-4."""

from __future__ import annotations

from dataclasses import replace

from mcpclient import ServerConfig
from mcpclient.manager.fleet import Changes, compare_servers

A = ServerConfig("a", target="https://a.example", options={"headers": {"X": "1"}})


def test_what_changed() -> None:
    """F-MANY-4: in the order of the new configuration."""
    before = {"a": A, "b": A, "gone": A}
    after = {"new": A, "b": replace(A, exclude=("x",)), "a": A}
    changes = compare_servers(before, after)
    assert changes == Changes(("new",), ("gone",), ("b",), ("a",))
    assert changes
    assert not compare_servers(before, before)
