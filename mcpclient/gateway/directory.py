"""The prompts, resources and templates of all servers, by the names that the host has for them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import McpError, PeerError
from ..framing.logs import logger_for
from ..jsonrpc.messages import ErrorCode
from ..manager.naming import ToolNames
from ..suggestions import there_is_no
from .upstream import ManagedUpstream

if TYPE_CHECKING:
    from .gateway import Gateway

_logger = logger_for("mcpclient.gateway")

# Seconds that a list waits for a slow server; then the server's part is as it was the last time.
_LISTED_WITHIN = 5.0

LIST_METHODS = {
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}
"""The methods of lists, with the key of their items, and the key that identifies an item."""

_RESOURCES, _TEMPLATES = "resources/list", "resources/templates/list"

Items = Sequence[Mapping[str, Any]]


class Directory:
    """The items of each kind that each server listed last.

    A prompt is named as a tool is. A resource or template keeps its URI; where servers share one,
    the first server keeps it, and the others have ``server:URI``.
    """

    def __init__(self, gateway: Gateway, names: ToolNames) -> None:
        self._gateway = gateway
        self._names = ToolNames(names.naming, names.limit)
        self._listed: dict[str, dict[str, Items]] = {method: {} for method in LIST_METHODS}
        self._keys: dict[str, dict[str, set[str]]] = {method: {} for method in LIST_METHODS}
        self._told: set[str] = set()  # the collisions that were reported

    async def items(self, method: str) -> list[dict[str, Any]]:
        """Return the items of all servers in a list, as the host has them."""
        await self._list(method)
        found = []
        for server, items in self._in_order(method):
            found += [self._named(method, server, item) for item in items]
        return found

    async def _list(self, method: str) -> None:
        capability = method.split("/")[0]
        upstreams = self._gateway.upstreams.values()
        asked = [each for each in upstreams if each.offers(capability)]
        works = {self._gateway.tasks.start(self._ask(method, each)) for each in asked}
        if works:
            _, late = await asyncio.wait(works, timeout=_LISTED_WITHIN)
            for work in late:  # they go on; the host asks again once there is more
                work.add_done_callback(lambda _: self._gateway.changes.changed(capability))

    async def _ask(self, method: str, upstream: ManagedUpstream) -> None:
        kind, key = LIST_METHODS[method]
        try:
            items = self._listed[method][upstream.name] = await upstream.listed(method, kind)
            self._keys[method][upstream.name] = {str(item.get(key)) for item in items}
        except McpError as error:
            _logger.warning("%s: %s failed: %s", upstream.name, method, error)

    def _named(self, method: str, server: str, item: Mapping[str, Any]) -> dict[str, Any]:
        key = LIST_METHODS[method][1]
        own = str(item.get(key))
        if key != "name":
            return {**item, key: self.host_uri(server, own, method)}
        self._names.assign(server, [own])
        return {**item, "name": self._names.names_of(server)[own]}

    def host_uri(self, server: str, uri: str, method: str = _RESOURCES) -> str:
        """Return the host's URI for a resource, or its template, of a server."""
        for other in self._gateway.upstreams:
            if other == server:
                break
            if uri in self._keys[method].get(other, ()):
                if uri not in self._told:
                    self._told.add(uri)
                    text = "%s and %s both have %s: the second is %s:%s for the host"
                    _logger.warning(text, other, server, uri, server, uri)
                return f"{server}:{uri}"
        return uri

    def _in_order(self, method: str) -> list[tuple[str, Items]]:
        listed = self._listed[method]
        return [(name, listed[name]) for name in self._gateway.upstreams if name in listed]

    @property
    def collisions(self) -> Sequence[str]:
        """The URIs that several servers have."""
        return sorted(self._told)

    @property
    def _only(self) -> ManagedUpstream | None:
        """The only server, if there is one: all but the gateway's own items belong to it."""
        upstreams = [*self._gateway.upstreams.values()]
        return upstreams[0] if len(upstreams) == 1 else None

    async def prompt(self, name: object) -> tuple[ManagedUpstream, str]:
        """Return the server of a prompt, and its name there. Raises `PeerError`."""
        only = self._only
        if only is not None and self._names.naming == "tool":
            return only, str(name)
        if self._names.owner(str(name)) is None:
            await self._gateway.settle()
            await self.items("prompts/list")
        owner = self._names.owner(str(name))
        if owner is None or owner[0] not in self._gateway.upstreams:
            known = [item["name"] for item in await self.items("prompts/list")]
            raise PeerError(ErrorCode.INVALID_PARAMS, there_is_no("prompt", str(name), known))
        return self._gateway.upstreams[owner[0]], owner[1]

    async def resource(self, uri: object, key: str = "uri") -> tuple[ManagedUpstream, str]:
        """Return the server of a resource or a template, and its URI there. Raises `PeerError`.

        A URI that no server lists belongs to a server with a template that it fits, or of the
        only one that has resources.
        """
        wanted, only = str(uri), self._only
        if only is not None:
            return only, wanted
        found = self._find(wanted, key)
        if found is None:
            await self._gateway.settle()
            await asyncio.gather(self._list(_RESOURCES), self._list(_TEMPLATES))
            found = self._find(wanted, key)
        if found is None:
            having = [each for each in self._gateway.upstreams.values() if each.offers("resources")]
            if len(having) != 1:
                names = ", ".join(each.name for each in having)
                reason = (
                    f"no server lists {wanted!r}; say SERVER:URI, with one of {names or 'none'}"
                )
                raise PeerError(ErrorCode.RESOURCE_NOT_FOUND, reason, {"uri": wanted})
            found = having[0].name, wanted
        return self._gateway.upstreams[found[0]], found[1]

    def _find(self, wanted: str, key: str) -> tuple[str, str] | None:
        for server in self._gateway.upstreams:
            if wanted in self._keys[_RESOURCES if key == "uri" else _TEMPLATES].get(server, ()):
                return server, wanted
        for server in self._gateway.upstreams:
            if wanted.startswith(f"{server}:") and ":" in wanted[len(server) + 1 :]:
                return server, wanted[len(server) + 1 :]
        fits = [
            (_fit(str(item.get("uriTemplate")), wanted), server)
            for server, items in self._in_order(_TEMPLATES)
            for item in items
        ]
        best = max(fits, key=lambda fit: fit[0], default=(-1, ""))
        return None if best[0] < 0 else (best[1], wanted)


_EXPRESSION = re.compile(r"\{[^{}]*\}")


def _fit(template: str, uri: str) -> int:
    """Return how much of a URI's beginning a template gives, -1 where the URI does not fit it."""
    first, *others = _EXPRESSION.split(template)
    if not others:
        return len(uri) if template == uri else -1
    if not uri.startswith(first) or not uri.endswith(others[-1]):
        return -1
    at = len(first)
    for part in others[:-1]:
        found = uri.find(part, at)
        if found < 0:
            return -1
        at = found + len(part)
    return len(first) if at <= len(uri) - len(others[-1]) else -1
