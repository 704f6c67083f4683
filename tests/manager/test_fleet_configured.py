"""Whatever a caller names as servers: F-MANY-1."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient import Config, Policy, ServerConfig
from mcpclient.errors import UsageError
from mcpclient.gate.gate import Gate
from mcpclient.manager.fleet import configured_servers

URL = "https://github.example.com/mcp"


@pytest.mark.parametrize(
    ("given", "targets"),
    [
        ({"a": URL, "b": ["npx", "x"]}, {"a": URL, "b": ["npx", "x"]}),
        ({"a": ServerConfig("b", target=URL)}, {"a": URL}),
        ({"mcpServers": {"a": {"url": URL}}}, {"a": URL}),
        (Config({"a": ServerConfig("a", target=URL)}), {"a": URL}),
        ([URL, ["npx", "x"]], {"github": URL, "npx": ["npx", "x"]}),
        ({}, {}),
    ],
)
def test_forms(given: Any, targets: Any) -> None:
    """F-MANY-1: a mapping, a list, a loaded configuration, or what stands in a file."""
    servers = configured_servers(given, Gate())
    assert {name: server.target for name, server in servers.items()} == targets
    assert all(name == server.name for name, server in servers.items())


@pytest.mark.parametrize("given", [5, URL, None, {"": URL}, {3: URL}])
def test_what_is_none_of_them(given: Any) -> None:
    with pytest.raises(UsageError):
        configured_servers(given, Gate())


def test_what_is_switched_off_or_denied() -> None:
    """F-MANY-2, F-MANY-9: a policy judges also what was loaded without it."""
    named = ServerConfig("named", "file", "x.json", "x", enabled=False)  # loaded so, by name
    off = ServerConfig("off", enabled=False)
    given = {"off": off, "named": named, "evil": URL, "good": ["npx", "x"]}
    policy = Policy(deny=["url:https://*.example.com/*"])
    for each in (given, Config(configured_servers(given, Gate()))):
        servers = configured_servers(each, Gate(policy))
        states = {name: server.state for name, server in servers.items()}
        assert states == {"off": "disabled", "named": "ready", "evil": "denied", "good": "ready"}
        assert servers["evil"].reason


def test_the_entry_of_a_mapping_says_what_is_used_of_it() -> None:
    """F-MANY-2, F-MANY-13: a client knows none of that, so the manager carries it out."""
    entries = {
        "off": {"command": "x", "disabled": True},
        "some": {"command": "x", "includeTools": ["a"], "disabled_tools": ["b"]},
        "all": {"mcpServers": {"all": {"url": URL, "tools": {"c": False}}}},
    }
    off, some, every = configured_servers(entries, Gate()).values()
    assert (off.state, some.state) == ("disabled", "ready")
    assert (some.include, some.exclude, every.exclude) == (("a",), ("b",), ("c",))
    with pytest.raises(UsageError, match="bad: include: "):
        configured_servers({"bad": {"command": "x", "include": "a"}}, Gate())
