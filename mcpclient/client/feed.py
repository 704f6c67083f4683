"""The feed behind one subscription, and its source: reports of changes, in either era."""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ..errors import ClientClosed, ConnectionLost, McpError, PeerError
from ..framing.logs import logger_for
from ..net.futures import NextChange, cancel, resolve
from ..protocol.listen import Backlog, EventsMissed, ListenEvent, ListenFilter, Stream, event_of
from ..transports.backoff import Retries
from .connection.call_recovery import CallRecovery
from .connection.connection import Connection
from .connection.limits import DEFAULT, RequestOptions
from .events.callbacks import Observer

_logger = logger_for("mcpclient.client")


class FeedSource(Observer, ABC):
    """The source of changes for one feed, over one session."""

    def __init__(self, connection: Connection, caller: CallRecovery, feed: Feed) -> None:
        self._connection = connection
        self._caller = caller
        self._feed = feed

    @abstractmethod
    async def follow(self) -> bool:
        """Subscribe, and wait for the end. Return whether the server ended it."""

    async def leave(self, still_wanted: Collection[str]) -> None:
        """Unsubscribe, except from the resources that other feeds still want."""


class ListenRequest(FeedSource):
    """One ``subscriptions/listen`` request that stays open.

    Source: the "Subscriptions" page of revision 2026-07-28.
    """

    _stream: Stream | None = None

    async def follow(self) -> bool:
        await self._connection.session.request(
            "subscriptions/listen",
            {"notifications": self._feed.wanted.to_wire()},
            RequestOptions(self._connection.options.timeouts.idle, None, on_sent=self._begin),
        )
        return True

    def _begin(self, request_id: int | str) -> None:
        self._stream = Stream(request_id, self._feed.wanted)

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
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
            stream.acknowledged = self._feed.wanted
        if not was_acknowledged and stream.acknowledged is not None:
            session.lift_limits(stream.request_id)
            self._feed.acknowledge(stream.acknowledged)
        if event is not None:
            self._feed.take(event)


class SessionChanges(FeedSource):
    """The changes that a session reports anyway, and those of subscribed resources.

    Source: the tools, prompts, resources and tasks pages of revision 2025-11-25.
    """

    _over: asyncio.Future[McpError | None] | None = None

    async def follow(self) -> bool:
        self._over = asyncio.get_running_loop().create_future()
        await self._connection.reopen_channel()
        await self._subscribe()
        error = await self._over
        if error is not None:
            raise error
        return False

    async def _subscribe(self) -> None:
        wanted = self._feed.wanted
        granted = []
        for uri in wanted.uris:
            try:
                await self._caller.call("resources/subscribe", {"uri": uri}, self._limits())
                granted.append(uri)
            except PeerError as refusal:
                self._feed.refusal = refusal
        offered = ListenFilter.offered(self._connection.capabilities)
        self._feed.acknowledge(replace(offered, uris=tuple(granted), tasks=wanted.tasks))

    async def leave(self, still_wanted: Collection[str]) -> None:
        for uri in self._feed.wanted.uris:
            if uri in still_wanted:
                continue
            try:
                await self._caller.call("resources/unsubscribe", {"uri": uri}, self._limits())
            except McpError as error:
                _logger.debug("could not unsubscribe from %s: %s", uri, error)

    def _limits(self) -> RequestOptions:
        return self._connection.options.timeouts.for_call("resources/subscribe", DEFAULT, DEFAULT)

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        event = event_of(method, params)
        if self._feed.wanted.wants(event):
            self._feed.take(event)

    def connected(self) -> None:  # follow again: the new session knows nothing of the old
        if self._over is not None:
            resolve(self._over, None)

    def lost(self, error: McpError) -> None:
        if self._over is not None:
            resolve(self._over, error)

    def channel_lost(self, error: McpError) -> None:  # responses may still bring changes
        self._feed.report_error(error)


# A stream that has lasted for so many seconds worked: what broke it is a new failure.
_STEADY = 60.0

# The shortest wait, in seconds: a timer may fire a little before its time.
_MIN_WAIT = 0.001


