"""The tools of servers: one list of all that stays the same object, and each server's own.

A server's tools are listed, filtered, compared with their pins, and kept up to date.
"""

from __future__ import annotations

import abc
import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Callable, ClassVar, TypeVar

from ..client.events.around import not_called
from ..client.requests import SUBJECTS, connection_of
from ..errors import CallRefused, McpError, safe_str
from ..framing.escaping import escape_line
from ..framing.invisible import without_invisible
from ..framing.logs import logger_for
from ..net.futures import cancel
from ..protocol.types import Tool
from ..transports.backoff import Retries
from .events import PinMismatch, ToolsUpdated
from .naming import ToolNames, is_offered
from .pins import Mismatch, Remembered, ServerOffer, by_name, memory_key, repeated_tools

if TYPE_CHECKING:
    from ..client.client import Client
    from ..client.subscription import Subscription
    from ..config.config import ServerConfig
    from .fleet import Fleet
    from .managed_client import ManagedClient

_logger = logger_for("mcpclient.manager")


class ManagedTool(Tool):
    """A tool of one of many servers.

    ``name`` is its full name, by which a `Manager` calls it; ``raw_name`` is the server's own,
    which ``raw`` has as well. What its annotations promise counts only when the server is trusted:
    otherwise the tool is neither read-only nor idempotent, and it is destructive.
    """

    __slots__ = ("_full_name", "_server")

    def __init__(self, raw: Mapping[str, Any], full_name: str, server: ServerTools) -> None:
        super().__init__(raw)
        self._full_name = full_name
        self._server = server

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


