"""The client's interface to resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..protocol.types import ReadResourceResult, Resource, ResourceTemplate
from .connection.limits import DEFAULT, Seconds
from .connection.requests import Requests, checked_arguments

if TYPE_CHECKING:
    from ..formats.uri_template import TemplateValue
    from .events.around import Around


class Resources(Requests):
    """Listing and reading resources."""

    async def list_resources(
        self,
        *,
        timeout: Seconds = DEFAULT,
        meta: Mapping[str, Any] | None = None,
        fresh: bool = False,
    ) -> list[Resource]:
        """Return the resources of all pages. The options are those of `request`, which it calls."""
        items = await self._list("resources/list", "resources", timeout, fresh, meta=meta)
        return [Resource(item) for item in items]

    async def list_resource_templates(
        self,
        *,
        timeout: Seconds = DEFAULT,
        meta: Mapping[str, Any] | None = None,
        fresh: bool = False,
    ) -> list[ResourceTemplate]:
        """Return the resource templates of all pages. The options are those of `request`."""
        items = await self._list(
            "resources/templates/list", "resourceTemplates", timeout, fresh, meta=meta
        )
        return [ResourceTemplate(item) for item in items]

    async def read_resource(
        self,
        uri: str | ResourceTemplate,
        variables: Mapping[str, TemplateValue] | None = None,
        *,
        timeout: Seconds = DEFAULT,
        meta: Mapping[str, Any] | None = None,
        fresh: bool = False,
        around: Sequence[Around] = (),
    ) -> ReadResourceResult:
        """Read a resource, given its URI, or a template and the values of its variables.

        The other options are those of `request`, which it calls. Also raises what
        `ResourceTemplate.expand` does.
        """
        if isinstance(uri, ResourceTemplate):
            uri = uri.expand(**checked_arguments(variables))
        elif variables is not None:
            raise UsageError("variables are for a ResourceTemplate, not for a URI")
        params = {"uri": uri}
        result = await self.request(
            "resources/read", params, timeout=timeout, meta=meta, fresh=fresh, around=around
        )
        return ReadResourceResult(result)
