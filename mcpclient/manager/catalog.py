"""All tools of all servers: one list, one table of names, and what changed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Callable, TypeVar

from ..errors import UsageError, safe_str
from ..suggestions import there_is_no
from .events import ToolsUpdated
from .naming import ToolNames
from .tools import Home, ManagedTool, ToolList, difference

T = TypeVar("T")

# How many tools are named or wrapped before the event loop gets its turn, within a millisecond.
_SLICE = 250


class Catalog:
    """The tools that are offered, by server and together.

    ``tell`` takes a `ToolsUpdated` for each server whose tools have changed.
    """

    def __init__(self, names: ToolNames, tell: Callable[[ToolsUpdated], None]) -> None:
        self.names = names
        self.tools: ToolList = ToolList()
        self._tell = tell
        self._homes: dict[str, Home] = {}
        self._offered: dict[str, dict[str, Mapping[str, Any]]] = {}
        self._lists: dict[str, ToolList] = {}
        self._wrapped: dict[str, dict[str, ManagedTool]] = {}

    def tools_of(self, server: str) -> ToolList:
        """Return the list of one server, which stays the same object."""
        return self._lists.setdefault(server, ToolList())

    async def prepare(self, home: Home, tools: Sequence[Mapping[str, Any]]) -> None:
        """Name the tools of a server, and wrap those that have changed, a few at a time.

        After it, `update` with the same tools takes little time, however many they are.
        """
        offered = _by_name(tools)
        for names in _slices(sorted(offered.keys() - self.names.names_of(home.name).keys())):
            self._show(self._assign(home.name, names))
            await asyncio.sleep(0)
        for items in _slices(list(offered.items())):
            self._wrapped.setdefault(home.name, {}).update(self._wrap(home, items))
            await asyncio.sleep(0)

    def update(self, home: Home, tools: Sequence[Mapping[str, Any]]) -> None:
        """Take the tools of a server as it sends them. Of two with one name, the first counts.

        A tool that is as it was stays the same object.
        """
        offered = _by_name(tools)
        renamed = self._assign(home.name, offered)
        self._homes[home.name], self._offered[home.name] = home, offered
        self._show([home.name, *renamed])

    def _assign(self, server: str, tools: Iterable[str]) -> Sequence[str]:
        """Name tools; return the servers offering others that are named otherwise now."""
        renamed = self.names.assign(server, tools)
        return sorted(renamed & self._homes.keys())  # of others only the names, from an earlier run

    def _show(self, servers: Sequence[str]) -> None:
        if not servers:
            return
        news = [self._rebuild(name) for name in servers]
        order = self.names.servers
        self.tools.replace(chain.from_iterable(self._lists.get(name, ()) for name in order))
        for each in news:
            if each.added or each.removed or each.changed:
                self._tell(each)

    def _rebuild(self, server: str) -> ToolsUpdated:
        home, tools = self._homes[server], self.tools_of(server)
        before = list(tools)
        self._wrapped[server] = dict(self._wrap(home, self._offered[server].items()))
        tools.replace(self._wrapped[server].values())
        return ToolsUpdated(server, *difference(before, tools))

    def _wrap(
        self, home: Home, tools: Iterable[tuple[str, Mapping[str, Any]]]
    ) -> Iterator[tuple[str, ManagedTool]]:
        names, wrapped = self.names.names_of(home.name), self._wrapped.get(home.name, {})
        for name, raw in tools:
            made = wrapped.get(name)
            if made is None or not made.is_as(raw, names[name], home):
                made = ManagedTool(raw, names[name], home)
            yield name, made

    def owner(self, name: str) -> tuple[str, str]:
        """Return the server and the tool's own name that a full name stands for.

        Raises `UsageError` for a name that no tool has, or has had, with the one that was meant.
        """
        owner = self.names.owner(name)
        if owner is None:
            raise UsageError(there_is_no("tool", name, [tool.name for tool in self.tools]))
        return owner


def _by_name(tools: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    offered: dict[str, Mapping[str, Any]] = {}
    for tool in tools:
        offered.setdefault(safe_str(tool.get("name", "")), tool)
    return offered


def _slices(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + _SLICE] for start in range(0, len(items), _SLICE))
