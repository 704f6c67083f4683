"""The feed behind one subscription: reports of changes, in either era."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
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

# The shortest wait, in seconds: a timer may fire a little before its time.
_MIN_WAIT = 0.001


class Feed(Observer):
    """The work behind a subscription, from its first use to its end.

    In the stateless era it is one ``subscriptions/listen`` request that stays open ("Subscriptions"
    page of revision 2026-07-28). In the handshake era the session reports changes anyway, and
    changes of subscribed resources (tools, prompts, resources and tasks pages of revision
    2025-11-25).

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
        # What it follows, by the era: its request, or the session until that is over.
        self._stream: Stream | None = None
        self._session_over: asyncio.Future[McpError | None] | None = None
        self._runner: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._change = NextChange()
        self._heard = False
        self.is_over: bool = False  # nothing more will come
        self._error: McpError | None = None
        # One that the iteration has not raised: the error above, or the loss of the channel.
        self._unread_error: McpError | None = None

    # For the handle

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
            if self._unread_error is not None:
                error, self._unread_error = self._unread_error, None
                raise error.again()
            if self.is_over:
                return None
            due = self._backlog.next_due
            await self._change.wait(None if due == math.inf else max(due - clock(), _MIN_WAIT))

    async def close(self) -> None:
        """End the subscription and wait until that is done."""
        runner, self._runner, self.is_over = self._runner, None, True
        if runner is None:
            return
        subscribes = self._session_over is not None
        runner.cancel()
        await asyncio.wait({runner})
        # The caller may have closed the connection meanwhile; then the server forgets everything.
        if subscribes and self._connection.is_open and self.acknowledged is not None:
            await self._unsubscribe()

    async def _unsubscribe(self) -> None:
        feeds = [feed for feed in self._connection.observers if isinstance(feed, Feed)]
        still_wanted = {uri for feed in feeds for uri in feed.wanted.uris}
        for uri in self.wanted.uris:
            if uri not in still_wanted:
                try:
                    await self._about_resource("resources/unsubscribe", uri)
                except McpError as error:
                    _logger.debug("could not unsubscribe from %s: %s", uri, error)

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

    # Following, and reconnecting

    async def _keep_up(self) -> None:
        retries = Retries()
        while True:
            retries.begin()
            self._heard = False
            try:
                await self._connection.restore()
                try:
                    if self._connection.is_stateless:
                        return await self._follow_request()
                    await self._follow_session()
                finally:
                    self._stream = self._session_over = None
            except McpError as error:
                if self.acknowledged is None:
                    raise
                if self._heard:
                    retries.succeeded()
                await retries.wait_after(error)

    async def _follow_request(self) -> None:
        """Follow the changes over one request, until the server ends it."""

        def begin(request_id: int | str) -> None:
            self._stream = Stream(request_id, self.wanted)

        await self._connection.session.request(
            "subscriptions/listen",
            {"notifications": self.wanted.to_wire()},
            RequestOptions(self._connection.options.timeouts.idle, None, on_sent=begin),
        )

    async def _follow_session(self) -> None:
        """Subscribe, and wait for another session, which knows nothing of this one."""
        self._session_over = over = asyncio.get_running_loop().create_future()
        await self._connection.reopen_channel()
        granted = []
        for uri in self.wanted.uris:
            try:
                await self._about_resource("resources/subscribe", uri)
                granted.append(uri)
            except PeerError as refusal:
                self.refusal = refusal
        offered = ListenFilter.offered(self._connection.capabilities)
        self._acknowledge(replace(offered, uris=tuple(granted), tasks=self.wanted.tasks))
        error = await over
        if error is not None:
            raise error

    async def _about_resource(self, method: str, uri: str) -> None:
        limits = self._connection.options.timeouts.for_call(method, DEFAULT, DEFAULT)
        await self._caller.call(method, {"uri": uri}, limits)

    def _finish(self, runner: asyncio.Task[None]) -> None:
        self.is_over = True
        self._connection.observers.remove(self)
        error = None if runner.cancelled() else runner.exception()
        if isinstance(error, McpError) and not isinstance(error, ClientClosed):
            self._error = self._unread_error = error  # a caller who closed the client needs none
        elif isinstance(error, Exception) and not isinstance(error, McpError):
            _logger.error("a subscription failed", exc_info=error)
        self._change.notify()

    def _acknowledge(self, granted: ListenFilter) -> None:
        refused = self.wanted.without(granted)
        if refused:
            _logger.warning("the server does not report changes of: %s", refused)
        if self.acknowledged is not None:
            self._put(EventsMissed())
        self.acknowledged = granted
        self._change.notify()

    def _put(self, event: ListenEvent) -> None:
        self._backlog.put(event, asyncio.get_running_loop().time())
        self._change.notify()

    # Observer

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        event = None
        if self._session_over is not None:
            event = event_of(method, params)
            event = event if self.wanted.wants(event) else None
        elif self._stream is not None and self._connection.is_open:  # and no last words to a closed
            event = self._event_of(self._stream, method, params)
        if event is not None:
            self._heard = True
            self._put(event)

    def _event_of(
        self, stream: Stream, method: str, params: Mapping[str, Any]
    ) -> ListenEvent | None:
        session = self._connection.session
        if stream.ended_by(method, params):
            error = ConnectionLost("the server has ended the subscription")
            session.request_failed(stream.request_id, error)
            return None
        was_acknowledged = stream.acknowledged is not None
        event = stream.take(method, params)
        if not was_acknowledged and event is not None:
            _logger.warning("the server sent %s before it acknowledged the subscription", method)
            stream.acknowledged = self.wanted
        if not was_acknowledged and stream.acknowledged is not None:
            session.correlator.lift_limits(stream.request_id)
            self._acknowledge(stream.acknowledged)
        return event

    def connected(self) -> None:
        self._unread_error = None
        if self._session_over is not None:
            resolve(self._session_over, None)

    def lost(self, error: McpError) -> None:
        if self._session_over is not None:
            resolve(self._session_over, error)

    def channel_lost(self, error: McpError) -> None:  # responses may still bring changes
        if self._session_over is not None:
            self._unread_error = error
            self._change.notify()

    def closed(self) -> None:
        self.is_over = True
        cancel(self._runner)