class ToolList(list[ManagedTool]):
    """Tools as a list that stays the same object: a refresh replaces its content at once.

    ``version`` counts the refreshes: a cheap check for caches made from the list.
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
        # Unchanged tools are mostly identical objects, which compare fast.
        tuple(
            name
            for name, tool in new.items()
            if name in old and old[name] is not tool and old[name].raw != tool.raw
        ),
    )


T = TypeVar("T")

_LEFT_OUT = "the configuration of its server leaves it out"

# Number of tools to name or wrap before yielding to the event loop: under a millisecond.
_SLICE = 250


class Catalog:
    """The tools that are offered, by server and together.

    ``tell`` takes a `ToolsUpdated` for each server whose tools have changed.
    """

    def __init__(self, names: ToolNames, tell: Callable[[ToolsUpdated], None]) -> None:
        self.names = names
        self.tools: ToolList = ToolList()
        self._tell = tell
        self._servers: dict[str, ServerTools] = {}
        self._offered: dict[str, dict[str, Mapping[str, Any]]] = {}
        self._lists: dict[str, ToolList] = {}
        self._wrapped: dict[str, dict[str, ManagedTool]] = {}

    def tools_of(self, server: str) -> ToolList:
        """Return the list of one server, which stays the same object."""
        return self._lists.setdefault(server, ToolList())

    async def prepare(self, server: ServerTools, tools: Sequence[Mapping[str, Any]]) -> None:
        """Name the tools of a server, and wrap those that have changed, a few at a time.

        After it, `update` with the same tools takes little time, however many they are.
        """
        offered = by_name(tools)
        for names in _slices(sorted(offered.keys() - self.names.names_of(server.name).keys())):
            self._show(self._assign(server.name, names))
            await asyncio.sleep(0)
        for items in _slices(list(offered.items())):
            self._wrapped.setdefault(server.name, {}).update(self._wrap(server, items))
            await asyncio.sleep(0)

    def update(self, server: ServerTools, tools: Sequence[Mapping[str, Any]]) -> None:
        """Replace the tools of a server. Of two with one name, the first counts.

        A tool that is as it was stays the same object.
        """
        offered = by_name(tools)
        renamed = self._assign(server.name, offered)
        self._servers[server.name], self._offered[server.name] = server, offered
        self._show([server.name, *renamed])

    def _assign(self, server: str, tools: Iterable[str]) -> Sequence[str]:
        """Name tools; return the servers offering others that are named otherwise now."""
        renamed = self.names.assign(server, tools)
        # Other servers have only names, from an earlier run.
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
        self, server: ServerTools, tools: Iterable[tuple[str, Mapping[str, Any]]]
    ) -> Iterator[tuple[str, ManagedTool]]:
        names, wrapped = self.names.names_of(server.name), self._wrapped.get(server.name, {})
        for name, raw in tools:
            made, known = ManagedTool(raw, names[name], server), wrapped.get(name)
            is_same = known is not None and known._server is server and known == made
            yield name, known if known is not None and is_same else made


def _slices(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + _SLICE] for start in range(0, len(items), _SLICE))


class ServerTools(abc.ABC):
    """The part of a `Server` about its tools, and its instructions.

    ``stale``: the tools come from an earlier connection. ``mismatches``: the differences from
    the lock file, see `Pins`, and tools that are listed twice.
    """

    name: str
    config: ServerConfig
    _shared: Fleet

    def __init__(self) -> None:
        self.stale: bool = True
        self.mismatches: tuple[Mismatch, ...] = ()
        self._said = ""  # the instructions as they came
        self._listed: Sequence[Mapping[str, Any]] = ()
        self._follower: asyncio.Task[None] | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._is_outdated = False

    @property
    @abc.abstractmethod
    def client(self) -> ManagedClient:
        """Its client."""

    @property
    def trusted(self) -> bool:
        """Whether its annotations may be believed."""
        return self.config.trusted or bool(self._options.get("trusted"))

    @property
    def _options(self) -> Mapping[str, Any]:
        return {**self._shared.options, **self.config.options}

    @property
    def tools(self) -> ToolList:
        """The tools that are offered, a list that stays the same object."""
        return self._shared.catalog.tools_of(self.name)

    @property
    def instructions(self) -> str:
        """The instructions of the server, or ""; nothing where pins refuse them."""
        pins = self._shared.pins
        is_other = any(not each.tool for each in self.mismatches)
        is_refused = is_other and pins is not None and pins.mode == "refuse"
        return "" if is_refused else without_invisible(self._said)

    @property
    def _section(self) -> str:
        """The instructions under a heading with its name, "" where it has none.

        Every line is quoted (``> ``), so that none passes for another's heading.
        """
        text = self.instructions.strip()
        quoted = "\n".join(f"> {line}".rstrip() for line in text.splitlines())
        return quoted and f"## {' '.join(self.name.split())}\n\n{quoted}"

    def _stop_listening(self) -> None:
        for task in (self._follower, self._refreshing):
            cancel(task)
        self._follower = self._refreshing = None

    async def _list(self) -> Sequence[Mapping[str, Any]]:
        """Return the tools; a server that declares them has to be able to list them."""
        if "tools" not in self.client.capabilities:
            return []
        listed = await self.client.list_all_tools(fresh=True)
        tools: Sequence[Mapping[str, Any]] = [tool.raw for tool in listed]
        await self._shared.catalog.prepare(self, self._filtered(tools))
        return tools

    def _recall(self, remembered: Remembered, *, offer: bool) -> None:
        """Restore the tools of an earlier run: offer them, or only keep their names."""
        self._said = remembered.instructions
        if offer:
            self._show(remembered.tools)
        elif self.config.state == "ready":
            self._shared.catalog.names.assign(self.name, by_name(remembered.tools))

    def _adopt(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Offer the tools of the present connection."""
        self.stale = False
        agreement = connection_of(self.client).agreement
        self._said = (agreement and agreement.instructions) or ""
        self._show(tools)
        if self._shared.memory is not None:
            remembered = Remembered(tools, self._said, self.client.protocol_version or "")
            self._shared.memory.note(memory_key(self.config), remembered)

    def _show(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Compare tools with the pins, and offer those that filters and pins let through."""
        self._listed = self._filtered(tools)
        pins, known = self._shared.pins, self.mismatches
        if pins is None:
            self.mismatches = repeated_tools(self._listed)
        else:
            self.mismatches = tuple(pins.compare(self.name, *self.to_pin()))
            for mismatch in self.mismatches:
                self._shared.events.tell(PinMismatch(self.name, mismatch))
        self._shared.catalog.update(self, self.handed_on(tools))
        for mismatch in self.mismatches:
            if mismatch not in known:
                _logger.warning("%s: %s", self.name, mismatch)

    def withdraw(self) -> None:
        """Offer no tools any more."""
        self.stale = True
        self._shared.catalog.update(self, ())

    def handed_on(self, tools: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Return the definitions that filters and pins let through, of ``tools`` as listed."""
        pins, offered = self._shared.pins, self._filtered(tools)
        return offered if pins is None else pins.offered(self.name, self.mismatches, offered)

    def _filtered(self, tools: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        include, exclude = self.config.include, self.config.exclude
        if not include and not exclude:
            return tools
        return [
            tool for tool in tools if is_offered(safe_str(tool.get("name", "")), include, exclude)
        ]

    def to_pin(self) -> ServerOffer:
        """Return the content of a lock file for the server, with tools that are listed twice."""
        tools = [Tool(raw) for raw in self._listed]
        digest = "" if self.config.bundle is None else self.config.bundle.sha256
        return ServerOffer(self.config.fingerprint(), tools, self._said, digest)

    def _follow(self) -> None:
        """Listen for changes of the tools, where the server announces them."""
        declared = self.client.capabilities.get("tools")
        changes = isinstance(declared, Mapping) and declared.get("listChanged") is True
        if self._shared.auto_refresh and changes:
            self._follower = asyncio.get_running_loop().create_task(self._listen(self.client))

    async def _listen(self, client: ManagedClient) -> None:
        """Listen for changes until there are no more; try again a few times where that may help."""
        retries, is_late = Retries(), False
        with suppress(McpError):  # raised where another try is pointless
            while True:
                try:
                    async with client.listen(tools=True) as changes:
                        if is_late:
                            self.renewed()  # they may have changed meanwhile
                        while not await self._are_over(changes):
                            pass  # only the server's own channel is lost: see `Subscription`
                    return
                except McpError as error:
                    _logger.debug("%s tells no changes: %s", self.name, error)
                    await retries.wait_after(error)
                    is_late = True

    async def _are_over(self, changes: Subscription) -> bool:
        """Listen for changes until there are no more, or until an error comes in between."""
        try:
            async for _ in changes:
                self.renewed()
        except McpError as error:
            _logger.debug("%s tells fewer changes, or none: %s", self.name, error)
            return False
        return True

    def renewed(self) -> None:
        """List the tools again in the background: of a new session, or after a change.

        Once more where they change meanwhile, and a few times where that fails and may pass.
        """
        self._is_outdated = True
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.get_running_loop().create_task(self._refresh())

    async def _refresh(self) -> None:
        retries = Retries()
        while self._is_outdated:
            self._is_outdated = False
            try:
                self._adopt(await self._list())
            except McpError as error:
                self.stale = True
                text = "%s: tools/list failed; keeping the previous tools: %s"
                _logger.warning(text, self.name, error)
                with suppress(McpError):  # raised where another try is pointless
                    await retries.wait_after(error)
                    self._is_outdated = True

    def _guard(self, method: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Refuse tools that filters leave out or that differ from their pins; None lets it pass.

        The last thing before every request, however it was made, and after the hooks: what was
        approved is what runs. Raises `CallRefused` for a prompt or a resource.
        """
        key = SUBJECTS.get(method)
        if key is None and method != "completion/complete":
            return None
        name = str(params.get(key or "ref"))
        reason = self.refusal_of(name if method == "tools/call" else None)
        if reason is None:
            return None
        if method != "tools/call":
            raise CallRefused(method, name, reason)
        by = "filter" if reason == _LEFT_OUT else "pin"
        return not_called(self.full_name(method, name), reason, by).raw

    def full_name(self, method: str, name: str) -> str:
        """Return the name of a tool, a prompt or a resource among all servers'."""
        if method == "tools/call":
            return self._shared.catalog.names.names_of(self.name).get(name, name)
        return f"{self.name}:{name}"

    def is_repeatable(self, tool: str) -> bool:
        """Whether a trusted server says that a second call does no more than the first."""
        return any(each.raw_name == tool and each.idempotent for each in self.tools)

    def refusal_of(self, tool: str | None) -> str | None:
        """Return why a tool, or anything else of the server, is refused; None when it is not."""
        config, pins = self.config, self._shared.pins
        if tool is not None and not is_offered(tool, config.include, config.exclude):
            return _LEFT_OUT
        if pins is None or pins.mode == "warn":
            return None
        if self.stale:  # no other connection, nor another list, says what may be called now
            return "its server has not been compared with the lock file yet"
        refused = pins.refused(self.mismatches)
        reason = refused.get("")
        if reason is None and not pins.knows(self.name):
            reason = "its server is not in the lock file"
        if reason is None and tool is not None:
            is_locked = pins.knows(self.name, tool)
            reason = refused.get(tool, None if is_locked else "it is not in the lock file")
        command = pins.command(self.name)
        return reason and f"{reason}; {command} shows the difference"
