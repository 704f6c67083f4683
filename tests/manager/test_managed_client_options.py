"""The options of one server's client: F-MANY-15."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mcpclient import Sandbox, ServerConfig, ServerLimits
from mcpclient.client.connection.target_names import runs_here
from mcpclient.manager.managed_client import options_for
from tests.manager.fleet import Member
from tests.support.tables import each_row

SHARED = {"headers": {"A": "1"}, "auth": "token", "env": {"B": "2"}, "cwd": "/", "timeout": 5}


@each_row(
    ("target", "here", "left"),
    [
        ("https://a.example", False, {"headers", "auth", "timeout"}),
        ({"url": "https://a.example"}, False, {"headers", "auth", "timeout"}),
        ("npx server", True, {"env", "cwd", "timeout"}),
        (["npx"], True, {"env", "cwd", "timeout"}),
        ({"command": "npx"}, True, {"env", "cwd", "timeout"}),
        (Member(), False, {"timeout"}),
    ],
)
def test_options_for_all_that_mean_nothing_for_one_are_left_out(
    target: Any, here: bool, left: set[str]
) -> None:
    """F-MANY-15: ``env`` for all servers is for those that are processes."""
    assert runs_here(target) is here
    options = options_for(ServerConfig("a", target=target), SHARED)
    assert set(options) == {*left, "name", "trusted"}
    assert (options["name"], options["trusted"]) == ("a", False)


def test_an_entry_can_only_be_stricter_than_the_program() -> None:
    """F-MANY-19: a project's file lifts no cap."""
    common = ServerLimits(at_once=4, breaker=5, breaker_seconds=60, timeouts={"*": 10})
    own = ServerLimits(at_once=9, per_minute=7, timeouts={"x": 20})
    config = ServerConfig("a", target=["x"], options={"limits": own})
    assert options_for(config, {"limits": common})["limits"] == ServerLimits(
        4, 7, 5, breaker_seconds=60, timeouts={"x": 20, "*": 10}
    )


def test_an_entry_cannot_loosen_what_is_shared() -> None:
    """F-MANY-19, F-AUDIT-1: both logs get a line, and of two limits the stricter one counts."""
    own = {"audit": "own.jsonl", "limits": ServerLimits(at_once=2, per_minute=60)}
    shared = {"audit": "all.jsonl", "limits": ServerLimits(per_minute=6)}
    options = options_for(ServerConfig("a", target="npx x", options=own), shared)
    assert options["audit"] == ("all.jsonl", "own.jsonl")
    assert options["limits"] == ServerLimits(at_once=2, per_minute=6)


BEST = Sandbox(network=True, best_effort=True)


@each_row(
    ("own", "shared", "used"),
    [
        ("required", BEST, replace(BEST, best_effort=False)),
        (BEST, "required", replace(BEST, best_effort=False)),
        ("required", None, "required"),
        (BEST, None, BEST),
    ],
)
def test_a_sandbox_that_is_required_is_no_mere_attempt(own: Any, shared: Any, used: Any) -> None:
    """F-BOX-1: whether the entry says so, by a policy, or all servers need one."""
    common = {} if shared is None else {"sandbox": shared}
    options = options_for(ServerConfig("a", target="npx x", options={"sandbox": own}), common)
    assert options["sandbox"] == used
