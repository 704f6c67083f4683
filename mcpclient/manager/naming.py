"""Names that tools have across servers: looked up in a table, never taken apart.

Every tool has one name for as long as the manager lives. Which one does not depend on which server
answered first: servers take names in the order of their configuration, and tools in the order of
their own names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Callable, NamedTuple

from ..config.naming import Naming
from ..errors import UsageError

__all__ = ["Naming", "ParsedName", "ToolNames", "parse_tool_name"]

_STYLES: dict[str, Callable[[str, str], str]] = {
    "server__tool": "{}__{}".format,
    "mcp__server__tool": "mcp__{}__{}".format,
    "server_tool": "{}_{}".format,
    "tool": lambda server, tool: tool,
}
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_DIGEST = 8
_MIN_LIMIT = 16


class ParsedName(NamedTuple):
    """What a full name says: the server, cleaned, and the tool, None for all of its tools."""

    server: str
    tool: str | None


def parse_tool_name(name: str) -> ParsedName | None:
    """Take apart a name of the style ``mcp__server__tool`` or ``server__tool``.

    For rules of permission only: ``mcp__github`` names every tool of a server. Which tool a call
    means is looked up instead, since a server's name may hold ``__`` itself. None for a name of
    another form.
    """
    parts = name.split("__")
    if parts[0] == "mcp":
        parts = parts[1:]
        if not parts or not parts[0]:
            return None
        return ParsedName(parts[0], "__".join(parts[1:]) or None)
    if len(parts) < 2 or not parts[0]:
        return None
    return ParsedName(parts[0], "__".join(parts[1:]) or None)


class ToolNames:
    """The full name of every tool, and the tool of every full name.

    ``naming``: how a name is made, unless the server has a way of its own; what does not fit
    ``[a-zA-Z0-9_-]`` becomes ``_``. ``limit``: the longest name there may be. ``servers``: in the
    order of the configuration.

    A name that is taken gets ``_2``, ``_3`` and so on; a name over the limit is cut, and ends with
    a digest of the server's and the tool's own names. Until `settle`, a server that comes first in
    the order takes names from later ones; after it, a name never changes its owner.
    """

    def __init__(self, naming: Naming, limit: int, servers: Sequence[str] = ()) -> None:
        self._make = _maker(naming)
        if limit < _MIN_LIMIT:
            raise UsageError(f"name_limit is {_MIN_LIMIT} or more, not {limit!r}")
        self._makers: dict[str, Callable[[str, str], str]] = {}
        self._limit = limit
        self._order: dict[str, int] = {}
        self._owners: dict[str, tuple[str, str]] = {}
        self._names: dict[str, dict[str, str]] = {}
        self._settled: set[str] = set()
        # The last tool whose plain name was this one, and the number that it got.
        self._numbered: dict[str, tuple[tuple[int, str], int]] = {}
        for server in servers:
            self.add_server(server)

    def add_server(self, server: str, naming: Naming | None = None) -> None:
        """Take note of a server, after those that are known, and of its own way of naming, if any.

        What has a name keeps it.
        """
        self._order.setdefault(server, len(self._order))
        if naming is not None:
            self._makers[server] = _maker(naming)

    @property
    def servers(self) -> list[str]:
        """The servers, in their order."""
        return list(self._order)

    def names_of(self, server: str) -> Mapping[str, str]:
        """Return the full names of a server's tools, by their own names."""
        return self._names.get(server, {})

    def settle(self) -> None:
        """Let every name that was given stay with its owner from now on."""
        self._settled.update(self._owners)

    def owner(self, full_name: str) -> tuple[str, str] | None:
        """Return the server and the tool's own name that a full name stands for."""
        return self._owners.get(full_name)

    def begins_as(self, server: str, full_name: str) -> bool:
        """Whether a name begins as those of a server's tools do, which may not be known yet.

        False where names do not begin with the server's.
        """
        name = self._spelled(server, "x", 1)
        return len(name) > 1 and name.endswith("x") and full_name.startswith(name[:-1])

    def assign(self, server: str, tools: Iterable[str]) -> set[str]:
        """Give names to the tools of a server; those that have one keep it.

        Returns the servers whose tools got other names than before, this one left out.
        """
        self.add_server(server)
        mine = self._names.setdefault(server, {})
        displaced: list[tuple[str, str]] = []
        for tool in sorted(set(tools).difference(mine)):
            displaced += self._give(server, tool)
        changed = {owner for owner, _ in displaced} - {server}
        while displaced:
            displaced.sort(key=lambda each: (self._order[each[0]], each[1]), reverse=True)
            changed.add(displaced[-1][0])
            displaced += self._give(*displaced.pop())
        return changed - {server}

    def _give(self, server: str, tool: str) -> list[tuple[str, str]]:
        """Give a tool the first name it may have; return the owner that this displaces, if any."""
        rank = (self._order[server], tool)
        plain = self._spelled(server, tool, 1)
        number = self._first_number(server, tool, plain, rank)
        while True:
            name = self._spelled(server, tool, number)
            owner = self._owners.get(name)
            if owner is None or self._yields(name, owner, rank):
                break
            number += 1
        self._numbered[plain] = (rank, number)
        self._owners[name] = (server, tool)
        self._names.setdefault(server, {})[tool] = name
        if owner is None:
            return []
        del self._names[owner[0]][owner[1]]
        return [owner]

    def _first_number(self, server: str, tool: str, plain: str, rank: tuple[int, str]) -> int:
        """Return the number to begin with, so that thousands of names that are alike cost little.

        What did not yield to a tool of a lower rank does not yield to this one.
        """
        last_rank, last = self._numbered.get(plain, (rank, 0))
        if last_rank < rank and self._owners.get(self._spelled(server, tool, last)):
            return last
        return 1

    def _yields(self, name: str, owner: tuple[str, str], rank: tuple[int, str]) -> bool:
        return name not in self._settled and rank < (self._order[owner[0]], owner[1])

    def _spelled(self, server: str, tool: str, number: int) -> str:
        cleaned = (_UNFIT.sub("_", server), _UNFIT.sub("_", tool))
        make = self._makers.get(server, self._make)
        name = _UNFIT.sub("_", make(*cleaned)) or "_"
        suffix = f"_{number}" if number > 1 else ""
        if len(name) + len(suffix) <= self._limit:
            return name + suffix
        content = f"{server}\0{tool}".encode("utf-8", "surrogatepass")
        ending = f"_{hashlib.sha256(content).hexdigest()[:_DIGEST]}{suffix}"
        return name[: self._limit - len(ending)] + ending


def _maker(naming: Naming) -> Callable[[str, str], str]:
    if callable(naming):
        return naming
    if naming in _STYLES:
        return _STYLES[naming]
    known = ", ".join(map(repr, _STYLES))
    raise UsageError(f"naming is a function or one of {known}, not {naming!r}")
