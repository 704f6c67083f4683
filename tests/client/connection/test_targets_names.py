"""Names for servers that nobody has named: F-MANY-11, seed 000 (sanitizeNs)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient.client.connection.targets import derive_name, name_targets
from mcpclient.errors import UsageError
from tests.manager.fleet import Member


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("https://github.example.com/mcp", "github"),
        ("wss://Files.example.com:8443/ws", "files"),
        ("http://localhost:3000/mcp", "localhost"),
        ("http://127.0.0.1:3000/mcp", "127.0.0.1"),
        ("http://[::1]/mcp", "::1"),
        ("unix:///run/notes.sock", "notes"),
        ("npx -y server", "npx"),
        (["/usr/local/bin/my-server.exe", "--stdio"], "my-server"),
        (["C:\\tools\\files.cmd"], "files"),
        (Path("/srv/tool.py"), "tool"),
        ({"command": "uvx", "args": ["x"]}, "uvx"),
        ({"url": "https://jira.example/mcp", "name": "tickets"}, "tickets"),
        ({"url": "https://jira.example/mcp", "name": 7}, "jira"),
        ({"httpUrl": "https://jira.example/mcp"}, "jira"),
        ({"bundle": "/srv/weather-1.0.mcpb"}, "weather-1.0"),
    ],
)
def test_derived_names(target: Any, name: str) -> None:
    """F-MANY-11: the configured name, else the host's first label, else the command's base name."""
    assert derive_name(target) == name


@pytest.mark.parametrize("target", [Member(), [], "http:///x", {"args": []}, ""])
def test_what_says_nothing_of_a_name(target: Any) -> None:
    with pytest.raises(UsageError):
        derive_name(target)


def test_a_list_of_targets() -> None:
    """F-MANY-11: names that repeat get numbers."""
    targets = ["https://a.example/1", "https://a.example/2", "npx x"]
    assert list(name_targets(targets)) == ["a", "a_2", "npx"]
    manager = mcpclient.connect_all(targets)
    assert list(manager._fleet.configs) == ["a", "a_2", "npx"]
