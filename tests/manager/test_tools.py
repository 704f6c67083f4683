"""Tools of many servers as one list: F-MANY-12, seed 000 (a stable array)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mcpclient.manager.events import ToolsUpdated
from mcpclient.manager.naming import ToolNames
from mcpclient.manager.tools import Catalog, ManagedTool
from mcpclient.protocol.types import Tool


def home(*, trusted: bool = False, stale: bool = False) -> Any:
    return SimpleNamespace(name="github", client="the client", trusted=trusted, stale=stale)


def managed(name: str, trusted: bool = False, **raw: Any) -> ManagedTool:
    return ManagedTool({"name": name, **raw}, f"github__{name}", home(trusted=trusted))


def test_a_tool_knows_where_it_comes_from() -> None:
    """F-MANY-11: the original name is kept."""
    tool = managed("search", description="Finds.")
    assert isinstance(tool, Tool)
    assert (tool.name, tool.raw_name, tool.server) == ("github__search", "search", "github")
    assert str(tool.client) == "the client"
    assert (tool.stale, tool.description) == (False, "Finds.")
    assert repr(tool) == "<mcpclient.ManagedTool github__search>"
    assert ManagedTool({"name": 5}, "x", home()).raw_name == ""


def test_annotations_count_only_from_servers_that_are_trusted() -> None:
    """F-MANY-15: an unknown server cannot call its own tools harmless."""
    hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True}
    known, unknown = managed("x", True, annotations=hints), managed("x", annotations=hints)
    assert (known.read_only, known.destructive, known.idempotent) == (True, False, True)
    assert (unknown.read_only, unknown.destructive, unknown.idempotent) == (False, True, False)


def test_what_changed() -> None:
    """F-MANY-12"""
    told: list[ToolsUpdated] = []
    catalog = Catalog(ToolNames("server__tool", 64), told.append)
    catalog.update(home(), [{"name": "a"}, {"name": "b"}, {"name": "c", "description": "old"}])
    catalog.update(home(), [{"name": "c", "description": "new"}, {"name": "a"}, {"name": "d"}])
    assert told[1:] == [ToolsUpdated("github", ("github__d",), ("github__b",), ("github__c",))]
    assert managed("a") == managed("a") != managed("b")
    assert managed("a") != Tool({"name": "a"})
