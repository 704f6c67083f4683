"""All tools of all servers: F-MANY-11, F-MANY-12."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from mcpclient import ToolsUpdated
from mcpclient.manager.naming import ToolNames
from mcpclient.manager.tools import Catalog


def place(name: str) -> Any:
    return SimpleNamespace(name=name, client=None, trusted=False, stale=False)


def tools(*names: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


def test_tools_stand_in_the_order_of_the_configuration() -> None:
    """F-MANY-12: and within a server in its own; of two with one name, the first counts."""
    told: list[ToolsUpdated] = []
    catalog = Catalog(ToolNames("server__tool", 64, ["a", "b"]), told.append)
    catalog.update(place("b"), tools("z", "x"))
    catalog.update(place("a"), [*tools("y"), {"name": "y", "description": "again"}])
    assert [each.name for each in catalog.tools] == ["a__y", "b__z", "b__x"]
    assert catalog.tools[0].description is None
    assert told == [ToolsUpdated("b", added=("b__z", "b__x")), ToolsUpdated("a", added=("a__y",))]
    assert catalog.tools.version == 2


def test_a_server_that_comes_first_takes_its_names() -> None:
    """F-MANY-11: the one that had to give them up is told of, too."""
    told: list[ToolsUpdated] = []
    catalog = Catalog(ToolNames("tool", 64, ["a", "b"]), told.append)
    catalog.update(place("b"), tools("x"))
    catalog.update(place("a"), tools("x"))
    assert [(each.name, each.server) for each in catalog.tools] == [("x", "a"), ("x_2", "b")]
    assert told[1:] == [ToolsUpdated("a", added=("x",)), ToolsUpdated("b", ("x_2",), ("x",))]
    assert catalog.names.owner("x_2") == ("b", "x")


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


def test_the_list_of_one_server_stays_the_same_object() -> None:
    """F-MANY-12"""
    catalog = Catalog(ToolNames("server__tool", 64), lambda event: None)
    held = catalog.tools_of("a")
    catalog.update(place("a"), tools("x"))
    assert [each.name for each in held] == ["a__x"]
    catalog.update(place("a"), ())
    assert held == [] and held.version == 2


async def test_many_tools_are_prepared_a_few_at_a_time() -> None:
    """F-MANY-22: the event loop gets its turn in between, and what is unchanged is kept."""
    catalog = Catalog(ToolNames("server__tool", 64), lambda event: None)
    home, turns = place("a"), 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.ensure_future(count())
    offered = tools(*(f"t{number:04}" for number in range(3000)))
    await catalog.prepare(home, offered)
    assert turns >= 2 * len(offered) / 250
    assert list(catalog.tools) == []  # until they are all there
    catalog.update(home, offered)
    before = list(catalog.tools)
    changed = [dict(each) for each in offered]
    changed[7]["title"] = "other"
    await catalog.prepare(home, changed)
    assert list(catalog.tools) == before
    catalog.update(home, changed)
    kept = [after is old for after, old in zip(catalog.tools, before)]
    assert [number for number, same in enumerate(kept) if not same] == [7]
    counting.cancel()


async def test_a_name_that_changes_its_owner_meanwhile_is_shown_with_the_new_one() -> None:
    """F-MANY-22, F-MANY-11: nobody calls the tool of another server by the name of this one's."""
    catalog = Catalog(ToolNames("tool", 64, ["a", "b"]), lambda event: None)
    catalog.update(place("b"), tools("read"))
    assert [(each.name, each.server) for each in catalog.tools] == [("read", "b")]
    await catalog.prepare(place("a"), tools("read"))
    ((name, owner),) = [(each.name, each.server) for each in catalog.tools]
    assert catalog.names.owner(name) == (owner, "read") == ("b", "read")
