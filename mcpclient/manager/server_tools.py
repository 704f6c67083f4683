"""The tools of one server as they are offered: listed, filtered, pinned, and kept up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..client.events.around import SUBJECTS, not_called
from ..client.listen import Subscription
from ..errors import CallRefused, McpError, safe_str
from ..framing.logs import logger_for
from ..protocol.types import Tool
from ..transports.backoff import Retries
from .configured import Shared
from .events import PinMismatch
from .filters import is_offered
from .managed_client import ManagedClient
from .memory import Remembered, memory_key
from .pins import Mismatch, ServerOffer, repeated_tools

if TYPE_CHECKING:
    from .server import Server

_logger = logger_for("mcpclient.manager")


class ServerTools:
    """The tools of one server, and its instructions.

    ``stale``: the tools are those of an earlier connection. ``said``: the server's instructions.
    ``mismatches``: the differences from the lock file, and tools that are listed twice.
    """

    def __init__(self, server: Server, shared: Shared) -> None:
        self.stale: bool = True
        self.said: str = ""
        self.mismatches: tuple[Mismatch, ...] = ()
        self._server = server
        self._shared = shared
        self._tools: Sequence[Mapping[str, Any]] = ()
        self._refused: dict[str, str] = {}
        self._withholds = False
        self._follower: asyncio.Task[None] | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._is_outdated = False

    @property
    def instructions(self) -> str:
        """The instructions of the server; nothing where pins refuse them."""
        return "" if self._withholds else self.said

    def withdraw(self) -> None:
        """Offer no tools any more."""
        self.stale = True
        self._shared.catalog.update(self._server, ())

    def stop(self) -> None:
        """Cancel the tasks in the background."""
        for task in (self._follower, self._refreshing):
            if task is not None:
                task.cancel()
        self._follower = self._refreshing = None

    async def list(self) -> Sequence[Mapping[str, Any]]:
        """Return the tools; a server that declares them has to be able to list them."""
        client = self._server.client
        if "tools" not in client.capabilities:
            return []
        listed = await client.list_tools(fresh=True)
        tools: Sequence[Mapping[str, Any]] = [tool.raw for tool in listed]
        await self._shared.catalog.prepare(self._server, self._offered(tools))
        return tools

    def adopt(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Offer the tools of the present connection."""
        self.stale = False
        self.said = self._server.client.instructions or ""
        self.show(tools)
        if self._shared.memory is not None:
            version = self._server.client.protocol_version or ""
            remembered = Remembered(tools, self.said, version)
            self._shared.memory.note(memory_key(self._server.config), remembered)

    def show(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Offer those of ``tools`` that the filters let through, and compare them with the pins."""
        self._tools = self._offered(tools)
        self._shared.catalog.update(self._server, self._tools)
        pins = self._shared.pins
        if pins is None:
            self.mismatches = repeated_tools(self._tools)
            return
        mismatches = pins.compare(self._server.name, *self.to_pin())
        self._refused, self.mismatches = pins.refused(mismatches), tuple(mismatches)
        self._withholds = pins.mode == "refuse" and any(not each.tool for each in mismatches)
        for mismatch in mismatches:
            _logger.warning("%s: %s", self._server.name, mismatch)
            self._shared.events.tell(PinMismatch(self._server.name, mismatch))

    def _offered(self, tools: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        include, exclude = self._server.config.include, self._server.config.exclude
        if not include and not exclude:
            return tools
        return [
            tool for tool in tools if is_offered(safe_str(tool.get("name", "")), include, exclude)
        ]

    def to_pin(self) -> ServerOffer:
        """Return the content of a lock file for the server, with tools that are listed twice."""
        tools = [Tool(raw) for raw in self._tools]
        return ServerOffer(self._server.config.fingerprint(), tools, self.said)

    def follow(self) -> None:
        """Listen for changes of the tools, where the server announces them."""
        declared = self._server.client.capabilities.get("tools")
        changes = isinstance(declared, Mapping) and declared.get("listChanged") is True
        if self._shared.auto_refresh and changes:
            loop = asyncio.get_running_loop()
            self._follower = loop.create_task(self._listen(self._server.client))

    async def _listen(self, client: ManagedClient) -> None:
        """Listen for changes until there are no more; try again a few times where that may help."""
        retries, is_late = Retries(), False
        with suppress(McpError):  # which is raised where another try is pointless
            while True:
                try:
                    async with client.listen(tools=True) as changes:
                        if is_late:
                            self.refresh_soon()  # they may have changed while nobody listened
                        while not await self._are_over(changes):
                            pass  # only the server's own channel is lost: see `Subscription`
                    return
                except McpError as error:
                    _logger.debug("%s tells no changes: %s", self._server.name, error)
                    await retries.wait_after(error)
                    is_late = True

    async def _are_over(self, changes: Subscription) -> bool:
        """Listen for changes until there are no more, or until an error comes in between."""
        try:
            async for _ in changes:
                self.refresh_soon()
        except McpError as error:
            _logger.debug("%s tells fewer changes, or none: %s", self._server.name, error)
            return False
        return True

    def refresh_soon(self) -> None:
        """List the tools again in the background.

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
                self.adopt(await self.list())
            except McpError as error:
                self.stale = True
                _logger.warning(
                    "%s: tools/list failed; keeping the previous tools: %s",
                    self._server.name,
                    error,
                )
                with suppress(McpError):  # which is raised where another try is pointless
                    await retries.wait_after(error)
                    self._is_outdated = True

    def guard(self, method: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Refuse tools that filters leave out or that differ from their pins; None lets it pass.

        The last thing before every request, however it was made, and after the hooks: what was
        approved is what runs. Raises `CallRefused` for a prompt or a resource.
        """
        key = SUBJECTS.get(method)
        if key is None and method != "completion/complete":
            return None
        name = str(params.get(key or "ref"))
        reason = self._refusal_of(name if method == "tools/call" else None)
        if reason is None:
            return None
        if method != "tools/call":
            raise CallRefused(method, name, reason)
        return not_called(self._server.full_name(method, name), reason).raw

    def _refusal_of(self, tool: str | None) -> str | None:
        """Return why a tool, or anything else of the server, is refused; None when it is not."""
        config, pins = self._server.config, self._shared.pins
        if tool is not None and not is_offered(tool, config.include, config.exclude):
            return "the configuration of its server leaves it out"
        if pins is None or pins.mode == "warn":
            return None
        if self.stale:  # no other connection, nor another list, says what may be called now
            return "its server has not been compared with the lock file yet"
        if "" in self._refused:
            return self._refused[""]
        if tool is None:
            return None if pins.knows(self._server.name) else "its server is not in the lock file"
        unlisted = None if pins.knows(self._server.name, tool) else "it is not in the lock file"
        return self._refused.get(tool, unlisted)
