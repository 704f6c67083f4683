"""All tools of all servers: one list, one table of names, and what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Callable

from ..errors import UsageError, safe_str
from ..similar import there_is_no
from .events import ToolsUpdated
from .naming import ToolNames
from .tools import Home, ManagedTool, ToolList, difference

__all__ = ["Catalog"]


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

    def tools_of(self, server: str) -> ToolList:
        """Return the list of one server, which stays the same object."""
        return self._lists.setdefault(server, ToolList())

    def update(self, home: Home, tools: Sequence[Mapping[str, Any]]) -> None:
        """Take the tools of a server as it sends them. Of two with one name, the first counts."""
        offered: dict[str, Mapping[str, Any]] = {}
        for tool in tools:
            offered.setdefault(safe_str(tool.get("name", "")), tool)
        self._homes[home.name], self._offered[home.name] = home, offered
        renamed = self.names.assign(home.name, offered)
        known = renamed & self._homes.keys()  # of others only the names, from an earlier run
        news = [self._rebuild(name) for name in (home.name, *sorted(known))]
        order = self.names.servers
        self.tools.replace(chain.from_iterable(self._lists.get(name, ()) for name in order))
        for each in news:
            if each.added or each.removed or each.changed:
                self._tell(each)

    def _rebuild(self, server: str) -> ToolsUpdated:
        home, tools = self._homes[server], self.tools_of(server)
        before = list(tools)
        names = self.names.names_of(server)
        offered = self._offered[server].items()
        tools.replace(ManagedTool(raw, names[name], home) for name, raw in offered)
        return ToolsUpdated(server, *difference(before, tools))

    def owner(self, name: str) -> tuple[str, str]:
        """Return the server and the tool's own name that a full name stands for.

        Raises `UsageError` for a name that no tool has, or has had, with the one that was meant.
        """
        owner = self.names.owner(name)
        if owner is None:
            raise UsageError(there_is_no("tool", name, [tool.name for tool in self.tools]))
        return owner
