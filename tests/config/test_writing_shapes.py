"""An entry in the words of another application."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.config.writing import in_shape_of
from mcpclient.entries.applications import APPLICATIONS
from mcpclient.entries.entry import read_entry

STDIO = {"command": "npx", "args": ["-y", "a"], "env": {"A": "b"}, "cwd": None}
REMOTE = {"url": "https://x/mcp", "headers": {"A": "b"}, "env": {}}


def fail(message: str, *path: object, hint: str = "") -> None:
    raise AssertionError(message)


@pytest.mark.parametrize("entry", [STDIO, REMOTE], ids=["command", "url"])
@pytest.mark.parametrize("name", sorted(APPLICATIONS))
def test_what_is_written_is_read_without_a_warning(name: str, entry: dict[str, Any]) -> None:
    """F-MANY-7"""
    written = in_shape_of(name, entry)
    found = read_entry("a", written, APPLICATIONS[name], fail)
    if entry is STDIO:
        assert (found.command, found.env) == (("npx", "-y", "a"), {"A": "b"})
    else:
        assert (found.url, found.headers) == ("https://x/mcp", {"A": "b"})
        assert found.transport in (None, "http", "sse")


def test_a_pinned_transport_is_kept() -> None:
    sse = {"type": "sse", "url": "https://x/sse"}
    assert in_shape_of("claude-code", sse) == sse
    assert in_shape_of("opencode", sse) == {"type": "remote", "url": "https://x/sse"}
