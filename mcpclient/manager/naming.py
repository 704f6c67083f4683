"""Tool names that are unique across servers, resolved by a table, never by parsing.

A tool keeps its name for the life of the manager. Names do not depend on the order of connecting:
servers take them in the order of the configuration, and tools in the order of their own names. A
name with the prefix of a configured server belongs to it even while it is not connected, and names
of earlier runs are kept, so a model or a written rule never means another server.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, NamedTuple

from ..entries.fields import Naming
from ..errors import UsageError

_STYLES: dict[str, Callable[[str, str], str]] = {
    "server__tool": "{}__{}".format,
    "mcp__server__tool": "mcp__{}__{}".format,
    "server_tool": "{}_{}".format,
    "tool": lambda server, tool: tool,
}
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_DIGEST = 8
_MIN_LIMIT = 16
_ATTEMPTS = 20


class ParsedName(NamedTuple):
    """The parts of a full name: the server, cleaned, and the tool, None for all of its tools."""

    server: str
    tool: str | None


def parse_tool_name(name: str) -> ParsedName | None:
    """Split a name of the style ``mcp__server__tool`` or ``server__tool``.

    For permission rules only: ``mcp__github`` names every tool of a server. Which tool a call means
    is looked up instead, since a server's name may hold ``__`` itself. None for a name of another
    form.
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

    Names of a server begin with its label: its name, cleaned. Of two servers with one label, and
    of a server whose label other tools' names begin with already, the newcomer's gets a digest. A
    tool whose name would begin as another server's has a digest in front.
    """

    def __init__(self, naming: Naming, limit: int, servers: Sequence[str] = ()) -> None:
        self._make = _maker(naming)
        if limit < _MIN_LIMIT:
            raise UsageError(f"name_limit is {_MIN_LIMIT} or more, not {limit!r}")
        self._makers: dict[str, Callable[[str, str], str]] = {}
        self._limit = limit
        self._order: dict[str, int] = {}
        self._pending: list[str] = []  # servers that have no label yet
        self._labels: dict[str, str] = {}
        self._prefixes: dict[str, str] = {}
        self._claims: dict[str, str] = {}  # whose names begin so, in any style
        self._longer: dict[str, tuple[str, ...]] = {}
        self._recalled: dict[str, Mapping[str, Any]] = {}
        self._unusual: dict[str, dict[str, str]] = {}
        self._owners: dict[str, tuple[str, str]] = {}
        self._names: dict[str, dict[str, str]] = {}
        self._settled: set[str] = set()
        self._is_settled = False
        # The last tool whose plain name was this one, and the number that it got.
        self._numbered: dict[str, tuple[tuple[int, str], int]] = {}
        for server in servers:
            self.add_server(server)

    def add_server(self, server: str, naming: Naming | None = None) -> None:
        """Register a server after the known ones, with its own naming, if any.

        Existing names are kept.
        """
        if naming is not None:
            self._makers[server] = _maker(naming)
        if server not in self._order or (naming is not None and server not in self._names):
            self._pending.append(server)
        self._order.setdefault(server, len(self._order))

    def recall(self, server: str, record: Mapping[str, Any]) -> None:
        """Let a server have the names that `to_record` returned in an earlier run."""
        self._recalled[server] = record

    def to_record(self, server: str) -> dict[str, Any]:
        """Return an argument for `recall`: the label, and the unusual names."""
        return {
            "label": self._labels.get(server, ""),
            "spelling": self._spelling(server),
            "names": self._unusual.get(server, {}),
        }

    def reserve(self, rank: Callable[[str], Any] = lambda server: 0) -> None:
        """Give labels to the servers that have none, those of a lower ``rank`` first.

        Then to those whose names are labels as they are, and in the order of the configuration.
        """
        pending, self._pending = self._pending, []

        def key(server: str) -> tuple[Any, ...]:
            known = server not in self._recalled
            return known, rank(server), _UNFIT.sub("_", server) != server, self._order[server]

        for server in sorted(pending, key=key):
            self._reserve(server)
        for server in pending:
            self._restore(server)

    def _reserve(self, server: str) -> None:
        self._prefixes.pop(server, None)
        plain = _UNFIT.sub("_", server)
        recalled = self._recalled.get(server, {}).get("label")
        apart = f"{plain[: self._limit // 4]}_{_digest(server)}"
        labels = [recalled] if recalled in (plain, apart) else []
        label = next(
            (
                each
                for each in (*labels, plain)
                if not self._is_taken(server, self._prefix(server, each))
            ),
            apart,
        )
        prefix = self._prefix(server, label)
        self._labels[server], self._prefixes[server] = label, prefix
        # In another style than its own, a name would be read as this server's all the same.
        for claim in (f"{label}__", f"mcp__{label}__"):
            self._claims.setdefault(claim, server)
        if prefix:
            self._claims[prefix] = server
        self._longer.clear()

    def _prefix(self, server: str, label: str) -> str:
        """Return the beginning that all names of a server have; "" where they have none."""
        make = self._makers.get(server, self._make)
        one, other = (_UNFIT.sub("_", make(label, tool)) for tool in "xy")
        return one[:-1] if (one[:-1] + "y", one[-1:]) == (other, "x") else ""

    def _is_taken(self, server: str, prefix: str) -> bool:
        if not prefix:
            return False
        return prefix in self._prefixes.values() or any(
            name.startswith(prefix) and owner[0] != server for name, owner in self._owners.items()
        )

    def _spelling(self, server: str) -> str:
        return f"{self._makers.get(server, self._make)('server', 'tool')} {self._limit}"

    def _restore(self, server: str) -> None:
        """Give a server the unusual names it had, where they are still free."""
        record = self._recalled.pop(server, {})
        names = record.get("names")
        if record.get("spelling") != self._spelling(server) or not isinstance(names, Mapping):
            return
        for tool, name in names.items():
            if not isinstance(name, str) or not name or _UNFIT.search(name):
                continue
            is_free = len(name) <= self._limit and name not in self._owners
            if is_free and not self._is_foreign(server, name):
                self._owners[name] = (server, tool)
                self._names.setdefault(server, {})[tool] = name
                self._unusual.setdefault(server, {})[tool] = name
                self._settled.add(name)

    @property
    def servers(self) -> list[str]:
        """The servers, in their order."""
        return list(self._order)

    def names_of(self, server: str) -> Mapping[str, str]:
        """Return the full names of a server's tools, by their own names."""
        return self._names.get(server, {})

    def hold(self) -> None:
        """Fix the owner of every name given so far."""
        self._settled.update(self._owners)

    def settle(self) -> None:
        """Fix the owner of every name from now on, since the caller may have seen it."""
        self._is_settled = True

    def owner(self, full_name: str) -> tuple[str, str] | None:
        """Return the server and the tool's own name that a full name stands for."""
        return self._owners.get(full_name)

    def claimed_by(self, full_name: str) -> str | None:
        """Return the server whose names begin as this one, which need not be known yet.

        Of several, the one with the longest beginning. None where no server's names begin so.
        """
        if self._pending:
            self.reserve()
        fitting = [
            (len(prefix), server)
            for server, prefix in self._prefixes.items()
            if prefix and full_name.startswith(prefix)
        ]
        return max(fitting)[1] if fitting else None

    def _is_foreign(self, server: str, name: str) -> bool:
        """Return whether another server claims a name by its prefix."""
        mine = self._prefixes[server]
        if not name.startswith(mine):
            mine = ""  # it was cut
        if mine not in self._longer:
            self._longer[mine] = tuple(
                each for each in self._claims if len(each) > len(mine) and each.startswith(mine)
            )
        if not name.startswith(self._longer[mine]):
            return False
        longest = max((each for each in self._longer[mine] if name.startswith(each)), key=len)
        return self._claims[longest] != server

    def assign(self, server: str, tools: Iterable[str]) -> set[str]:
        """Give names to the tools of a server; those that have one keep it.

        Returns the servers whose tools got other names than before, this one left out.
        """
        self.add_server(server)
        if self._pending:
            self.reserve()
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
        made = self._fitted(server, tool, self._made(server, tool), 1)
        plain = self._spelled(server, tool, 1) if self._is_foreign(server, made) else made
        number = self._first_number(server, tool, plain, rank)
        while True:
            name = plain if number == 1 else self._spelled(server, tool, number)
            owner = self._owners.get(name)
            is_kept = self._is_settled or name in self._settled
            if owner is None or (not is_kept and rank < (self._order[owner[0]], owner[1])):
                break
            number += 1
        self._numbered[plain] = (rank, number)
        self._owners[name] = (server, tool)
        if name != made:
            self._unusual.setdefault(server, {})[tool] = name
        elif self._unusual:
            self._unusual.get(server, {}).pop(tool, None)
        self._names.setdefault(server, {})[tool] = name
        if owner is None:
            return []
        del self._names[owner[0]][owner[1]]
        return [owner]

    def _first_number(self, server: str, tool: str, plain: str, rank: tuple[int, str]) -> int:
        """Return the number to begin with, so that thousands of names that are alike cost little.

        A name that was refused to a tool of a lower rank is refused to this one.
        """
        last_rank, last = self._numbered.get(plain, (rank, 0))
        if last_rank < rank and self._owners.get(self._spelled(server, tool, last)):
            return last
        return 1

    def _spelled(self, server: str, tool: str, number: int) -> str:
        made = self._made(server, tool)
        name = self._fitted(server, tool, made, number)
        attempt = 0
        while self._is_foreign(server, name) and attempt < _ATTEMPTS:
            # Its own beginning first, then none: each may be the beginning of another's names.
            start = self._prefixes[server] if attempt < _ATTEMPTS // 2 else ""
            apart = f"{start}{_digest(server, tool, str(attempt))}_{_UNFIT.sub('_', tool)}"
            name = self._fitted(server, tool, apart, number)
            attempt += 1
        return name

    def _made(self, server: str, tool: str) -> str:
        make = self._makers.get(server, self._make)
        return _UNFIT.sub("_", make(self._labels[server], _UNFIT.sub("_", tool))) or "_"

    def _fitted(self, server: str, tool: str, name: str, number: int) -> str:
        suffix = f"_{number}" if number > 1 else ""
        if len(name) + len(suffix) <= self._limit:
            return name + suffix
        ending = f"_{_digest(server, tool)}{suffix}"
        return name[: self._limit - len(ending)] + ending


def _digest(*parts: str) -> str:
    content = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:_DIGEST]


def _maker(naming: Naming) -> Callable[[str, str], str]:
    if callable(naming):
        return naming
    if naming in _STYLES:
        return _STYLES[naming]
    known = ", ".join(map(repr, _STYLES))
    raise UsageError(f"naming is a function or one of {known}, not {naming!r}")
