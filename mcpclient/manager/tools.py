"""The tools of many servers as one list, which stays the same object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from ..framing.escaping import escape_line
from ..protocol.types import Tool

if TYPE_CHECKING:
    from ..client.client import Client

    _Tools = list["ManagedTool"]
else:
    _Tools = list


class Home(Protocol):
    """What a tool asks of its server."""

    @property
    def name(self) -> str:
        """The server's name in the manager."""
        ...

    @property
    def client(self) -> Client:
        """Its client."""
        ...

    @property
    def trusted(self) -> bool:
        """Whether its annotations may be believed."""
        ...

    @property
    def stale(self) -> bool:
        """Whether its tools are those of an earlier connection."""
        ...


class ManagedTool(Tool):
    """A tool of one of many servers.

    ``name`` is its full name, by which a `Manager` calls it; ``raw_name`` is the server's own,
    which ``raw`` has as well. What its annotations promise counts only when the server is trusted:
    otherwise the tool is neither read-only nor idempotent, and it is destructive.
    """

    __slots__ = ("_full_name", "_home")

    def __init__(self, raw: Mapping[str, Any], full_name: str, home: Home) -> None:
        super().__init__(raw)
        self._full_name = full_name
        self._home = home

    def is_as(self, raw: Mapping[str, Any], full_name: str, home: Home) -> bool:
        """Return whether a tool made of these would be no other."""
        is_same = self.raw is raw or self.raw == raw
        return is_same and self._full_name == full_name and self._home is home

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
        return self._home.name

    @property
    def client(self) -> Client:
        """The client of its server."""
        return self._home.client

    @property
    def stale(self) -> bool:
        """Whether the definition is one of an earlier connection, and may have changed."""
        return self._home.stale

    @property
    def read_only(self) -> bool:
        """Whether a trusted server says that it changes nothing."""
        return self._home.trusted and super().read_only

    @property
    def destructive(self) -> bool:
        """Whether it may destroy something: yes, unless a trusted server says otherwise."""
        return not self._home.trusted or super().destructive

    @property
    def idempotent(self) -> bool:
        """Whether a trusted server says that a second call does no more than the first."""
        return self._home.trusted and super().idempotent


class ToolList(_Tools):
    """Tools as a list that stays the same object: a refresh replaces its content at once.

    ``version`` counts the refreshes, so that whoever made something of the list sees in one
    comparison whether to make it again.
    """

    version: int = 0

    def replace(self, tools: Iterable[ManagedTool]) -> None:
        """Take another content, by one assignment."""
        self[:] = tools
        self.version += 1


class Difference(NamedTuple):
    """Names of tools that came, went, or have another definition than before."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


def difference(before: Iterable[ManagedTool], after: Iterable[ManagedTool]) -> Difference:
    """Return what distinguishes two lists, by full name."""
    old = {tool.name: tool for tool in before}
    new = {tool.name: tool for tool in after}
    return Difference(
        tuple(name for name in new if name not in old),
        tuple(name for name in old if name not in new),
        # What has not changed is mostly the same object, which is seen at once.
        tuple(
            name
            for name, tool in new.items()
            if name in old and old[name] is not tool and old[name].raw != tool.raw
        ),
    )
