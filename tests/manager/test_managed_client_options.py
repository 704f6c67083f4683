"""The options of one server's client: F-MANY-15."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient import ServerConfig
from mcpclient.client.connection.targets import runs_here
from mcpclient.manager.managed_client import options_for
from tests.manager.fleet import Member

SHARED = {"headers": {"A": "1"}, "auth": "token", "env": {"B": "2"}, "cwd": "/", "timeout": 5}


@pytest.mark.parametrize(
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


def test_a_servers_own_options_count_more() -> None:
    """F-MANY-15"""
    own = ServerConfig("a", target="npx x", options={"timeout": 60, "env": {}}, trusted=True)
    options = options_for(own, SHARED)
    assert (options["timeout"], options["env"], options["trusted"]) == (60, {}, True)
