"""The tools of one server as they are offered: listed, filtered, pinned, and kept up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from ..client.link.retries import Retries
from ..client.listen import Subscription
from ..config.server import ServerConfig
from ..errors import McpError
from ..framing.logs import logger_for
from .events import PinMismatch
from .filters import is_offered
from .managed_client import ManagedClient
from .memory import Remembered, memory_key
from .pins import Mismatch, Pins
from .shared import Shared
from .tools import Home

__all__ = ["Offer"]

_logger = logger_for("mcpclient.manager")


class OfferingServer(Home, Protocol):
    """Whose tools they are."""

    config: ServerConfig

    @property
    def client(self) -> ManagedClient:
        """Its client."""
        ...


class Offer:
    """What one server offers.

    ``stale``: the tools are those of an earlier connection. ``instructions``: how the server wants
    to be used. ``mismatches``: what is not as the lock file says.
    """

    def __init__(self, home: OfferingServer, shared: Shared) -> None:
        self.stale: bool = True
        self.instructions: str = ""
        self.mismatches: tuple[Mismatch, ...] = ()
        self._home = home
        self._shared = shared
        self._refused: dict[str, str] = {}
        self._follower: asyncio.Task[None] | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._is_outdated = False

    def withdraw(self) -> None:
        """Offer no tools any more."""
        self.stale = True
        self._shared.catalog.update(self._home, ())

    def stop(self) -> None:
        """End what goes on in the background."""
        for task in (self._follower, self._refreshing):
            if task is not None:
                task.cancel()
        self._follower = self._refreshing = None

    async def list(self) -> list[Mapping[str, Any]]:
        """Return the tools; a server that declares them has to be able to list them."""
        client = self._home.client
        if "tools" not in client.capabilities:
            return []
        return [tool.raw for tool in await client.list_tools(fresh=True)]

    def adopt(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Take the tools of the present connection."""
        self.stale = False
        self.instructions = self._home.client.instructions or ""
        self.show(tools)
        if self._shared.memory is not None:
            version = self._home.client.protocol_version or ""
            remembered = Remembered(tools, self.instructions, version)
            self._shared.memory.note(memory_key(self._home.config), remembered)

    def show(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Offer those of ``tools`` that the filters let through, and compare them with the pins."""
        include, exclude = self._home.config.include, self._home.config.exclude
        offered = [
            tool for tool in tools if is_offered(str(tool.get("name", "")), include, exclude)
        ]
        self._shared.catalog.update(self._home, offered)
        if self._shared.pins is not None:
            self._compare(self._shared.pins)

    def _compare(self, pins: Pins) -> None:
        mismatches = pins.compare(
            self._home.name,
            self._home.config.fingerprint(),
            self._shared.catalog.tools_of(self._home.name),
        )
        self._refused, self.mismatches = pins.refused(mismatches), tuple(mismatches)
        for mismatch in mismatches:
            _logger.warning("%s: %s", self._home.name, mismatch)
            self._shared.events.tell(PinMismatch(self._home.name, mismatch))

    def follow(self) -> None:
        """Hear of changes of the tools, where the server tells them."""
        declared = self._home.client.capabilities.get("tools")
        changes = isinstance(declared, Mapping) and declared.get("listChanged") is True
        if self._shared.auto_refresh and changes:
            loop = asyncio.get_running_loop()
            self._follower = loop.create_task(self._hear_changes(self._home.client))

    async def _hear_changes(self, client: ManagedClient) -> None:
        """Hear of changes until there are no more; ask again a few times where that may help."""
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
                    _logger.debug("%s tells no changes: %s", self._home.name, error)
                    await retries.wait_after(error)
                    is_late = True

    async def _are_over(self, changes: Subscription) -> bool:
        """Hear of changes until there are no more, or until an error comes in between."""
        try:
            async for _ in changes:
                self.refresh_soon()
        except McpError as error:
            _logger.debug("%s tells fewer changes, or none: %s", self._home.name, error)
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
                _logger.warning("%s: its tools were not listed again: %s", self._home.name, error)
                with suppress(McpError):  # which is raised where another try is pointless
                    await retries.wait_after(error)
                    self._is_outdated = True

    def refusal_of(self, tool: str) -> str | None:
        """Return why a tool is not to be called, None when it may be."""
        if not is_offered(tool, self._home.config.include, self._home.config.exclude):
            return "the configuration of its server leaves it out"
        return self._refused.get(tool) or self._refused.get("")
