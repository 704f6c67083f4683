"""F-API-25: the tools of a server as a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpclient import Tool
from mcpclient.testing import check_tools, tools_text

ADD = Tool({"name": "add", "description": "Add", "inputSchema": {"type": "object"}})
ECHO = Tool({"name": "echo", "description": "Say «it»", "inputSchema": {"type": "object"}})


def test_a_change_is_shown_line_by_line(tmp_path: Path) -> None:
    """F-API-25: as a difference that is read in review."""
    path = tmp_path / "snapshots" / "tools.json"
    check_tools([ECHO, ADD], path)
    check_tools([ADD, ECHO], path)
    assert "Say «it»" in path.read_text("utf-8")
    changed = Tool({**ADD.raw, "description": "Add numbers"})
    with pytest.raises(AssertionError) as raised:
        check_tools([changed, ECHO], path)
    lines = str(raised.value).splitlines()
    assert '-    "description": "Add",' in lines and '+    "description": "Add numbers",' in lines
    check_tools([changed, ECHO], path, update=True)
    check_tools([changed, ECHO], path)


def test_the_text_is_stable() -> None:
    shuffled = Tool(dict(reversed(list(ADD.raw.items()))))
    assert tools_text([ADD]) == tools_text([shuffled])
    assert tools_text([]) == "[]\n"
