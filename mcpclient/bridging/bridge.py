"""The bridge between a host and one server, in whichever eras they speak."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Callable

from ..client.answers.peer import Params
from ..client.client import Client
from ..client.connection.limits import RequestOptions
from ..client.connection.reconnection import Reconnect
from ..client.events.around import not_called
from ..errors import McpError, PeerError, ProtocolViolation
from ..framing.logs import logger_for
from ..jsonrpc.messages import ErrorCode, RequestId
from ..net.futures import in_slices
from ..protocol.listen import SUBSCRIPTION_ID, ListenEvent, ListenFilter, event_of
from .host import HostService
from .relayed import Relayed
from .rounds import CARRIERS
from .translation import LISTS, REMOVED, Introduction
from .upstream import Upstream

_logger = logger_for("mcpclient.bridge")

# Seconds between two looks whether the host has gone, while nothing of it is read.
_LOOK_EVERY = 1.0

# Requests for which there is nothing to do but to pass them on.
_RELAYED = CARRIERS | {"completion/complete", "ping"}

# Notifications of the server that are for this client.
OWN = ("notifications/cancelled", "notifications/subscriptions/acknowledged")


class Bridge(HostService, Upstream):
    """One host and one server.

    ``make_client`` takes options that come from the host. ``judge``: the ``decision`` of its
    `Wiring`. ``explain`` returns an error as the host shows it. ``limits``: of each request; the
    host has its own. ``offers`` returns whether the tool of a name is offered.
    """

    def __init__(
        self,
        make_client: Callable[..., Client],
        judge: Callable[[], str],
        explain: Callable[[McpError], str],
        limits: RequestOptions,
        offers: Callable[[object], bool] = lambda name: True,
    ) -> None:
        HostService.__init__(self, limits)
        Upstream.__init__(self, self)
        self._make_client = make_client
        self._judge = judge
        self._explain = explain
        self._offers = offers
        self._client: Client | None = None
        self._opening = asyncio.Lock()
        self._uris: dict[str, asyncio.Task[None] | None] = {}
        self._subscribing = asyncio.Lock()
        self._draining: asyncio.Task[None] | None = None

    def explain(self, error: McpError) -> str:
        """Return an error as the host shows it."""
        return self._explain(error)

    async def close(self) -> None:
        """Close the client."""
        await self.rounds.close()
        if self._client is not None:
            await self._client.close()

    # Opening

    @property
    def client(self) -> Client:
        """The client, which the first request of the host has connected."""
        assert self._client is not None
        return self._client

    @property
    def is_open(self) -> bool:
        """Whether it is connected."""
        return self._client is not None and self.connection.is_open

    async def open(self, info: Any) -> None:
        """Connect the client, for the first request of the host."""
        async with self._opening:
            if self._client is not None:
                return
            options = {"client_info": info} if isinstance(info, dict) else {}
            own = {"protocol_version": self.version} if self.version else {}
            try:
                self._client = await self._connected({**options, **own})
            except (PeerError, ProtocolViolation):
                if not own:
                    raise
                self._client = await self._connected(options)  # it may speak the other era only

    async def _connected(self, options: Mapping[str, Any]) -> Client:
        wiring = self.wiring()._replace(guard=self._guard, decision=self._judge)
        client = self._make_client(**options, reconnect=Reconnect(), _wiring=wiring)
        return await client.connect()

    async def initialized(self) -> Params:
        """Return the result of ``initialize``: the server's own, where it has one."""
        agreement = self.connection.agreement
        if agreement is not None and not self.is_stateless:
            return agreement.raw
        offered = ListenFilter.offered(self.connection.capabilities)
        if offered:
            self.tasks.start(self._follow(offered))
        return self._introduction.initialized(self.version)

    @property
    def _introduction(self) -> Introduction:
        agreement = self.connection.agreement
        assert agreement is not None, "it is connected"
        return Introduction(*agreement[1:4])

    async def _follow(self, offered: ListenFilter) -> None:
        """Tell a handshake host the changes of a stateless server's lists."""
        await self.follow(await self.listen(offered), offered, self.tell)

    # From the host

    async def handle(
        self, request_id: RequestId, method: str, params: Params | None, meta: Params | None
    ) -> Params:
        """Return the result of a request of the host, after a loss once the server is back."""
        async with self._opening:
            if self._client is None:
                raise PeerError(ErrorCode.INVALID_REQUEST, "initialize has failed")
        if not self.is_open:
            await self.client.connect()  # at once, and its failure is the host's to see
        await self.connection.restore()
        given = params or {}
        if meta is None and self.is_stateless:
            if await self._subscribe(method, given):
                return {}
        elif meta is not None and method == "subscriptions/listen":
            return await self._listen(request_id, given)
        elif meta is not None and not self.is_stateless:
            if method == "server/discover":
                return self._introduction.discovered()
            if method in REMOVED:
                raise PeerError(ErrorCode.METHOD_NOT_FOUND, f"the stateless era has no {method}")
        result = await self.pass_on(method, params, meta, str(given.get("name")))
        self._learn(method, given)
        return await self._offered(given, result) if method == "tools/list" else result

    async def _subscribe(self, method: str, params: Params) -> bool:
        """Handle a request of a handshake host that the stateless era does not have."""
        uri = str(params.get("uri"))
        if method == "logging/setLevel":
            self._learn(method, params)
        elif method == "resources/subscribe":
            async with self._subscribing:  # else two at once would make two subscriptions
                if uri not in self._uris:
                    wanted = ListenFilter(uris=(uri,))
                    work = self.follow(await self.listen(wanted), wanted, self.tell)
                    self._uris[uri] = self.tasks.start(work)
        elif method == "resources/unsubscribe":
            async with self._subscribing:
                following = self._uris.pop(uri, None)
            if following is not None:
                following.cancel()
        else:
            return method == "ping"
        return True

    def relayed(self, method: str, params: Params | None) -> Relayed | None:
        """Return a request that can be passed on as it is; None if it needs more than that."""
        return self.relay(method, params or {}) if method in _RELAYED else None

    async def _offered(self, params: Params, result: Params) -> Params:
        """Return a page of tools without those that may not be called."""
        listed = result.get("tools")
        if not isinstance(listed, list):
            return result
        tools = [tool for tool in listed if isinstance(tool, dict)]
        learned = await in_slices(self.client._learning(tools, is_more="cursor" in params))
        valid = {id(tool.raw) for tool in learned}
        kept = [each for each in tools if id(each) in valid and self._offers(each.get("name"))]
        return result if len(kept) == len(listed) else {**result, "tools": kept}

    def _guard(self, method: str, params: Params) -> dict[str, Any] | None:
        name = params.get("name")
        if method != "tools/call" or self._offers(name):
            return None
        return not_called(str(name), "the configuration of its server leaves it out").raw

    def _learn(self, method: str, params: Params) -> None:
        """Keep what another session of the server has to be told."""
        if method == "logging/setLevel":
            self.connection.session.log_level = str(params.get("level"))
        elif method == "resources/subscribe":
            self._uris[str(params.get("uri"))] = None
        elif method == "resources/unsubscribe":
            self._uris.pop(str(params.get("uri")), None)

    def notification(self, method: str, params: Params | None) -> None:
        """Pass a notification of the host on."""
        super().notification(method, params)
        if method == "notifications/initialized":
            return
        if not self.is_open:
            _logger.debug("there is no server for %s", method)
        elif not self.is_stateless or method != "notifications/roots/list_changed":
            self.tasks.start(self.client.notify(method, params))

    async def _listen(self, request_id: RequestId, params: Params) -> Params:
        """Tell a stateless host the changes that it asks for, until it cancels."""
        wanted = ListenFilter.from_wire(params.get("notifications"))
        subscription = await self.listen(wanted)
        about = {"_meta": {SUBSCRIPTION_ID: request_id}}
        agreed = {**about, "notifications": wanted.without(subscription.refused).to_wire()}
        self.notify("notifications/subscriptions/acknowledged", agreed)
        await self.follow(subscription, wanted, self.tell, request_id)
        return {"resultType": "complete", **about}

    # Flow control

    def stalled(self, is_stalled: bool) -> None:
        """Do not read from the server while the host does not read."""
        super().stalled(is_stalled)
        self.hold_server()

    def received(self, data: bytes) -> None:
        """Pass messages that come together on in one write.

        Does not read from the host while the server does not read.
        """
        if not self.is_open:
            super().received(data)
            return
        transport = self.connection.session.transport
        transport.cork()
        super().received(data)
        transport.uncork()
        if transport.is_congested and self._draining is None:
            self.hold(is_held=True)
            self._draining = self.tasks.start(self._drain())

    async def _drain(self) -> None:
        drained = asyncio.ensure_future(self.connection.session.transport.drained())
        try:
            while not drained.done() and not self.is_gone:
                await asyncio.wait({drained}, timeout=_LOOK_EVERY)
        finally:
            drained.cancel()
            self._draining = None
            self.hold(is_held=False)

    # From the server

    @property
    def _is_direct(self) -> bool:
        """Whether both speak the handshake era, in which changes need no subscription."""
        return bool(self.version) and (self._client is None or not self.is_stateless)

    def notified(self, method: str, params: Params) -> None:
        """Pass a notification on, after the responses that came before it."""
        # It may come right behind the first response, before the client counts as connected.
        is_new = self._client is None
        is_change = type(event_of(method, params)) is not ListenEvent
        # A stateless host names the level of the log messages that it wants.
        is_log = method == "notifications/message"
        is_unasked = is_log and (is_new or not self.connection.session.log_level)
        if method not in OWN and (self._is_direct or not (is_change or is_unasked)):
            self.in_turn(self.tell, method, params)

    def connected(self) -> None:
        """Tell the host that everything may have changed, unless this is the first session."""
        if self._client is not None:
            self.hold_server()
            if self._is_direct:
                self.tasks.start(self._catch_up())

    async def _catch_up(self) -> None:
        for subject in LISTS:
            if subject in self.connection.capabilities:
                self.tell(f"notifications/{subject}/list_changed", {})
        for uri in list(self._uris):
            with suppress(PeerError):  # it may be gone, and the others are not
                await self.forward("resources/subscribe", {"uri": uri})
            self.tell("notifications/resources/updated", {"uri": uri})