class Feed(Observer):
    """The work behind a subscription, from its first use to its end.

    The `Subscription` is only a handle to it, so dropping the last reference to that ends it.
    """

    def __init__(self, connection: Connection, caller: CallRecovery, wanted: ListenFilter) -> None:
        self.wanted = wanted
        self.acknowledged: ListenFilter | None = None
        self.refusal: PeerError | None = None
        """The reason why the server does not report a resource that was asked for."""
        self._connection = connection
        self._caller = caller
        self._backlog = Backlog()
        self._source: FeedSource | None = None
        self._runner: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._change = NextChange()
        self._heard = False
        self.is_over: bool = False  # nothing more will come
        self._error: McpError | None = None
        self._error_told = False
        self._reported_error: McpError | None = None

    # For the handle

    @property
    def refused(self) -> ListenFilter:
        """The wanted changes that the server has not agreed to report."""
        return self.wanted.without(self.acknowledged or ListenFilter())

    async def open(self) -> None:
        """Start, and wait until the server has agreed. Raises the reason if it has not."""
        self._start()
        while self.acknowledged is None and not self.is_over:
            await self._change.wait()
        if self._error is not None:
            raise self._error.again()
        if self.acknowledged is None:
            self._connection.require_session()

    async def next(self) -> ListenEvent | None:
        """Return the next event; None at the end. Raises what ended it, once."""
        self._start()
        clock = asyncio.get_running_loop().time
        while True:
            event = self._backlog.take(math.inf if self.is_over else clock())
            if event is not None:
                return event
            if self._reported_error is not None:
                error, self._reported_error = self._reported_error, None
                raise error.again()
            if self._error is not None and not self._error_told:
                self._error_told = True
                raise self._error.again()
            if self.is_over:
                return None
            due = self._backlog.next_due
            await self._change.wait(None if due == math.inf else max(due - clock(), _MIN_WAIT))

    async def close(self) -> None:
        """End the subscription and wait until that is done."""
        runner, self._runner, self.is_over = self._runner, None, True
        if runner is None:
            return
        source = self._source
        runner.cancel()
        await asyncio.wait({runner})
        if source is not None and self._connection.is_open and self.acknowledged is not None:
            await source.leave(self._wanted_by_others())

    def _wanted_by_others(self) -> set[str]:
        feeds = [feed for feed in self._connection.observers if isinstance(feed, Feed)]
        return {uri for feed in feeds for uri in feed.wanted.uris}

    def drop(self) -> None:
        """End the subscription from a finalizer, in whatever thread that runs."""
        loop = self._connection.loop
        if self._runner is None or self._runner.done() or loop is None or not loop.is_running():
            return
        loop.call_soon_threadsafe(self._close_later)

    def _close_later(self) -> None:
        self._closing = asyncio.get_running_loop().create_task(self.close())

    def _start(self) -> None:
        if self._runner is None and not self.is_over:
            self._connection.require_session()
            self._connection.observers.append(self)
            self._runner = asyncio.get_running_loop().create_task(self._keep_up())
            self._runner.add_done_callback(self._finish)

    # Reconnecting

    async def _keep_up(self) -> None:
        retries = Retries()
        clock = asyncio.get_running_loop().time
        while True:
            started, self._heard = clock(), False
            try:
                await self._connection.restore()
                if await self._follow():
                    return
            except McpError as error:
                if self.acknowledged is None:
                    raise
                if self._heard or clock() - started >= _STEADY:
                    retries.succeeded()
                await retries.wait_after(error)

    async def _follow(self) -> bool:
        """Follow the changes over one session, as the era of the connection demands."""
        connection = self._connection
        era = connection.era
        with_request = era is not None and era.is_stateless
        source_type = ListenRequest if with_request else SessionChanges
        self._source = source = source_type(connection, self._caller, self)
        connection.observers.append(source)
        try:
            return await source.follow()
        finally:
            connection.observers.remove(source)
            self._source = None

    def _finish(self, runner: asyncio.Task[None]) -> None:
        self.is_over = True
        self._connection.observers.remove(self)
        error = None if runner.cancelled() else runner.exception()
        if isinstance(error, McpError) and not isinstance(error, ClientClosed):
            self._error = error  # a caller who closed the client needs none
        elif isinstance(error, Exception) and not isinstance(error, McpError):
            _logger.error("a subscription failed", exc_info=error)
        self._change.notify()

    # For the source

    def acknowledge(self, granted: ListenFilter) -> None:
        """Record the changes that the server has agreed to report."""
        refused = self.wanted.without(granted)
        if refused:
            _logger.warning("the server does not report changes of: %s", refused)
        if self.acknowledged is not None:
            self._put(EventsMissed())
        self.acknowledged = granted
        self._change.notify()

    def take(self, event: ListenEvent) -> None:
        """Queue an event that was asked for."""
        self._heard = True
        self._put(event)

    def report_error(self, error: McpError) -> None:
        """Raise an error in the iteration, once, and continue."""
        self._reported_error = error
        self._change.notify()

    def _put(self, event: ListenEvent) -> None:
        self._backlog.put(event, asyncio.get_running_loop().time())
        self._change.notify()

    # Observer

    def connected(self) -> None:
        self._reported_error = None

    def closed(self) -> None:
        self.is_over = True
        cancel(self._runner)
