"""All tools of all servers: F-MANY-11, F-MANY-12."""

from __future__ import annotations

import sys
from functools import partial
from types import FrameType, SimpleNamespace
from typing import Any, Callable

from mcpclient import ToolsUpdated
from mcpclient.manager.naming import ToolNames
from mcpclient.manager.tools import Catalog


def place(name: str) -> Any:
    return SimpleNamespace(name=name, client=None, trusted=False, stale=False)


def tools(*names: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


def test_a_name_is_taken_from_a_server_that_is_not_there_yet() -> None:
    """F-MANY-11, F-MANY-14: its names are remembered from an earlier run."""
    told: list[ToolsUpdated] = []
    catalog = Catalog(ToolNames("tool", 64, ["a", "b"]), told.append)
    catalog.names.assign("b", ["x"])
    catalog.update(place("a"), tools("x"))
    assert told == [ToolsUpdated("a", added=("x",))]
    catalog.update(place("b"), tools("x"))
    assert [(each.name, each.server) for each in catalog.tools] == [("x", "a"), ("x_2", "b")]


def test_nothing_is_told_when_nothing_changed() -> None:
    told: list[ToolsUpdated] = []
    catalog = Catalog(ToolNames("tool", 64), told.append)
    for _ in range(2):
        catalog.update(place("a"), tools("x"))
    assert len(told) == 1


def test_a_name_that_changes_its_owner_meanwhile_is_shown_with_the_new_one() -> None:
    """F-MANY-22, F-MANY-11: no model calls the tool of another server by the name of this one's."""
    catalog = Catalog(ToolNames("tool", 64, ["a", "b"]), lambda event: None)
    catalog.update(place("b"), tools("read"))
    assert [(each.name, each.server) for each in catalog.tools] == [("read", "b")]
    later = catalog.updating(place("b"), tools("read", "write"))
    assert True in later  # all but the exchange
    first = catalog.updating(place("a"), tools("read"))
    assert True in first
    ((name, owner),) = [(each.name, each.server) for each in catalog.tools]
    assert catalog.names.owner(name) == (owner, "read") == ("b", "read")
    assert [*first, *later]
    shown = [(each.name, each.server) for each in catalog.tools]
    assert shown == [("read", "a"), ("read_2", "b"), ("write", "b")]


def test_the_last_step_costs_the_same_however_many_tools_there_are() -> None:
    """F-MANY-22: no Python code runs once for each tool, when thousands come and go at once."""

    def lines_of(exchange: Callable[[], object]) -> int:
        found = 0

        def count(frame: FrameType, event: str, argument: object) -> Any:
            nonlocal found
            found += "manager" in frame.f_code.co_filename
            return count

        before = sys.gettrace()
        sys.settrace(count)
        try:
            exchange()
        finally:
            sys.settrace(before)
        return found

    costs = set()
    for size in (10, 1_000):
        catalog = Catalog(ToolNames("server__tool", 64), lambda event: None)
        coming = catalog.updating(place("a"), tools(*(f"x{each}" for each in range(size))))
        assert True in coming
        come = lines_of(partial(list, coming))
        assert len(catalog.tools) == size
        costs.add((come, lines_of(partial(catalog.update, place("a"), ()))))
    assert len(costs) == 1
