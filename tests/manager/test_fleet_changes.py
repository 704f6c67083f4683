"""What a new configuration changes: F-MANY-4."""

from __future__ import annotations

from dataclasses import replace

from mcpclient import OAuth, ServerConfig
from mcpclient.manager.fleet import Changes, compare_servers
from mcpclient.manager.managed_client import same_server

A = ServerConfig("a", target="https://a.example", options={"headers": {"X": "1"}})


def test_what_changed() -> None:
    """F-MANY-4: in the order of the new configuration."""
    before = {"a": A, "b": A, "gone": A}
    after = {"new": A, "b": replace(A, exclude=("x",)), "a": A}
    changes = compare_servers(before, after)
    assert changes == Changes(("new",), ("gone",), ("b",), ("a",))
    assert changes
    assert not compare_servers(before, before)


def test_values_of_variables_count_and_logins_do_not() -> None:
    """F-MANY-4: a login is made anew at each reading, and is the same for the same entry."""
    assert not same_server(A, replace(A, options={"headers": {"X": "2"}}))
    assert not same_server(A, replace(A, target="https://b.example"))
    assert same_server(replace(A, options={"auth": OAuth()}), replace(A, options={"auth": OAuth()}))
    assert not same_server(replace(A, options={"auth": OAuth()}), A)
