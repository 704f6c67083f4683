"""Tool names that are unique across servers, resolved by a table, never by parsing, and filters.

A tool keeps its name for the life of the manager, and in the next run. A name with the prefix of a
configured server belongs to it even while it is not connected, so a model or a written rule never
means another server.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from functools import lru_cache
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
# Thousands of names that are alike would cost much if each tried the numbers of all others.
_MOST_NUMBERED = 9


class ParsedName(NamedTuple):
    """The parts of a full name: the server, cleaned, and the tool, None for all of its tools."""

    server: str
    tool: str | None


def parse_tool_name(name: str) -> ParsedName | None:
    """Split a name of the style ``mcp__server__tool`` or ``server__tool``.

    For permission rules only: ``mcp__github`` names every tool of a server. Which tool a call means
    is looked up instead. A server's name is cleaned in it: ``github__x`` becomes ``github_x``, so
    that its tools are not mistaken for ``github``'s. None for a name of another form.
    """
    begins, separator, rest = name.partition("__")
    if begins != "mcp":
        rest = name if separator else ""
    server, _, tool = rest.partition("__")
    return ParsedName(server, tool or None) if server else None


@dataclass
class _Server:
    """The names of one server's tools.

    ``label``: the server's name in them, "" until it is reserved. ``prefix``: the beginning that
    all of them have, if any, but for the ``strays``. ``names``: by the tools' own names.
    ``record``: of an earlier run.
    """

    order: int
    make: Callable[[str, str], str]
    label: str = ""
    prefix: str = ""
    names: dict[str, str] = field(default_factory=dict)
    strays: list[str] = field(default_factory=list)
    record: Mapping[str, Any] = field(default_factory=dict)

    def named(self, label: str, tool: str) -> str:
        """Return the name of a tool, of any length, when this is the label."""
        return self.make(label, _cleaned(tool)) or "_"

    def add(self, tool: str, name: str) -> None:
        """Let a tool have a name."""
        self.names[tool] = name
        if not name.startswith(self.prefix):
            self.strays.append(name)

    def may_begin(self, prefix: str) -> Iterable[str]:
        """Return the names that may begin so: few or none, unless its own prefix allows it."""
        own = self.prefix
        if own and not own.startswith(prefix) and not prefix.startswith(own):
            return self.strays
        return self.names.values()


class ToolNames:
    """The full name of every tool, and the tool of every full name.

    ``naming``: how a name is made, unless the server has a way of its own; what does not fit
    ``[a-zA-Z0-9_-]`` becomes ``_``. ``limit``: the longest name there may be. ``servers``: in the
    order of the configuration.

    A name that is taken gets ``_2``, ``_3`` and so on, above ``_9`` a digest; a name over the limit
    is cut, and ends with a digest of the server's and the tool's own names. Until `settle`, a
    server that comes first in the order takes names from later ones; after it, a name never changes
    its owner.

    Names of a server begin with its label: its name, cleaned and without ``__``. Of two servers
    with one label, and of a server whose label other tools' names begin with already, the
    newcomer's gets a digest. A tool whose name would begin as another server's has a digest in
    front.
    """

    def __init__(self, naming: Naming, limit: int, servers: Sequence[str] = ()) -> None:
        self.naming: Naming = naming
        self._make = _maker(naming)
        if limit < _MIN_LIMIT:
            raise UsageError(f"name_limit is {_MIN_LIMIT} or more, not {limit!r}")
        self.limit: int = limit
        self._servers: dict[str, _Server] = {}
        self._pending: list[str] = []  # servers that have no label yet
        self._claims: dict[str, str] = {}  # the server whose names begin so, in any style
        self._lengths: list[int] = []  # of the claims, the longest first
        self._owners: dict[str, tuple[str, str]] = {}
        self._settled: set[str] = set()
        self._is_settled = False
        self.moves: int = 0  # how often a name has got another owner
        for server in servers:
            self.add_server(server)

    def add_server(self, server: str, naming: Naming | None = None) -> _Server:
        """Register a server after the known ones, with its own naming, if any; names are kept."""
        known = self._servers.get(server)
        if known is None:
            known = self._servers[server] = _Server(len(self._servers), self._make)
            self._pending.append(server)
        if naming is not None:
            known.make = _maker(naming)
            if known.label and not known.names:
                known.label = known.prefix = ""
                self._pending.append(server)
        return known

    def recall(self, server: str, record: Mapping[str, Any]) -> None:
        """Let a server have the names that `to_record` returned in an earlier run."""
        self.add_server(server).record = record

    def to_record(self, server: str) -> dict[str, Any]:
        """Return an argument for `recall`: the label, and the unusual names."""
        known = self.add_server(server)
        unusual = {
            tool: name
            for tool, name in known.names.items()
            if name != self._fitted(server, tool, known.named(known.label, tool))
        }
        return {"label": known.label, "spelling": self._spelling(known), "names": unusual}

    def reserve(self, rank: Callable[[str], Any] = lambda server: 0) -> None:
        """Give labels to the servers that have none, in the order of ``rank``.

        Then to those whose names are labels as they are, and in the order of the configuration.
        """
        pending, self._pending = self._pending, []

        def key(server: str) -> tuple[Any, ...]:
            known = self._servers[server]
            is_plain = _label(server) == server
            return not known.record, rank(server), not is_plain, known.order

        for server in sorted(pending, key=key):
            self._reserve(server, self._servers[server])
        if pending:
            self._lengths = sorted({len(claim) for claim in self._claims}, reverse=True)
        for server in pending:
            self._restore(server, self._servers[server])

    def _reserve(self, server: str, known: _Server) -> None:
        plain = _label(server)
        apart = f"{plain[: self.limit // 4].rstrip('_')}_{_digest(server)}"
        was_apart = known.record.get("label") == apart
        # A name that begins with "mcp__" would be read as one of another style.
        usable = [plain] if plain and plain != "mcp" else []
        for label in (apart, *usable, apart) if was_apart else (*usable, apart):
            one, other = known.named(label, "x"), known.named(label, "y")
            is_first = (one[:-1] + "y", one[-1:]) == (other, "x")
            prefix = one[:-1] if is_first else ""  # the beginning that all names have, if any
            known.label, known.prefix = label, prefix
            is_claimed = self._claims.get(prefix, server) != server
            if not prefix or not (is_claimed or self._is_in_use(prefix, server)):
                break
        # In another style than its own, a name would be read as this server's all the same.
        for claim in (f"{known.label}__", f"mcp__{known.label}__"):
            self._claims.setdefault(claim, server)
        if known.prefix:
            self._claims[known.prefix] = server

    def _is_in_use(self, prefix: str, server: str) -> bool:
        return bool(self._owners) and any(  # when a manager opens, no tool has a name yet
            name.startswith(prefix) and self._owners[name][0] != server
            for known in self._servers.values()
            for name in known.may_begin(prefix)
        )

    def _spelling(self, known: _Server) -> str:
        return f"{known.make('server', 'tool')} {self.limit}"

    def _restore(self, server: str, known: _Server) -> None:
        record, known.record = known.record, {}
        names = record.get("names")
        if record.get("spelling") != self._spelling(known) or not isinstance(names, Mapping):
            return
        for tool, name in names.items():
            if not isinstance(name, str) or not name or _UNFIT.search(name):
                continue
            is_free = len(name) <= self.limit and name not in self._owners
            if is_free and not self._is_foreign(server, name):
                self._owners[name] = (server, tool)
                known.add(tool, name)
                self._settled.add(name)

    @property
    def servers(self) -> list[str]:
        """The servers, in their order."""
        return list(self._servers)

    def names_of(self, server: str) -> Mapping[str, str]:
        """Return the full names of a server's tools, by their own names."""
        known = self._servers.get(server)
        return {} if known is None else known.names

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
        self.reserve()
        fitting = [
            (len(known.prefix), server)
            for server, known in self._servers.items()
            if known.prefix and full_name.startswith(known.prefix)
        ]
        return max(fitting)[1] if fitting else None

    def _is_foreign(self, server: str, name: str) -> bool:
        """Return whether another server claims a name by its beginning, the longest one counts."""
        for length in self._lengths:
            claimant = self._claims.get(name[:length])
            if claimant is not None:
                return claimant != server
        return False

    def assign(self, server: str, tools: Iterable[str]) -> set[str]:
        """Give names to the tools of a server; those that have one keep it.

        Returns the servers whose tools got other names than before, this one left out.
        """
        known = self.add_server(server)
        self.reserve()
        new = [(known.order, tool, server) for tool in set(tools).difference(known.names)]
        unnamed = sorted(new, reverse=True)
        changed = set()
        while unnamed:
            _, tool, owner = unnamed.pop()
            displaced = self._give(owner, tool)
            if displaced is not None:
                self.moves += 1
                owner, tool = displaced
                changed.add(owner)
                unnamed.append((self._servers[owner].order, tool, owner))
                unnamed.sort(reverse=True)
        return changed - {server}

    def _give(self, server: str, tool: str) -> tuple[str, str] | None:
        """Give a tool the first name it may have; return the owner that this displaces, if any."""
        known = self._servers[server]
        number = 1
        while True:
            name = self._spelled(server, tool, number)
            owner = self._owners.get(name)
            if owner is None:
                break
            is_kept = self._is_settled or name in self._settled
            if not is_kept and (known.order, tool) < (self._servers[owner[0]].order, owner[1]):
                del self._servers[owner[0]].names[owner[1]]
                break
            number += 1
        self._owners[name] = (server, tool)
        known.add(tool, name)
        return owner

    def _spelled(self, server: str, tool: str, number: int) -> str:
        known = self._servers[server]
        made = known.named(known.label, tool)
        if number > _MOST_NUMBERED:
            made, number = f"{made}_{_digest(server, tool)}", number - _MOST_NUMBERED
        name = self._fitted(server, tool, made, number)
        attempt = 0
        while self._is_foreign(server, name) and attempt < _ATTEMPTS:
            # Its own beginning first, then none: each may be the beginning of another's names.
            start = known.prefix if attempt < _ATTEMPTS // 2 else ""
            apart = f"{start}{_digest(server, tool, str(attempt))}_{_cleaned(tool)}"
            name = self._fitted(server, tool, apart, number)
            attempt += 1
        return name

    def _fitted(self, server: str, tool: str, name: str, number: int = 1) -> str:
        suffix = f"_{number}" if number > 1 else ""
        if len(name) + len(suffix) <= self.limit:
            return name + suffix
        ending = f"_{_digest(server, tool)}{suffix}"
        return name[: self.limit - len(ending)] + ending


