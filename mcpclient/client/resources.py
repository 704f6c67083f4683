"""The client's interface to resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..protocol.types import ReadResourceResult, Resource, ResourceTemplate
from .options import DEFAULT, Seconds
from .requests import Requests

__all__ = ["Resources"]


class Resources(Requests):
    """Listing, reading and watching resources."""

    async def list_resources(self, *, timeout: Seconds = DEFAULT) -> list[Resource]:
        """Return the resources of all pages."""
        items = await self._list("resources/list", "resources", timeout)
        return [Resource(item) for item in items]

    async def list_resource_templates(
        self, *, timeout: Seconds = DEFAULT
    ) -> list[ResourceTemplate]:
        """Return the resource templates of all pages."""
        items = await self._list("resources/templates/list", "resourceTemplates", timeout)
        return [ResourceTemplate(item) for item in items]

    async def read_resource(
        self, uri: str, *, timeout: Seconds = DEFAULT, meta: Mapping[str, Any] | None = None
    ) -> ReadResourceResult:
        """Read a resource."""
        result = await self.request("resources/read", {"uri": uri}, timeout=timeout, meta=meta)
        return ReadResourceResult(result)

    async def subscribe_resource(self, uri: str) -> None:
        """Ask for ``notifications/resources/updated`` about a resource (handshake era)."""
        await self.request("resources/subscribe", {"uri": uri})

    async def unsubscribe_resource(self, uri: str) -> None:
        """Take back `subscribe_resource`."""
        await self.request("resources/unsubscribe", {"uri": uri})
