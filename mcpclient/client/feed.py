"""One listener at work: it keeps a subscription up, and collects what comes."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import Any

from ..errors import ClientClosed, McpError, PeerError
from ..framing.logs import logger_for
from ..net.futures import cancel
from ..protocol.listen import Backlog, EventsMissed, ListenEvent, ListenFilter
from .connection.call_recovery import CallRecovery
from .connection.connection import Connection
from .connection.retries import Retries
from .events.observer import Observer
from .feed_sources import FeedSource, source_for

_logger = logger_for("mcpclient.client")

# A stream that has lasted for so many seconds worked: what broke it is a new failure.
_STEADY = 60.0

# Nothing is waited for in shorter steps, in seconds: a timer may fire a little before its time.
_MIN_WAIT = 0.001


class Feed(Observer):
    """Its task runs from the first use to the end; the `Subscription` is only a handle on it, so
    that a handle nobody holds any more ends it.

    With each connection there is another `FeedSource`, as its era demands.
    """

    def __init__(self, connection: Connection, caller: CallRecovery, wanted: ListenFilter) -> None:
        self.wanted = wanted
        self.acknowledged: ListenFilter | None = None
        self.refusal: PeerError | None = None
        """Why the server does not tell of a resource that was asked for."""
        self._connection = connection
        self._caller = caller
        self._backlog = Backlog()
        self._source: FeedSource | None = None
        self._runner: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._changed: asyncio.Future[None] | None = None
        self._heard = False
        self._ended = False
        self._error: McpError | None = None
        self._error_told = False
        self._bad_news: McpError | None = None

    # For the handle

    @property
    def refused(self) -> ListenFilter:
        """What is wanted, and has not been agreed to."""
        return self.wanted.without(self.acknowledged or ListenFilter())

    @property
    def is_over(self) -> bool:
        """Whether it has ended: nothing more will come."""
        return self._ended

    async def open(self) -> None:
        """Start, and wait until the server has agreed.

        Raises `ClientClosed` when the client is closed meanwhile, and why there is no agreement.
        """
        self._start()
        while self.acknowledged is None and not self._ended:
            await self._change()
        if self._error is not None:
            raise self._error.again()
        if self.acknowledged is None:
            self._connection.require_session()

    async def next(self) -> ListenEvent | None:
        """Return the next event; None at the end. Raises what ended it, once."""
        self._start()
        clock = asyncio.get_running_loop().time
        while True:
            event = self._backlog.take(math.inf if self._ended else clock())
            if event is not None:
                return event
            if self._bad_news is not None:
                error, self._bad_news = self._bad_news, None
                raise error.again()
            if self._error is not None and not self._error_told:
                self._error_told = True
                raise self._error.again()
            if self._ended:
                return None
            due = self._backlog.next_due
            await self._change(None if due == math.inf else max(due - clock(), _MIN_WAIT))

    async def close(self) -> None:
        """End the subscription and wait until that is done."""
        runner, self._runner, self._ended = self._runner, None, True
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
        if self._runner is None and not self._ended:
            self._connection.require_session()
            self._connection.observers.append(self)
            self._runner = asyncio.get_running_loop().create_task(self._keep_up())
            self._runner.add_done_callback(self._finish)

    async def _change(self, seconds: float | None = None) -> None:
        if self._changed is None:
            self._changed = asyncio.get_running_loop().create_future()
        await asyncio.wait({self._changed}, timeout=seconds)

    def _note_change(self) -> None:
        changed, self._changed = self._changed, None
        if changed is not None and not changed.done():
            changed.set_result(None)

    # Keeping it up

    async def _keep_up(self) -> None:
        retries = Retries()
        clock = asyncio.get_running_loop().time
        while True:
            started, self._heard = clock(), False
            try:
                await self._connection.restore()
                self._source = source_for(self._connection, self._caller, self)
                if await self._source.follow():
                    return
            except McpError as error:
                if self.acknowledged is None:
                    raise
                if self._heard or clock() - started >= _STEADY:
                    retries.succeeded()
                self._source = None
                await retries.wait_after(error)

    def _finish(self, runner: asyncio.Task[None]) -> None:
        self._ended = True
        self._source = None
        self._connection.observers.remove(self)
        error = None if runner.cancelled() else runner.exception()
        if isinstance(error, McpError) and not isinstance(error, ClientClosed):
            self._error = error  # of closing, the caller knows
        elif isinstance(error, Exception) and not isinstance(error, McpError):
            _logger.error("a subscription failed", exc_info=error)
        self._note_change()

    # What its source tells

    def acknowledge(self, granted: ListenFilter) -> None:
        """Take note of what the server has agreed to tell from now on."""
        refused = self.wanted.without(granted)
        if refused:
            _logger.warning("the server does not report changes of: %s", refused)
        if self.acknowledged is not None:
            self._put(EventsMissed())
        self.acknowledged = granted
        self._note_change()

    def take(self, event: ListenEvent) -> None:
        """Take an event that was asked for."""
        self._heard = True
        self._put(event)

    def take_bad_news(self, error: McpError) -> None:
        """Raise an error to whoever iterates, once, and go on."""
        self._bad_news = error
        self._note_change()

    def _put(self, event: ListenEvent) -> None:
        self._backlog.put(event, asyncio.get_running_loop().time())
        self._note_change()

    # Observer

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Take what is meant for this listener."""
        if self._source is not None:
            self._source.notified(method, params)

    def connected(self) -> None:
        """Subscribe again: the new session knows nothing of the old."""
        self._bad_news = None
        if self._source is not None:
            self._source.session_over(None)

    def lost(self, error: McpError) -> None:
        """Begin to wait for a new connection, or a new session."""
        if self._source is not None:
            self._source.session_over(error)

    def channel_lost(self, error: McpError) -> None:
        """Tell, and go on: the transport has tried often enough, but there may be other ways."""
        if self._source is not None:
            self._source.channel_lost(error)

    def closed(self) -> None:
        """End with the connection."""
        self._ended = True
        cancel(self._runner)
