"""The tools of servers: one list of all that stays the same object, and each server's own.

A server's tools are listed, filtered, compared with their pins, and kept up to date.
"""

from __future__ import annotations

import abc
import asyncio
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import filterfalse
from typing import TYPE_CHECKING, Any, Callable, ClassVar

from ..client.events.around import not_called
from ..client.requests import SUBJECTS, connection_of
from ..errors import CallRefused, McpError, safe_str
from ..framing.escaping import escape_line
from ..framing.invisible import without_invisible
from ..framing.logs import logger_for
from ..net.futures import cancel, in_slices
from ..protocol.types import Tool
from ..protocol.wire_object import string_at
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
        return string_at(self.raw, "name") or ""

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


_LEFT_OUT = "the configuration of its server leaves it out"

# Number of tools to name in one step: under a millisecond.
_NAMED_AT_ONCE = 250


class Catalog:
    """The tools that are offered, by server and together.

    ``tell`` takes a `ToolsUpdated` for each server whose tools have changed.
    """

    # Thousands of tools are named and wrapped in steps. The exchange at the end, and what comes
    # with it, is a single step, so it copies whole lists and dicts and has no loop of its own.

    def __init__(self, names: ToolNames, tell: Callable[[ToolsUpdated], None]) -> None:
        self.names = names
        self.tools: ToolList = ToolList()
        self._tell = tell
        self._servers: dict[str, ServerTools] = {}
        self._offered: dict[str, dict[str, Mapping[str, Any]]] = {}
        self._lists: dict[str, ToolList] = {}
        self._wrapped: dict[str, dict[str, ManagedTool]] = {}  # by full name

    def tools_of(self, server: str) -> ToolList:
        """Return the list of one server, which stays the same object."""
        return self._lists.setdefault(server, ToolList())

    def update(self, server: ServerTools, tools: Iterable[Mapping[str, Any]]) -> None:
        """Replace the tools of a server at once. Of two with one name, the first counts."""
        for _ in self.updating(server, tools):
            pass

    def updating(
        self,
        server: ServerTools,
        tools: Iterable[Mapping[str, Any]],
        refused: Iterable[Mapping[str, Any]] = (),
    ) -> Iterator[bool]:
        """Replace the tools of a server in steps, True being the last before the exchange.

        A tool that is as it was stays the same object. ``refused``: tools that only get names.
        """
        name = server.name
        offered: dict[str, Mapping[str, Any]] = {}
        known = self.names.add_server(name).names
        new: list[str] = []
        for raw in tools:
            yield False
            tool = safe_str(raw.get("name", ""))
            if offered.setdefault(tool, raw) is raw and tool not in known:
                new.append(tool)
        for raw in refused:
            yield False
            new.append(safe_str(raw.get("name", "")))
        new.sort()
        for start in range(0, len(new) or 1, _NAMED_AT_ONCE):
            renamed = self.names.assign(name, new[start : start + _NAMED_AT_ONCE])
            # Other servers have only names, from an earlier run.
            for other in sorted(renamed & self._servers.keys()):
                self.update(self._servers[other], self._offered[other].values())
            yield False
        while True:
            before, moves = self._wrapped.get(name, {}), self.names.moves
            wrapped: dict[str, ManagedTool] = {}
            changed: list[str] = []
            for tool, raw in offered.items():
                yield False
                full_name = known[tool]
                old = before.get(full_name)
                if old is not None and old.raw != raw:
                    changed.append(full_name)
                    old = None
                if old is None or old._server is not server:
                    old = ManagedTool(raw, full_name, server)
                wrapped[full_name] = old
            yield True
            # Meanwhile the list may have been replaced, and names may have got other owners.
            if before is self._wrapped.get(name, before) and moves == self.names.moves:
                break
        self._servers[name], self._offered[name], self._wrapped[name] = server, offered, wrapped
        self.tools_of(name).replace(wrapped.values())
        offers: list[ManagedTool] = []
        for each in self.names.servers:
            offers += self._lists.get(each, ())
        self.tools.replace(offers)
        added = tuple(filterfalse(before.__contains__, wrapped))
        removed = tuple(filterfalse(wrapped.__contains__, before))
        if added or removed or changed:
            self._tell(ToolsUpdated(name, added, removed, tuple(changed)))


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

    async def _list(self) -> Iterator[bool]:
        """List the tools, and return the last step to their offer, for `_adopt`.

        A server that declares tools has to be able to list them.
        """
        tools: list[Mapping[str, Any]] = []
        if "tools" in self.client.capabilities:
            tools = [tool.raw for tool in await self.client.list_all_tools(fresh=True)]
        agreement = connection_of(self.client).agreement
        said = (agreement and agreement.instructions) or ""
        listed = Remembered(tools, said, self.client.protocol_version or "")
        steps = self._offering(listed, is_new=True)
        await in_slices(iter(steps.__next__, True))
        return steps

    def _recall(self, remembered: Remembered, *, offer: bool) -> None:
        """Restore the tools of an earlier run: offer them, or only keep their names."""
        self._said = remembered.instructions
        if offer:
            self._adopt(self._offering(remembered, is_new=False))
        elif self.config.state == "ready":
            self._shared.catalog.names.assign(self.name, by_name(remembered.tools))

    def _adopt(self, steps: Iterator[bool]) -> None:
        """Finish an offer, whose first steps may have been taken already."""
        for _ in steps:
            pass

    def _offering(self, listed: Remembered, *, is_new: bool) -> Iterator[bool]:
        """Compare tools with the pins, and offer those that filters and pins let through.

        In steps, True being the last before anyone sees a difference. ``is_new``: whether the tools
        come from the present connection.
        """
        pins = self._shared.pins
        tools = yield from self._filtered(listed.tools)
        if pins is None:
            steps = repeated_tools(tools)
        else:
            steps = pins._comparing(self.name, self._to_pin(map(Tool, tools), listed.instructions))
        found: list[Mismatch] = []
        for each in steps:
            yield False
            if each is not None:
                found.append(each)
        offered = tools if pins is None else pins.offered(self.name, found, tools)
        refused = () if offered is tools else tools
        exchange = self._shared.catalog.updating(self, offered, refused)
        yield from iter(exchange.__next__, True)
        yield True
        self.stale = self.stale and not is_new
        known, self.mismatches = self.mismatches, tuple(found)
        self._listed, self._said = tools, listed.instructions
        for mismatch in found if pins is not None else ():
            self._shared.events.tell(PinMismatch(self.name, mismatch))
        for _ in exchange:
            pass
        if is_new and self._shared.memory is not None:
            self._shared.memory.note(memory_key(self.config), listed)
        for mismatch in self.mismatches:
            if mismatch not in known:
                _logger.warning("%s: %s", self.name, mismatch)

    def withdraw(self) -> None:
        """Offer no tools any more."""
        self.stale = True
        self._shared.catalog.update(self, ())

    def handed_on(
        self, tools: Sequence[Mapping[str, Any]]
    ) -> Generator[bool, None, Sequence[Mapping[str, Any]]]:
        """Return the definitions that filters and pins let through, of ``tools`` as listed."""
        pins, offered = self._shared.pins, (yield from self._filtered(tools))
        return offered if pins is None else pins.offered(self.name, self.mismatches, offered)

    def _filtered(
        self, tools: Sequence[Mapping[str, Any]]
    ) -> Generator[bool, None, Sequence[Mapping[str, Any]]]:
        include, exclude = self.config.include, self.config.exclude
        if not include and not exclude:
            return tools
        kept = []
        for tool in tools:
            yield False
            if is_offered(safe_str(tool.get("name", "")), include, exclude):
                kept.append(tool)
        return kept

    def to_pin(self) -> ServerOffer:
        """Return the content of a lock file for the server, with tools that are listed twice."""
        return self._to_pin([Tool(raw) for raw in self._listed], self._said)

    def _to_pin(self, tools: Iterable[Tool], said: str) -> ServerOffer:
        digest = "" if self.config.bundle is None else self.config.bundle.sha256
        return ServerOffer(self.config.fingerprint(), tools, said, digest)

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