def _cleaned(text: str) -> str:
    """Return a string with _ in place of all that a name must not have."""
    return text if text.isascii() and text.isidentifier() else _UNFIT.sub("_", text)


def _label(server: str) -> str:
    """Return a server's name, cleaned, and so that the first ``__`` behind it is its end."""
    return re.sub("_{2,}", "_", _cleaned(server)).rstrip("_")


def _digest(*parts: str) -> str:
    content = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:_DIGEST]


def _maker(naming: Naming) -> Callable[[str, str], str]:
    if callable(naming):  # the usual styles make no name unfit
        return lambda server, tool: _cleaned(naming(server, tool))
    if naming in _STYLES:
        return _STYLES[naming]
    known = ", ".join(map(repr, _STYLES))
    raise UsageError(f"naming is a function or one of {known}, not {naming!r}")


# Filters of tools, by their own names and their servers'


def is_offered(tool: str, include: Sequence[str], exclude: Sequence[str]) -> bool:
    """Return whether a tool is offered, by its own name.

    Patterns have ``*``, ``?`` and ``[…]``; upper and lower case differ. Without ``include`` every
    tool is in; what ``exclude`` names is out, whatever ``include`` says.
    """
    if include and not any_pattern(tuple(include)).match(tool):
        return False
    return not exclude or not any_pattern(tuple(exclude)).match(tool)


def fits_pair(pattern: str, server: str, tool: str) -> bool:
    """Return whether ``server/tool`` fits a tool of a server, or ``tool`` a tool of any server.

    Both are names of the configuration and of the server; the names made for models do not matter.
    A ``*`` never crosses from the server's name into the tool's, and either may contain ``/``.
    """
    if "/" not in pattern:
        return any_pattern((pattern,)).match(tool) is not None
    parts = pattern.split("/")
    return any(
        any_pattern(("/".join(parts[:end]),)).match(server)
        and any_pattern(("/".join(parts[end:]),)).match(tool)
        for end in range(1, len(parts))
    )


def fits_server(pattern: str, server: str) -> bool:
    """Return whether ``server/tool`` may fit any tool of a server, as ``tool`` always may."""
    parts = pattern.split("/")
    ends = range(1, len(parts))
    return not ends or any(any_pattern(("/".join(parts[:end]),)).match(server) for end in ends)


@lru_cache(maxsize=256)
def any_pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return one expression that matches a name whenever one of the patterns does."""
    return re.compile("|".join(map(translate, patterns)) or "(?!)")
