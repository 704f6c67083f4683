"""A server behind a bridge: requests to it in the era of the host, its questions, its events."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable

from ..client.answers.peer import Params
from ..client.client import Client
from ..client.connection.connection import Connection
from ..client.connection.options import Wiring
from ..client.events.callbacks import Observer
from ..client.requests import connection_of
from ..client.subscription import Subscription
from ..errors import McpError
from ..framing.logs import logger_for
from ..jsonrpc.verbatim import decode_verbatim
from ..protocol.listen import ListenFilter
from ..protocol.negotiation import STATELESS_VERSIONS
from .relayed import Relayed, plain_session
from .rounds import CARRIERS, Rounds
from .translation import LOG_LEVEL, VERSION, completed, for_handshake, stateless_meta, told

if TYPE_CHECKING:
    from .host import HostService

_logger = logger_for("mcpclient.bridge")


class Upstream(Observer, abc.ABC):
    """A server as the host of a bridge uses it. ``name``: as the user knows it, "" for the only.

    Where it speaks the era of the host, params and results are passed on as they were read;
    otherwise `translation` and `rounds` say what becomes of them.
    """

    def __init__(self, host: HostService, name: str = "") -> None:
        self.name = name
        self.rounds: Rounds = Rounds()
        self.host = host

    @property
    @abc.abstractmethod
    def client(self) -> Client:
        """The client of the server."""

    @property
    @abc.abstractmethod
    def is_open(self) -> bool:
        """Whether it is connected."""

    @property
    def connection(self) -> Connection:
        """The connection of its client."""
        return connection_of(self.client)

    @property
    def is_stateless(self) -> bool:
        """Whether it speaks the stateless era; it has to be connected."""
        return self.connection.is_stateless

    def wiring(self) -> Wiring:
        """Return the wiring of a new client, which passes messages on and asks the host."""
        answers = (self._ask, *self.host.declared)
        return Wiring(decode=decode_verbatim, observers=(self,), answers=answers)

    def hold_server(self) -> None:
        """Stop reading from the server while the host does not read, or go on."""
        if self.is_open:
            self.connection.session.transport.hold(is_held=self.host.is_stalled)

    # Requests

    async def pass_on(
        self, method: str, params: Params | None, meta: Params | None, subject: str = ""
    ) -> Params:
        """Return the result of a request in the era of the host, whose metadata is ``meta``.

        ``subject``: the tool, prompt or resource. The server has to be connected.
        """
        if self.is_stateless == (meta is not None):
            return await self.forward(method, params, subject, is_raw=True)
        if meta is None:
            return await self.forward(method, {**(params or {})}, subject)
        level, given = meta.get(LOG_LEVEL), params or {}
        if isinstance(level, str) and level != self.connection.session.log_level:
            await self.set_log_level(level)
        work = self.forward(method, for_handshake(given), subject)
        result = await (self.rounds.call(method, given, work) if method in CARRIERS else work)
        return completed(method, result)

    async def forward(
        self, method: str, params: Params | None, subject: str = "", *, is_raw: bool = False
    ) -> Params:
        """Send a request; once more after a loss, where it did not run or that does no harm."""
        limits, limited = self.host.limits, self.connection.options.limits
        seconds = limited.timeout_of(subject) if limited is not None else None
        if seconds is not None:
            limits = limits._replace(timeout=seconds)
        limits = limits._replace(fresh=True, is_raw=is_raw)
        return await self.client._forward(method, params, limits)

    async def set_log_level(self, level: str) -> None:
        """Set the level of log messages, if the server has any."""
        if "logging" in self.connection.capabilities:
            await self.client.set_log_level(level)

    def relay(self, method: str, params: Params, asked: Params | None = None) -> Relayed | None:
        """Return a request that needs no task, if it is one: it is passed on as it is.

        ``asked``: the params of the host, where the server gets others.
        """
        host, meta = self.host, stateless_meta(params)
        is_known = host.version if meta is None else meta[VERSION] in STATELESS_VERSIONS
        if not is_known or not self.is_open or host.limits.timeout or host.limits.max_timeout:
            return None
        session = plain_session(self.client, method, params, is_stateless=meta is not None)
        if session is None:
            return None
        if meta is None:
            host.become_ready()
        return Relayed(host, session, method, params, asked)

    # Questions and events

    async def _ask(self, method: str, params: Params) -> Params:
        """Ask the host; a message for its user names the server, and only calls of it carry it."""
        if self.name:
            about = {**(params.get("_meta") or {}), "mcpclient/server": self.name}
            params = {**params, "_meta": about}
            if isinstance(params.get("message"), str):
                params["message"] = f"[{self.name}] {params['message']}"
        ask = self.host.ask_when_ready if self.host.version else self.rounds.ask
        return await ask(method, params)

    async def listen(self, wanted: ListenFilter) -> Subscription:
        """Return an open subscription for the events that are wanted, which `follow` closes."""
        return await self.client.listen(**vars(wanted)).open()

    async def follow(
        self,
        subscription: Subscription,
        wanted: ListenFilter,
        tell: Callable[[str, Mapping[str, Any]], None],
        request_id: object = None,
    ) -> None:
        """Pass on the events of a subscription, for as long as there are any.

        ``request_id``: of the host's own request for them; None: its era has none.
        """
        async with subscription:
            is_over = False
            while not is_over:
                try:
                    async for event in subscription:
                        for each in told(event, wanted, request_id):
                            tell(*each)
                    is_over = True
                except McpError as error:  # such as the loss of the server's own channel
                    _logger.warning("%s", error)
