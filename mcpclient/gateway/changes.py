"""Subscriptions of a gateway's host, and notifications for it: lists, resources, progress, logs."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Callable

from ..bridging.bridge import OWN
from ..bridging.translation import LISTS, told
from ..bridging.upstream import Upstream
from ..client.answers.peer import Params
from ..errors import McpError
from ..jsonrpc.messages import RequestId
from ..protocol.listen import SUBSCRIPTION_ID, ListenEvent, ListenFilter, ResourceUpdated, event_of

if TYPE_CHECKING:
    from .gateway import Gateway

SERVERS = "gateway://servers"
"""The URI of the resource that shows the status of the servers."""

# Seconds in which changes of all servers are gathered before they are reported.
_GATHERED = 0.3
# Seconds after which a manager has listed the tools that a server says have changed.
_RELISTED = 0.25


class Changes:
    """The subscriptions of a gateway's host, and the notifications for it."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._changed: set[str] = set()
        self._following: dict[tuple[str, str], asyncio.Task[Any]] = {}
        self._subscribed: set[str] = set()
        self._listeners: dict[RequestId, ListenFilter] = {}

    async def subscribe(self, uri: str) -> None:
        """Tell a host of the handshake era about updates of a resource. Raises `McpError`."""
        await self._follow(uri)
        self._subscribed.add(uri)

    def unsubscribe(self, uri: str) -> None:
        """Tell it nothing more about a resource."""
        self._subscribed.discard(uri)
        self._unfollow()

    async def _follow(self, uri: str) -> None:
        """Listen for updates of a resource, unless that is done already."""
        if uri == SERVERS:
            return
        upstream, own = await self._gateway.directory.resource(uri)
        if (upstream.name, own) not in self._following:
            task = await upstream.watch(ListenFilter(uris=(own,)))
            if self._following.setdefault((upstream.name, own), task) is not task:
                task.cancel()  # another request for it was faster

    def _unfollow(self) -> None:
        wanted = self._subscribed.union(*(each.uris for each in self._listeners.values()))
        for server, own in list(self._following):
            if self._gateway.directory.host_uri(server, own) not in wanted:
                self._following.pop((server, own)).cancel()

    async def listen(self, request_id: RequestId, params: Params) -> Params:
        """Tell a stateless host the changes that it asks for, until it cancels."""
        wanted = ListenFilter.from_wire(params.get("notifications"))
        self._listeners[request_id] = wanted
        try:
            for uri in wanted.uris:
                with suppress(McpError):  # it may be gone, and the others are not
                    await self._follow(uri)
            agreed = {"_meta": {SUBSCRIPTION_ID: request_id}, "notifications": wanted.to_wire()}
            self._gateway.notify("notifications/subscriptions/acknowledged", agreed)
            await asyncio.get_running_loop().create_future()
            return {}
        finally:
            del self._listeners[request_id]
            self._unfollow()

    def changed(self, *kinds: str) -> None:
        """Tell the host that lists have changed, a little later and once for all servers."""
        if not self._gateway.lists_tools:
            kinds = tuple(kind for kind in kinds if kind != "tools")
        if kinds and not self._changed:
            asyncio.get_running_loop().call_later(_GATHERED, self._tell_changes)
        self._changed.update(kinds)

    def _tell_changes(self) -> None:
        kinds, self._changed = self._changed, set()
        for kind in LISTS:
            if kind in kinds:
                method = f"notifications/{kind}/list_changed"
                self._tell(method, {}, attrgetter(kind))

    def _tell(self, method: str, params: Params, fits: Callable[[ListenFilter], object]) -> None:
        """Send a notification to the host, or to its subscriptions that match."""
        if self._gateway.version:
            self._gateway.tell(method, params)
        for request_id, wanted in self._listeners.items():
            if fits(wanted):
                for each in told(ListenEvent(method, params), wanted, request_id):
                    self._gateway.notify(*each)

    def updated(self, uri: str, params: Params) -> None:
        """Tell the host that a resource has changed, if it has subscribed to it."""
        if uri in self._subscribed or self._listeners:
            self._tell("notifications/resources/updated", params, lambda wanted: uri in wanted.uris)

    def happened(self, upstream: Upstream, method: str, params: Params) -> None:
        """Tell the host about an event that a server was asked to report."""
        if method == "notifications/resources/updated":
            uri = self._gateway.directory.host_uri(upstream.name, str(params.get("uri")))
            self.updated(uri, {**params, "uri": uri})
        elif method.endswith("/list_changed"):
            self._list_changed(method.split("/")[1])

    def _list_changed(self, kind: str) -> None:
        if kind == "tools":  # the manager lists them first
            self._gateway.tasks.start(self._tools_changed())
        else:
            self.changed(kind)

    async def _tools_changed(self) -> None:
        """Report a change of the tools in which the manager finds no difference."""
        tools = self._gateway.manager.tools
        version = tools.version
        await asyncio.sleep(_RELISTED)
        if tools.version == version:
            self.changed("tools")

    def notified(self, method: str, params: Params) -> None:
        """Pass a notification of a server on, after the responses that came before it."""
        event, host = event_of(method, params), self._gateway
        if method.endswith("/list_changed"):
            self._list_changed(method.split("/")[1])
        elif method in OWN or isinstance(event, ResourceUpdated):
            pass  # the client has handled it, or it was asked for by `watch`
        elif host.version or type(event) is ListenEvent:
            host.in_turn(host.tell, method, params)
