"""How a server tells of changes, in either design: with one long request, or with its session."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Protocol

from ..errors import ConnectionLost, McpError, PeerError
from ..framing.logs import logger_for
from ..protocol.listen import ListenEvent, ListenFilter, Stream, event_of
from .connection.call_recovery import CallRecovery
from .connection.connection import Connection
from .connection.session import RequestOptions
from .connection.timeouts import DEFAULT

_logger = logger_for("mcpclient.client")


class Listener(Protocol):
    """Whom a source tells what it hears."""

    wanted: ListenFilter
    refusal: PeerError | None

    def acknowledge(self, granted: ListenFilter) -> None:
        """Take note of what the server has agreed to tell from now on."""

    def take(self, event: ListenEvent) -> None:
        """Take an event that was asked for."""

    def take_bad_news(self, error: McpError) -> None:
        """Take a failure that ends nothing."""


class FeedSource(ABC):
    """Hears of changes for one listener, over one connection."""

    def __init__(self, connection: Connection, caller: CallRecovery, listener: Listener) -> None:
        self._connection = connection
        self._caller = caller
        self._listener = listener

    @abstractmethod
    async def follow(self) -> bool:
        """Subscribe, and stay until that is over. Returns whether the server ended it."""

    @abstractmethod
    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Take what is meant for this listener."""

    def session_over(self, error: McpError | None) -> None:  # noqa: B027 - a request fails itself
        """End: there is another session, or none for the reason given."""

    def channel_lost(self, error: McpError) -> None:  # noqa: B027 - a request needs no channel
        """Take note that the server's own channel was given up."""

    async def leave(self, still_wanted: Collection[str]) -> None:  # noqa: B027 - as above
        """Take back what was subscribed to, but for the resources that others still want."""


def source_for(connection: Connection, caller: CallRecovery, listener: Listener) -> FeedSource:
    """Return the source of the design that the connection's era has."""
    era = connection.era
    with_request = era is not None and era.listens_with_a_request
    return (ListenRequest if with_request else SessionNews)(connection, caller, listener)


class ListenRequest(FeedSource):
    """One ``subscriptions/listen`` request that stays open.

    Source: the "Subscriptions" page of revision 2026-07-28.
    """

    _stream: Stream | None = None

    async def follow(self) -> bool:
        """Send the request, and wait for its answer, which comes at the end."""
        await self._connection.session.request(
            "subscriptions/listen",
            {"notifications": self._listener.wanted.to_wire()},
            RequestOptions(self._connection.options.timeouts.idle, None, on_sent=self._begin),
        )
        return True

    def _begin(self, request_id: int | str) -> None:
        self._stream = Stream(request_id, self._listener.wanted)

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Take what carries the id of this request."""
        stream = self._stream
        if stream is None or not self._connection.is_open:  # the last that a closed client reads
            return
        session = self._connection.session
        if stream.ended_by(method, params):
            error = ConnectionLost("the server has ended the subscription")
            session.request_failed(stream.request_id, error)
            return
        was_acknowledged = stream.acknowledged is not None
        event = stream.take(method, params)
        if not was_acknowledged and event is not None:
            _logger.warning("the server sent %s before it acknowledged the subscription", method)
            stream.acknowledged = self._listener.wanted
        if not was_acknowledged and stream.acknowledged is not None:
            session.lift_limits(stream.request_id)
            self._listener.acknowledge(stream.acknowledged)
        if event is not None:
            self._listener.take(event)


class SessionNews(FeedSource):
    """A part of the notifications that a session brings anyway, and of subscribed resources.

    Source: the tools, prompts, resources and tasks pages of revision 2025-11-25.
    """

    _over: asyncio.Future[McpError | None] | None = None

    async def follow(self) -> bool:
        """Subscribe to the resources, and stay until there is another session or none."""
        self._over = asyncio.get_running_loop().create_future()
        await self._connection.reopen_channel()
        await self._subscribe()
        error = await self._over
        if error is not None:
            raise error
        return False

    async def _subscribe(self) -> None:
        wanted = self._listener.wanted
        granted = []
        for uri in wanted.uris:
            try:
                await self._caller.call("resources/subscribe", {"uri": uri}, self._limits())
                granted.append(uri)
            except PeerError as refusal:
                self._listener.refusal = refusal
        offered = ListenFilter.offered(self._connection.capabilities)
        self._listener.acknowledge(replace(offered, uris=tuple(granted), tasks=wanted.tasks))

    async def leave(self, still_wanted: Collection[str]) -> None:
        """Unsubscribe from the resources that nobody else listens for."""
        for uri in self._listener.wanted.uris:
            if uri in still_wanted:
                continue
            try:
                await self._caller.call("resources/unsubscribe", {"uri": uri}, self._limits())
            except McpError as error:
                _logger.debug("could not unsubscribe from %s: %s", uri, error)

    def _limits(self) -> RequestOptions:
        return self._connection.options.timeouts.for_call("resources/subscribe", DEFAULT, DEFAULT)

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Take what was asked for."""
        event = event_of(method, params)
        if self._listener.wanted.wants(event):
            self._listener.take(event)

    def session_over(self, error: McpError | None) -> None:
        """Stop following; without an error, to subscribe anew."""
        if self._over is not None and not self._over.done():
            self._over.set_result(error)

    def channel_lost(self, error: McpError) -> None:
        """Tell it, and go on: news may still come with the answers to calls."""
        self._listener.take_bad_news(error)
