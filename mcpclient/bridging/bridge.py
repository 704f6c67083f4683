"""The bridge between a host and the client of a server, in whichever eras they speak.

The host's messages show its era: a request of the stateless era names its revision, and others
follow ``initialize``. Where the server speaks the same era, params and results are passed on as
they were read; otherwise `translation` and `rounds` say what becomes of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import IO, Any, Callable

from ..client.client import Client
from ..client.connection.connection import Connection
from ..client.connection.limits import RequestOptions
from ..client.contents import Subscription
from ..client.events.around import not_called
from ..client.events.callbacks import Observer
from ..client.requests import connection_of
from ..errors import ConnectionLost, McpError, PeerError, ProtocolViolation
from ..framing.logs import logger_for
from ..jsonrpc.messages import ErrorCode, RequestId
from ..jsonrpc.peer import Params
from ..jsonrpc.verbatim import decode_verbatim
from ..protocol.listen import SUBSCRIPTION_ID, ListenEvent, ListenFilter, event_of
from ..protocol.negotiation import (
    REPEATABLE,
    STATELESS_VERSIONS,
)
from ..transports.backoff import Retries
from ..transports.base import Transport
from .host import HostChannel
from .relayed import Relayed, plain_session
from .rounds import CARRIERS, Rounds
from .translation import (
    CAPABILITIES,
    INFO,
    LISTS,
    LOG_LEVEL,
    REMOVED,
    VERSION,
    completed,
    discovered,
    for_handshake,
    initialized,
    stateless_meta,
    told,
)

_logger = logger_for("mcpclient.bridge")

# Seconds after which a connection has worked, so that its loss is a new failure.
_STEADY = 60.0

# Seconds between two looks whether the host has gone, while nothing of it is read.
_LOOK_EVERY = 1.0

# Requests for which there is nothing to do but to pass them on.
_RELAYED = CARRIERS | {"completion/complete", "ping"}

# Notifications of the server that are for this client.
_OWN = ("notifications/cancelled", "notifications/subscriptions/acknowledged")


class Bridge(Observer):
    """One host and one server.

    ``make_client`` takes options that come from the host. ``judge`` raises if the server may not
    be started again. ``explain`` returns an error as the host shows it. ``limits``: of each
    request; the host has its own. ``offers`` returns whether the tool of a name is offered.
    """

    def __init__(
        self,
        make_client: Callable[..., Client],
        judge: Callable[[], None],
        explain: Callable[[McpError], str],
        limits: RequestOptions,
        offers: Callable[[object], bool] = lambda name: True,
    ) -> None:
        self._tools: list[dict[str, Any]] = []
        self._offers = offers
        self._make_client = make_client
        self._judge = judge
        self.explain = explain
        self._limits = limits
        self._host: HostChannel
        self._client: Client | None = None
        self._opening = asyncio.Lock()
        self._rounds = Rounds()
        self._retries = Retries()
        self._connected_at = 0.0
        self._uris: dict[str, asyncio.Task[None] | None] = {}
        self._is_stalled = False
        self._draining: asyncio.Task[None] | None = None
        self._corked: Transport | None = None

    async def serve(self, stdin: IO[bytes], stdout: IO[bytes], *, threads: bool = False) -> None:
        """Serve a host until it closes its end."""
        self._host = HostChannel(self, stdin, stdout, threads=threads)
        try:
            await asyncio.wait({self._host.over})
        finally:
            await self._host.close()
            await self._rounds.close()
            if self._client is not None:
                await self._client.close()

    @property
    def _connection(self) -> Connection:
        assert self._client is not None, "a request has opened it"
        return connection_of(self._client)

    @property
    def _is_handshake(self) -> bool:
        """Whether the server speaks the handshake era."""
        era = self._connection.era
        return era is not None and not era.is_stateless

    def _start(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[None]:
        """Do something in the background; its errors are logged."""

        async def run() -> None:
            try:
                await work
            except McpError as error:
                _logger.warning("%s", error)

        return self._host.tasks.start(run())

    # Opening

    async def _open(
        self, capabilities: Any, info: Any, version: str | None, opening: Params | None = None
    ) -> Client:
        """Return the client, which is connected for the first request of the host.

        ``opening``: the params of that where it is ``initialize``.
        """
        async with self._opening:
            if self._client is None:
                named = {"client_info": info} if isinstance(info, dict) else {}
                declared = capabilities if isinstance(capabilities, dict) else {}
                try:
                    own = {} if version is None else {"protocol_version": version}
                    self._client = await self._connected(declared, {**named, **own}, opening)
                except (PeerError, ProtocolViolation):
                    if version is None:
                        raise
                    # It may speak the other era only.
                    self._client = await self._connected(declared, named, opening)
                self._connected_at = asyncio.get_running_loop().time()
        return self._client

    async def _connected(
        self, capabilities: Params, options: Mapping[str, Any], opening: Params | None
    ) -> Client:
        client = self._make_client(**options)
        connection = connection_of(client)
        connection.options.handlers.forward_to(self._ask_host, capabilities, opening or {})
        connection.decode = decode_verbatim
        connection.guard = self._guard
        connection.observers.append(self)
        return await client.connect()

    async def _initialize(self, params: Params) -> Params:
        version = self._host.opened(params)
        try:
            asked = params.get("capabilities"), params.get("clientInfo"), version, params
            client = await self._open(*asked)
        except BaseException:
            self._host.version = ""
            raise
        agreement = self._connection.agreement
        assert agreement is not None, "it is connected"
        if self._is_handshake:
            return agreement.raw
        self._start(self._report_changes(client, ListenFilter.offered(agreement.capabilities)))
        return initialized(agreement, version)

    async def _restore(self) -> Client:
        """Return the client, which is connected again if its server was lost."""
        if self._client is None and self._opening.locked():
            async with self._opening:
                pass
        if self._client is None:
            raise PeerError(ErrorCode.INVALID_REQUEST, "initialize has failed")
        if not self._connection.is_open:
            self._judge()
        await self._connection.restore()
        return self._client

    # From the host

    async def request(self, request_id: RequestId, method: str, params: Params | None) -> Params:
        """Return the result of a request of the host."""
        given = params or {}
        meta = stateless_meta(given)
        if method == "initialize" and meta is None:
            return await self._initialize(given)
        if method == "ping" and meta is None and not self._host.version:
            return {}
        self._host.check_era(meta, is_opened=self._client is not None)
        if meta is not None:
            await self._open(meta.get(CAPABILITIES), meta.get(INFO), None)
            if method == "server/discover" and self._host.version:
                # The host did not wait for the answer to its probe, so it speaks the other era now.
                raise PeerError(ErrorCode.METHOD_NOT_FOUND, "initialize was sent meanwhile")
        client = await self._restore()
        if meta is not None and method == "subscriptions/listen":
            return await self._listen(client, request_id, given)
        if self._is_handshake == (meta is None):
            result = await self._send(method, params, is_raw=True)
            self._learn(method, given)
            return result
        if meta is None:
            return await self._ask_stateless(client, method, given)
        return await self._ask_handshake(client, method, given, meta)

    def relayed(self, method: str, params: Params | None) -> Relayed | None:
        """Return a request that can be passed on as it is; None if it needs more than that."""
        if method not in _RELAYED or self._client is None or not self._connection.is_open:
            return None
        meta = stateless_meta(params or {})
        version = self._host.version if meta is None else meta[VERSION] in STATELESS_VERSIONS
        is_plain = version and self._is_handshake == (meta is None)
        if not is_plain or self._limits.timeout or self._limits.max_timeout:
            return None
        session = plain_session(self._client, method, params)
        if session is None:
            return None
        if meta is None:
            self._host.become_ready()
        return Relayed(session, method, params, self._host.in_turn)

    async def _send(self, method: str, params: Params | None, *, is_raw: bool = False) -> Params:
        """Send a request; one that only reads again, if the server was lost meanwhile."""
        options = self._limits._replace(fresh=True, is_raw=is_raw)
        client = await self._restore()
        try:
            result = await client._forward(method, params, options)
        except ConnectionLost:
            if method not in REPEATABLE:
                raise
            result = await (await self._restore())._forward(method, params, options)
        return self._offered(params or {}, result) if method == "tools/list" else result

    def _offered(self, params: Params, result: Params) -> Params:
        """Return a page of tools without those that may not be called."""
        assert self._client is not None, "it has answered"
        listed = result.get("tools")
        if not isinstance(listed, list):
            return result
        tools = [tool for tool in listed if isinstance(tool, dict)]
        self._tools = [*(self._tools if "cursor" in params else ()), *tools]
        valid = {id(tool.raw) for tool in self._client._learn_tools(self._tools)}
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
            self._connection.session.log_level = str(params.get("level"))
        elif method == "resources/subscribe":
            self._uris[str(params.get("uri"))] = None
        elif method == "resources/unsubscribe":
            self._uris.pop(str(params.get("uri")), None)

    async def _ask_stateless(self, client: Client, method: str, params: Params) -> Params:
        """Return the result of a handshake host's request to a stateless server."""
        uri = str(params.get("uri"))
        if method == "logging/setLevel":
            self._connection.session.log_level = str(params.get("level"))
        elif method == "resources/subscribe":
            if uri not in self._uris:
                subscription = await client.listen(uris=[uri]).open()
                wanted = ListenFilter(uris=(uri,))
                self._uris[uri] = self._start(self._follow(subscription, wanted, None))
        elif method == "resources/unsubscribe":
            following = self._uris.pop(uri, None)
            if following is not None:
                following.cancel()
        elif method != "ping":
            return await self._send(method, {**params})
        return {}

    async def _ask_handshake(
        self, client: Client, method: str, params: Params, meta: Params
    ) -> Params:
        """Return the result of a stateless host's request to a handshake server."""
        if not isinstance(meta.get(CAPABILITIES), dict):
            raise PeerError(ErrorCode.INVALID_PARAMS, f"_meta has no {CAPABILITIES}")
        if method == "server/discover":
            agreement = self._connection.agreement
            assert agreement is not None, "it is connected"
            return discovered(agreement)
        if method in REMOVED:
            raise PeerError(ErrorCode.METHOD_NOT_FOUND, f"{meta[VERSION]} has no {method}")
        level = meta.get(LOG_LEVEL)
        is_new = isinstance(level, str) and level != self._connection.session.log_level
        if is_new and "logging" in client.capabilities:
            await client.set_log_level(str(level))
        work = self._send(method, for_handshake(params))
        carried = self._rounds.call(method, params, work) if method in CARRIERS else work
        result = await carried
        return completed(method, result)

    def notification(self, method: str, params: Params | None) -> None:
        """Handle a notification of the host."""
        if method == "notifications/initialized":
            self._host.become_ready()
        elif self._client is None or not self._connection.is_open:
            _logger.debug("there is no server for %s", method)
        elif self._is_handshake or method != "notifications/roots/list_changed":
            self._start(self._client.notify(method, params))

    def host_stalled(self, *, is_stalled: bool) -> None:
        """Do not read from the server while the host does not read."""
        self._is_stalled = is_stalled
        if self._client is not None and self._connection.is_open:
            self._connection.session.transport.hold(is_held=is_stalled)

    def host_writes(self) -> None:
        """Send messages that come together in one write."""
        if self._client is not None and self._connection.is_open:
            self._corked = self._connection.session.transport
            self._corked.cork()

    def host_wrote(self) -> None:
        """Write them; do not read from the host while the server does not read."""
        corked, self._corked = self._corked, None
        if corked is None:
            return
        corked.uncork()
        if corked.is_congested and self._draining is None:
            self._host.hold(is_held=True)
            self._draining = self._host.tasks.start(self._drain())

    async def _drain(self) -> None:
        drained = asyncio.ensure_future(self._connection.session.transport.drained())
        try:
            while not drained.done() and not self._host.is_gone:
                await asyncio.wait({drained}, timeout=_LOOK_EVERY)
        finally:
            drained.cancel()
            self._draining = None
            self._host.hold(is_held=False)

    # Questions of the server, and its notifications

    async def _ask_host(self, method: str, params: Params) -> Params:
        if not self._host.version:
            return await self._rounds.ask(method, {**params})
        return await self._host.ask_when_ready(method, params)

    @property
    def _is_direct(self) -> bool:
        """Whether both speak the handshake era, in which changes need no subscription."""
        return bool(self._host.version) and (self._client is None or self._is_handshake)

    def notified(self, method: str, params: Params) -> None:
        """Pass a notification on, after the responses that came before it."""
        # It may come right behind the first response, before the client counts as connected.
        is_new = self._client is None
        is_change = type(event_of(method, params)) is not ListenEvent
        # A stateless host names the level of the log messages that it wants.
        is_log = method == "notifications/message"
        is_unasked = is_log and (is_new or not self._connection.session.log_level)
        if method not in _OWN and (self._is_direct or not (is_change or is_unasked)):
            self._host.in_turn(self._host.tell, method, params)

    async def _listen(self, client: Client, request_id: RequestId, params: Params) -> Params:
        """Tell a stateless host the changes that it asks for, until it cancels."""
        wanted = ListenFilter.from_wire(params.get("notifications"))
        listening = client.listen(
            tools=wanted.tools,
            prompts=wanted.prompts,
            resources=wanted.resources,
            uris=wanted.uris,
            tasks=wanted.tasks,
        )
        async with listening as subscription:
            agreed = {
                "_meta": {SUBSCRIPTION_ID: request_id},
                "notifications": wanted.without(subscription.refused).to_wire(),
            }
            self._host.notify("notifications/subscriptions/acknowledged", agreed)
            await self._follow(subscription, wanted, request_id)
        return {"resultType": "complete", "_meta": {SUBSCRIPTION_ID: request_id}}

    async def _report_changes(self, client: Client, offered: ListenFilter) -> None:
        """Tell a handshake host the changes of a stateless server's lists."""
        if offered:
            async with client.listen(
                tools=offered.tools, prompts=offered.prompts, resources=offered.resources
            ) as subscription:
                await self._follow(subscription, offered, None)

    async def _follow(
        self, subscription: Subscription, wanted: ListenFilter, request_id: RequestId | None
    ) -> None:
        is_over = False
        while not is_over:
            try:
                async for event in subscription:
                    for method, params in told(event, wanted, request_id):
                        self._host.tell(method, params)
                is_over = True
            except McpError as error:  # such as the loss of the server's own channel
                _logger.warning("%s", error)

    # Losses

    def connected(self) -> None:
        """Tell the host that everything may have changed, unless this is the first session."""
        if self._client is None:
            return
        self._connected_at = asyncio.get_running_loop().time()
        self.host_stalled(is_stalled=self._is_stalled)
        if self._is_direct:
            self._start(self._catch_up())

    async def _catch_up(self) -> None:
        for subject in LISTS:
            if subject in self._connection.capabilities:
                self._host.tell(f"notifications/{subject}/list_changed", {})
        for uri in list(self._uris):
            with suppress(PeerError):  # it may be gone, and the others are not
                await self._send("resources/subscribe", {"uri": uri})
            self._host.tell("notifications/resources/updated", {"uri": uri})

    def lost(self, error: McpError) -> None:
        """Bring the server back, with growing pauses."""
        if self._client is not None:
            self._start(self._bring_back(error))

    async def _bring_back(self, error: McpError) -> None:
        if asyncio.get_running_loop().time() - self._connected_at >= _STEADY:
            self._retries.succeeded()
        while True:
            await self._retries.wait_after(error)
            try:
                await self._restore()
            except McpError as failure:
                error = failure
            else:
                return
