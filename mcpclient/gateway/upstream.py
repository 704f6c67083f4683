"""One of the servers behind a gateway: requests to it, its questions, and its notifications."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..bridging.relayed import Relayed, plain_session
from ..bridging.rounds import CARRIERS, Rounds
from ..bridging.translation import LOG_LEVEL, completed, for_handshake
from ..client.client import Client
from ..client.connection.connection import all_pages
from ..client.connection.reconnection import did_not_run
from ..client.events.callbacks import Observer
from ..client.requests import connection_of
from ..errors import ClientClosed, ConnectionLost, McpError, PeerError
from ..jsonrpc.messages import ErrorCode
from ..jsonrpc.peer import Params
from ..jsonrpc.verbatim import decode_verbatim
from ..manager.server import Server
from ..protocol.listen import ListenFilter
from ..protocol.negotiation import LATEST_STATELESS, REPEATABLE

if TYPE_CHECKING:
    from ..manager.managed_client import ManagedClient
    from .gateway import Gateway


class Upstream(Observer):
    """A server of the manager, by its name, as the host of a gateway uses it."""

    def __init__(self, gateway: Gateway, name: str) -> None:
        self.name = name
        self.rounds: Rounds = Rounds()
        self._gateway = gateway
        self._declared: Params = {}
        self._tokens: list[object] = []  # of progress, one for each request under way

    @property
    def server(self) -> Server:
        """The server, which is another object when its configuration has changed."""
        return self._gateway.server(self.name)

    def prepare(self, client: Client) -> None:
        """Let a new client of the server pass messages on unchanged, and ask the host."""
        connection = connection_of(client)
        connection.decode = decode_verbatim
        connection.observers.append(self)
        connection.expect(self._gateway.host.version or LATEST_STATELESS)
        self._declare(client)

    def _declare(self, client: Client) -> None:
        self._declared, opening = self._gateway.declared
        handlers = connection_of(client).options.handlers
        handlers.forward_to(self._ask, self._declared, opening)

    def _declare_anew(self, client: ManagedClient) -> None:
        """Open another session of a server that was told less than the host is able to do."""
        is_news = any(name not in self._declared for name in self._gateway.declared[0])
        is_free = len(self._tokens) == 1 and self.rounds.is_idle
        if is_news and is_free and not self.is_stateless:
            self._declare(client)
            self.server.lost(client, ConnectionLost("the host is able to do more"))

    def hold(self) -> None:
        """Stop reading from the server while the host does not read, or go on."""
        if self.server.is_connected:
            transport = connection_of(self.server.client).session.transport
            transport.hold(is_held=self._gateway.is_stalled)

    def offers(self, *path: str) -> bool:
        """Whether the server is connected, and declares a capability."""
        if not self.server.is_connected:
            return False
        found: Any = self.server.client.capabilities
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found is not None and found is not False

    @property
    def is_stateless(self) -> bool:
        """Whether it speaks the stateless era; it has to be connected."""
        era = connection_of(self.server.client).era
        return era is not None and era.is_stateless

    # Requests

    async def request(
        self, method: str, params: Params, meta: Params | None = None, subject: str = ""
    ) -> Params:
        """Return the result of a request in the era of the host, whose metadata is ``meta``.

        ``subject``: the tool, prompt or resource. Waits for the connection, as calls of a manager.
        """
        token = _token_of(params)
        self._tokens.append(token)
        try:
            client = await self.server.ready_for(method, subject, params.get("arguments"))
            if meta is not None:
                self._declare_anew(client)
            if self.is_stateless == (meta is not None):
                return await self._send(method, params, subject, is_raw=True)
            if meta is None:
                return await self._send(method, {**params}, subject)
            level = meta.get(LOG_LEVEL)
            if isinstance(level, str) and level != connection_of(client).session.log_level:
                await self.set_log_level(level)
            work = self._send(method, for_handshake(params), subject)
            result = await (self.rounds.call(method, params, work) if method in CARRIERS else work)
            return completed(method, result)
        finally:
            self._tokens.remove(token)

    def relayed(self, asked: Params, params: Params, meta: Params | None) -> Relayed | None:
        """Return a call that needs no task, if it is one; see `Gateway.relayed`."""
        server = self._gateway.manager.servers.get(self.name)
        if server is None or not server.is_connected or _token_of(params) is not None:
            return None
        client = server.client
        if "task" in params or self.offers("extensions"):  # whose tasks have to be remembered
            return None
        if connection_of(client).options.limits or self.is_stateless != (meta is not None):
            return None
        session = plain_session(client, "tools/call", params)
        if session is None:
            return None
        host = self._gateway.host
        if meta is None:
            host.become_ready()
        return Relayed(session, "tools/call", params, host.in_turn, asked)

    async def _send(
        self, method: str, params: Params, subject: str, *, is_raw: bool = False
    ) -> Params:
        """Send a request; once more where it surely did not run, or that does no harm."""
        server, is_repeated = self.server, False
        while True:
            client = await server.ready_for(method, subject, params.get("arguments"))
            options = connection_of(client).options
            seconds = options.limits.timeout_of(subject) if options.limits is not None else None
            limits = self._gateway.limits._replace(fresh=True, is_raw=is_raw)
            if seconds is not None:
                limits = limits._replace(timeout=seconds)
            try:
                result = await client._forward(method, params, limits)
            except McpError as error:
                server.call_failed(client, error)
                is_harmless = method in REPEATABLE or server.is_repeatable(subject)
                is_harmless = is_harmless and isinstance(error, ConnectionLost)
                if not is_repeated and (is_harmless or did_not_run(error)):
                    is_repeated = True
                    continue
                if isinstance(error, ClientClosed) and server.loss is not None:
                    raise server.loss.again() from error
                raise
            server.call_answered()
            return result

    async def listed(self, method: str, key: str) -> list[dict[str, Any]]:
        """Return the items of all pages of a list; none where there is no such list."""

        async def fetch(page: Params) -> Params:
            return await self._send(method, page, "", is_raw=True)

        try:
            return await all_pages(fetch, key)
        except PeerError as error:
            if error.code != ErrorCode.METHOD_NOT_FOUND:
                raise
            return []

    async def set_log_level(self, level: str) -> None:
        """Set the level of log messages, if the server has any."""
        if self.offers("logging"):
            with suppress(McpError):  # its tools can be called all the same
                await self.server.client.set_log_level(level)

    # From the server

    async def _ask(self, method: str, params: Params) -> Params:
        """Ask the host. The message names the server; only calls of it carry the question."""
        named = {**params, "_meta": {**(params.get("_meta") or {}), "mcpclient/server": self.name}}
        if isinstance(params.get("message"), str):
            named["message"] = f"[{self.name}] {params['message']}"
        host = self._gateway.host
        if not host.version:
            return await self.rounds.ask(method, named)
        return await host.ask_when_ready(method, named)

    def notified(self, method: str, params: Params) -> None:
        """Pass a notification on; a server says nothing about calls of other servers."""
        if method == "notifications/progress":
            token = params.get("progressToken")
            if token is None or token not in self._tokens:
                return
        elif method == "notifications/message":
            own = params.get("logger")
            params = {**params, "logger": f"{self.name}/{own}" if own else self.name}
        self._gateway.changes.notified(self, method, params)

    def connected(self) -> None:
        """Tell the host that the lists of this server may be others now."""
        self._gateway.tasks.start(self._begin())

    async def _begin(self) -> None:
        self.hold()
        await self.server.settled()
        if not self.server.is_connected:
            return
        self._gateway.changes.changed(
            *(kind for kind in ("prompts", "resources") if self.offers(kind))
        )
        level, session = self._gateway.log_level, connection_of(self.server.client).session
        if level and level != session.log_level:  # which an earlier session has handed on
            await self.set_log_level(level)
        wanted = ListenFilter.offered(self.server.client.capabilities)
        if wanted and self.is_stateless:
            await self.follow(wanted)

    async def follow(
        self, wanted: ListenFilter, opened: asyncio.Future[None] | None = None
    ) -> None:
        """Pass on the changes that are wanted, for as long as there are any."""
        listening = self.server.client.listen(
            tools=wanted.tools,
            prompts=wanted.prompts,
            resources=wanted.resources,
            uris=wanted.uris,
            tasks=wanted.tasks,
        )
        with suppress(McpError):
            async with listening as subscription:
                if opened is not None and not opened.done():
                    opened.set_result(None)
                async for event in subscription:
                    self._gateway.changes.happened(self, event, wanted)


def _token_of(params: Params) -> object:
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, Mapping) else None
    return token if isinstance(token, (str, int, float)) else None
