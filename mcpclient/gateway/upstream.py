"""One of the servers behind a gateway: requests to it, its questions, and its notifications."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ..bridging.relayed import Relayed
from ..bridging.upstream import Upstream
from ..client.answers.peer import Params
from ..client.client import Client
from ..client.connection.call_recovery import CallDeadline
from ..client.connection.connection import all_pages
from ..client.connection.limits import RequestOptions
from ..client.connection.options import Wiring
from ..errors import ConnectionLost, McpError, PeerError
from ..jsonrpc.messages import ErrorCode
from ..manager.server import Server
from ..protocol.listen import ListenFilter
from ..protocol.negotiation import LATEST_STATELESS, REPEATABLE, declares
from ..protocol.wire_object import value_at

if TYPE_CHECKING:
    from .gateway import Gateway


class ManagedUpstream(Upstream):
    """A server of the manager, by its name, as the host of a gateway uses it."""

    def __init__(self, gateway: Gateway, name: str) -> None:
        super().__init__(gateway, name)
        self._gateway = gateway
        self._declared: Params = {}
        self._tokens: list[object] = []  # of progress, one for each request under way

    @property
    def server(self) -> Server:
        """The server, which is another object when its configuration has changed."""
        return self._gateway.server(self.name)

    @property
    def client(self) -> Client:
        """The client of the server."""
        return self.server.client

    @property
    def is_open(self) -> bool:
        """Whether it is connected."""
        server = self._gateway.manager.servers.get(self.name)
        return server is not None and server.is_connected

    def wiring(self) -> Wiring:
        """Return the wiring of a new client; the server is expected to speak the host's era."""
        self._declared = self._gateway.declared[0]
        return super().wiring()._replace(version=self._gateway.version or LATEST_STATELESS)

    def _declare_anew(self) -> None:
        """Open another session, in which a server knows less than the host is able to do."""
        is_news = any(name not in self._declared for name in self._gateway.declared[0])
        # Other requests, and questions that wait for the host, would be lost with the session.
        is_free = len(self._tokens) == 1 and self.rounds.is_idle
        if is_news and is_free and not self.is_stateless:
            self._declared, opening = self._gateway.declared
            self.connection.options.handlers.forward_to(self._ask, self._declared, opening)
            self.server.lost(self.client, ConnectionLost("the host is able to do more"))

    def offers(self, *path: str) -> bool:
        """Whether the server is connected, and declares a capability."""
        return self.is_open and declares(self.connection.capabilities, *path)

    # Requests

    async def request(
        self, method: str, params: Params, meta: Params | None = None, subject: str = ""
    ) -> Params:
        """Return the result of a request, see `pass_on`, once the server is connected."""
        token = _token_of(params)
        self._tokens.append(token)
        try:
            await self.server.ready_for(method, subject, params.get("arguments"))
            if meta is not None:
                self._declare_anew()
            return await self.pass_on(method, params, meta, subject)
        finally:
            self._tokens.remove(token)

    async def forward(
        self, method: str, params: Params | None, subject: str = "", *, is_raw: bool = False
    ) -> Params:
        """Send a request as calls of a manager are sent."""
        server = self.server
        limits = RequestOptions(self.connection.options.timeouts.tool, None)  # of the connection
        deadline = CallDeadline(self.connection, method, limits, params)
        work = partial(super().forward, method, params, subject, is_raw=is_raw)

        def is_harmless() -> bool:  # it takes a look at all tools, so only after a loss
            return method in REPEATABLE or server.is_repeatable(subject)

        return await server.call(deadline, lambda rest: work(), is_harmless)

    def relay(self, method: str, params: Params, asked: Params | None = None) -> Relayed | None:
        """Return a request that needs no task; tokens and tasks have to be remembered."""
        is_special = _token_of(params) is not None or "task" in params or self.offers("extensions")
        return None if is_special else super().relay(method, params, asked)

    async def listed(self, method: str, key: str) -> list[dict[str, Any]]:
        """Return the items of all pages of a list; none where there is no such list."""
        try:
            return await all_pages(lambda page: self.forward(method, page, is_raw=True), key)
        except PeerError as error:
            if error.code != ErrorCode.METHOD_NOT_FOUND:
                raise
            return []

    async def set_log_level(self, level: str) -> None:
        """Set the level of log messages, if the server is connected and has any."""
        with suppress(McpError):  # its tools can be called all the same
            if self.is_open:
                await super().set_log_level(level)

    # From the server

    def notified(self, method: str, params: Params) -> None:
        """Pass a notification on; a server says nothing about calls of other servers."""
        if method == "notifications/progress":
            token = params.get("progressToken")
            if token is None or token not in self._tokens:
                return
        elif method == "notifications/message":
            own = params.get("logger")
            params = {**params, "logger": f"{self.name}/{own}" if own else self.name}
        self._gateway.changes.notified(method, params)

    def connected(self) -> None:
        """Tell the host that the lists of this server may be others now."""
        self._gateway.tasks.start(self._begin())

    async def _begin(self) -> None:
        self.hold_server()
        await self.server.settled()
        if not self.is_open:  # it was lost meanwhile, and begins again when it is back
            return
        self._gateway.changes.changed(
            *(kind for kind in ("prompts", "resources") if self.offers(kind))
        )
        level = self._gateway.log_level
        if level and level != self.connection.session.log_level:  # of an earlier session
            await self.set_log_level(level)
        wanted = ListenFilter.offered(self.connection.capabilities)
        if wanted and self.is_stateless:
            await self.watch(wanted)

    async def watch(self, wanted: ListenFilter) -> asyncio.Task[None]:
        """Pass on the changes that are wanted, until the returned task is cancelled.

        Waits until the server is connected. Raises `McpError`.
        """
        await self.server.ready(request="subscriptions/listen")
        subscription = await self.listen(wanted)
        tell = partial(self._gateway.changes.happened, self)
        return self._gateway.tasks.start(self.follow(subscription, wanted, tell))


def _token_of(params: Params) -> object:
    token = value_at(params, ("_meta", "progressToken"))
    return token if isinstance(token, (str, int, float)) else None
