"""The tools of all servers: one list that stays the same object, and what changed in it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Callable, ClassVar, TypeVar

from ..errors import UsageError, safe_str
from ..framing.escaping import escape_line
from ..protocol.types import Tool
from ..suggestions import there_is_no
from .events import ToolsUpdated
from .naming import ToolNames

if TYPE_CHECKING:
    from ..client.client import Client
    from .server import Server

    _Tools = list["ManagedTool"]
else:
    _Tools = list


class ManagedTool(Tool):
    """A tool of one of many servers.

    ``name`` is its full name, by which a `Manager` calls it; ``raw_name`` is the server's own,
    which ``raw`` has as well. What its annotations promise counts only when the server is trusted:
    otherwise the tool is neither read-only nor idempotent, and it is destructive.
    """

    __slots__ = ("_full_name", "_server")

    def __init__(self, raw: Mapping[str, Any], full_name: str, server: Server) -> None:
        super().__init__(raw)
        self._full_name = full_name
        self._server = server

    def is_as(self, raw: Mapping[str, Any], full_name: str, server: Server) -> bool:
        """Return whether a tool made of these would be equal to this one."""
        is_same = self.raw is raw or self.raw == raw
        return is_same and self._full_name == full_name and self._server is server

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ManagedTool):
            return NotImplemented
        return self._full_name == other._full_name and self.raw == other.raw

    # As mutable as its dict.
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        return escape_line(f"<mcpclient.ManagedTool {self._full_name}>")

    @property
    def name(self) -> str:  # type: ignore[override]  # a field of the raw tool elsewhere
        """The full name, unique in its manager."""
        return self._full_name

    @property
    def raw_name(self) -> str:
        """The name by which the server knows it."""
        value = self.raw.get("name")
        return value if isinstance(value, str) else ""

    @property
    def server(self) -> str:
        """The name of its server in the manager."""
        return self._server.name

    @property
    def client(self) -> Client:
        """The client of its server."""
        return self._server.client

    @property
    def stale(self) -> bool:
        """True where the definition is one of an earlier connection, and may have changed."""
        return self._server.stale

    @property
    def read_only(self) -> bool:
        """Whether a trusted server says that it changes nothing."""
        return self._server.trusted and super().read_only

    @property
    def destructive(self) -> bool:
        """Whether it may destroy something: yes, unless a trusted server says otherwise."""
        return not self._server.trusted or super().destructive

    @property
    def idempotent(self) -> bool:
        """Whether a trusted server says that a second call does no more than the first."""
        return self._server.trusted and super().idempotent


class ToolList(_Tools):
    """Tools as a list that stays the same object: a refresh replaces its content at once.

    ``version`` counts the refreshes, so that whoever made something of the list sees in one
    comparison whether to make it again.
    """

    version: int = 0

    def replace(self, tools: Iterable[ManagedTool]) -> None:
        """Replace the content, by one assignment."""
        self[:] = tools
        self.version += 1


def difference(
    server: str, before: Iterable[ManagedTool], after: Iterable[ManagedTool]
) -> ToolsUpdated:
    """Return the difference of two lists of a server's tools, by full name."""
    old = {tool.name: tool for tool in before}
    new = {tool.name: tool for tool in after}
    return ToolsUpdated(
        server,
        tuple(name for name in new if name not in old),
        tuple(name for name in old if name not in new),
        # What has not changed is mostly the same object, which is seen at once.
        tuple(
            name
            for name, tool in new.items()
            if name in old and old[name] is not tool and old[name].raw != tool.raw
        ),
    )


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
        self._servers: dict[str, Server] = {}
        self._offered: dict[str, dict[str, Mapping[str, Any]]] = {}
        self._lists: dict[str, ToolList] = {}
        self._wrapped: dict[str, dict[str, ManagedTool]] = {}

    def tools_of(self, server: str) -> ToolList:
        """Return the list of one server, which stays the same object."""
        return self._lists.setdefault(server, ToolList())

    async def prepare(self, server: Server, tools: Sequence[Mapping[str, Any]]) -> None:
        """Name the tools of a server, and wrap those that have changed, a few at a time.

        After it, `update` with the same tools takes little time, however many they are.
        """
        offered = _by_name(tools)
        for names in _slices(sorted(offered.keys() - self.names.names_of(server.name).keys())):
            self._show(self._assign(server.name, names))
            await asyncio.sleep(0)
        for items in _slices(list(offered.items())):
            self._wrapped.setdefault(server.name, {}).update(self._wrap(server, items))
            await asyncio.sleep(0)

    def update(self, server: Server, tools: Sequence[Mapping[str, Any]]) -> None:
        """Replace the tools of a server. Of two with one name, the first counts.

        A tool that is as it was stays the same object.
        """
        offered = _by_name(tools)
        renamed = self._assign(server.name, offered)
        self._servers[server.name], self._offered[server.name] = server, offered
        self._show([server.name, *renamed])

    def _assign(self, server: str, tools: Iterable[str]) -> Sequence[str]:
        """Name tools; return the servers offering others that are named otherwise now."""
        renamed = self.names.assign(server, tools)
        # Of others there are only the names, from an earlier run.
        return sorted(renamed & self._servers.keys())

    def _show(self, servers: Sequence[str]) -> None:
        if not servers:
            return
        news = []
        for name in servers:
            server, tools = self._servers[name], self.tools_of(name)
            before = list(tools)
            self._wrapped[name] = dict(self._wrap(server, self._offered[name].items()))
            tools.replace(self._wrapped[name].values())
            news.append(difference(name, before, tools))
        order = self.names.servers
        self.tools.replace(chain.from_iterable(self._lists.get(name, ()) for name in order))
        for each in news:
            if each.added or each.removed or each.changed:
                self._tell(each)

    def _wrap(
        self, server: Server, tools: Iterable[tuple[str, Mapping[str, Any]]]
    ) -> Iterator[tuple[str, ManagedTool]]:
        names, wrapped = self.names.names_of(server.name), self._wrapped.get(server.name, {})
        for name, raw in tools:
            made = wrapped.get(name)
            if made is None or not made.is_as(raw, names[name], server):
                made = ManagedTool(raw, names[name], server)
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
