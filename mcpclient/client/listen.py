"""The client's interface to what changes at the server: listening, in either era.

In the stateless era a listener is one ``subscriptions/listen`` request that stays open (the
"Subscriptions" page of 2026-07-28). In the handshake era it takes its part of the notifications
that come anyway, and subscribes to the resources it was given.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any

from ..errors import ClientClosed, ConnectionLost, McpError, PeerError, UsageError
from ..framing.logs import logger_for
from ..protocol.era_stateless import StatelessEra
from ..protocol.listen import (
    Backlog,
    EventsMissed,
    ListenEvent,
    ListenFilter,
    Stream,
    event_of,
)
from .events.observer import Observer
from .link.call_recovery import CallRecovery
from .link.connection import Connection
from .link.requests import Requests
from .link.retries import Retries
from .link.session import RequestOptions
from .link.timeouts import DEFAULT

__all__ = ["Listening", "Subscription"]

logger = logger_for("mcpclient.client")

# A stream that has lasted for so many seconds worked: what broke it is a new failure.
_STEADY = 60.0


class Subscription:
    """What a server tells of changes, as they come: an async iterator of `ListenEvent`.

    ``async with client.listen(…) as subscription`` waits until the server has agreed, and ends the
    subscription at the end of the block. A bare ``async for event in client.listen(…)`` does the
    same for its loop.

    The iteration ends when the server ends the subscription in good order, and when either side of
    it is closed here. A connection that is lost later is made anew, with growing pauses, and an
    `EventsMissed` says so; after five failures in a row without an event between them, the last one
    is raised, as is at once what trying again would not change.

    Over HTTP in the handshake era, a server tells of changes on a channel of its own (GET), and
    with the answers to calls. One that has no such channel tells them with answers only, so an
    idle client hears nothing; that is no error. A channel that was there and is lost for good is:
    the reason is raised, once. Whoever goes on iterating hears what comes with answers, and all of
    it again as soon as there is another session; another `listen` asks for the channel once more.

    A consumer that is slower than the server loses nothing, but of several events of one kind about
    one subject it gets only the latest.
    """

    def __init__(self, client: Requests, feed: _Feed) -> None:
        self._client = client
        self._feed = feed

    @property
    def acknowledged(self) -> ListenFilter | None:
        """What the server has agreed to tell; None before it has."""
        return self._feed.acknowledged

    @property
    def refused(self) -> ListenFilter:
        """What was asked for and not agreed to; there will be no events of it."""
        return self._feed.wanted.without(self._feed.acknowledged or ListenFilter())

    async def open(self) -> Subscription:
        """Wait until the server has agreed. Idempotent.

        Raises `PeerError` when the server does not offer subscriptions, `CallTimeout` when it does
        not react, and what `request` raises.
        """
        await self._client._at_home(self._feed.open)
        return self

    async def close(self) -> None:
        """End the subscription. Idempotent."""
        await self._client._at_home(self._feed.close)

    async def __aenter__(self) -> Subscription:
        try:
            return await self.open()
        except BaseException:
            await self.close()
            raise

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> ListenEvent:
        event = await self._client._at_home(self._feed.next)
        if event is None:
            raise StopAsyncIteration
        return event

    def __del__(self) -> None:
        if "_feed" in self.__dict__:  # else Ctrl-C came before it
            self._feed.drop()


class Listening(Requests):
    """Hearing of changes."""

    _held: dict[str, Subscription]

    def listen(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resources: bool = False,
        uris: Iterable[str] = (),
        tasks: Iterable[str] = (),
    ) -> Subscription:
        """Listen for changes of the lists of tools, prompts or resources, of the resources with
        these URIs, and of the tasks with these ids. See `Subscription`.

        Any number of listeners may be open at once. In the handshake era, a server that tells
        status changes of tasks tells them to all.
        """
        if isinstance(uris, str) or isinstance(tasks, str):
            raise UsageError("uris and tasks are lists of strings")
        wanted = ListenFilter(tools, prompts, resources, tuple(uris), tuple(tasks))
        if not wanted:
            raise UsageError("listen() needs something to listen for")
        return Subscription(self, _Feed(self._connection, self._caller, wanted))

    async def subscribe_resource(self, uri: str) -> None:
        """Have updates of a resource reach ``on_notification``, until `unsubscribe_resource`.

        It is a `listen` for this one resource, so it survives a reconnection. Raises what the
        server answers, or `UsageError` when it agrees to nothing.
        """
        if uri in self._held:
            return
        subscription = self._held[uri] = self.listen(uris=[uri])
        try:
            await subscription.open()
            if subscription.refused:
                raise subscription._feed.refusal or UsageError(
                    f"the server does not announce updates of {uri}"
                )
        except BaseException:
            self._held.pop(uri, None)
            await subscription.close()
            raise

    async def unsubscribe_resource(self, uri: str) -> None:
        """Take back `subscribe_resource`."""
        subscription = self._held.pop(uri, None)
        if subscription is not None:
            await subscription.close()


class _Feed(Observer):
    """One listener at work: it keeps the subscription up, and collects what comes.

    Its task runs from the first use to the end; the `Subscription` is only a handle on it, so that
    a handle nobody holds any more ends it.
    """

    def __init__(self, connection: Connection, caller: CallRecovery, wanted: ListenFilter) -> None:
        self.wanted = wanted
        self.acknowledged: ListenFilter | None = None
        self.refusal: PeerError | None = None
        self._connection = connection
        self._caller = caller
        self._backlog = Backlog()
        self._stream: Stream | None = None
        self._runner: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._changed: asyncio.Future[None] | None = None
        self._session_over: asyncio.Future[McpError | None] | None = None
        self._heard = False
        self._ended = False
        self._error: McpError | None = None
        self._bad_news: McpError | None = None

    # For the handle

    async def open(self) -> None:
        """Start, and wait until the server has agreed."""
        self._start()
        while self.acknowledged is None and not self._ended:
            await self._change()
        if self._error is not None:
            raise self._error.again()

    async def next(self) -> ListenEvent | None:
        """Return the next event; None at the end."""
        self._start()
        while True:
            event = self._backlog.take()
            if event is not None:
                return event
            if self._bad_news is not None:
                error, self._bad_news = self._bad_news, None
                raise error.again()
            if self._error is not None:
                raise self._error.again()
            if self._ended:
                return None
            await self._change()

    async def close(self) -> None:
        """End the subscription and wait until that is done."""
        runner, self._runner, self._ended = self._runner, None, True
        if runner is None:
            return
        runner.cancel()
        await asyncio.wait({runner})
        if self._connection.is_open and not self._is_stateless and self.acknowledged is not None:
            await self._unsubscribe()

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
            self._connection.session  # noqa: B018 - raises when there is no connection
            self._connection.observers.append(self)
            self._runner = asyncio.get_running_loop().create_task(self._keep_up())
            self._runner.add_done_callback(self._finish)

    async def _change(self) -> None:
        if self._changed is None:
            self._changed = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._changed)

    def _note_change(self) -> None:
        changed, self._changed = self._changed, None
        if changed is not None and not changed.done():
            changed.set_result(None)

    # Keeping it up

    def _finish(self, runner: asyncio.Task[None]) -> None:
        self._ended = True
        self._connection.observers.remove(self)
        error = None if runner.cancelled() else runner.exception()
        if isinstance(error, McpError) and not isinstance(error, ClientClosed):
            self._error = error  # of closing, the caller knows
        elif isinstance(error, Exception) and not isinstance(error, McpError):
            logger.error("a subscription failed", exc_info=error)
        self._note_change()

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
            finally:
                self._stream = None

    async def _follow(self) -> bool:
        """Subscribe, and stay until that is over. Returns whether the server ended it."""
        if not self._is_stateless:
            await self._follow_session()
            return False
        session = self._connection.session
        await session.request(
            "subscriptions/listen",
            {"notifications": self.wanted.to_wire()},
            RequestOptions(self._connection.options.timeouts.idle, None, on_sent=self._begin),
        )
        return True

    @property
    def _is_stateless(self) -> bool:
        return isinstance(self._connection.era, StatelessEra)

    def _begin(self, request_id: int | str) -> None:
        self._stream = Stream(request_id, self.wanted)

    async def _follow_session(self) -> None:
        """Subscribe to the resources, and stay until there is another session or none."""
        over: asyncio.Future[McpError | None] = asyncio.get_running_loop().create_future()
        self._session_over = over
        try:
            await self._connection.reopen_channel()
            await self._subscribe()
            error = await over
        finally:
            self._session_over = None
        if error is not None:
            raise error

    async def _subscribe(self) -> None:
        granted = []
        for uri in self.wanted.uris:
            try:
                await self._caller.call("resources/subscribe", {"uri": uri}, self._limits())
                granted.append(uri)
            except PeerError as refusal:
                self.refusal = refusal
        agreement = self._connection.agreement
        offered = ListenFilter.offered(agreement.capabilities if agreement is not None else {})
        self._acknowledge(replace(offered, uris=tuple(granted), tasks=self.wanted.tasks))

    async def _unsubscribe(self) -> None:
        others = [feed for feed in self._connection.observers if isinstance(feed, _Feed)]
        for uri in self.wanted.uris:
            if any(uri in feed.wanted.uris for feed in others):
                continue
            try:
                await self._caller.call("resources/unsubscribe", {"uri": uri}, self._limits())
            except McpError as error:
                logger.debug("could not unsubscribe from %s: %s", uri, error)

    def _limits(self) -> RequestOptions:
        return self._connection.options.timeouts.for_call("resources/subscribe", DEFAULT, DEFAULT)

    def _acknowledge(self, granted: ListenFilter) -> None:
        refused = self.wanted.without(granted)
        if refused:
            logger.warning("the server does not tell changes of: %s", refused)
        if self.acknowledged is not None:
            self._take(EventsMissed())
        self.acknowledged = granted
        self._note_change()

    def _take(self, event: ListenEvent) -> None:
        self._backlog.put(event)
        self._note_change()

    # Observer

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Take what is meant for this listener."""
        if self._stream is not None:
            self._take_from_stream(self._stream, method, params)
        elif self._session_over is not None:
            event = event_of(method, params)
            if self.wanted.wants(event):
                self._heard = True
                self._take(event)

    def _take_from_stream(self, stream: Stream, method: str, params: Mapping[str, Any]) -> None:
        session = self._connection.session
        if stream.ended_by(method, params):
            error = ConnectionLost("the server has taken the subscription down")
            session.request_failed(stream.request_id, error)
            return
        was_acknowledged = stream.acknowledged is not None
        event = stream.take(method, params)
        if not was_acknowledged and event is not None:
            logger.warning("the server sent %s before it acknowledged the subscription", method)
            stream.acknowledged = self.wanted
        if not was_acknowledged and stream.acknowledged is not None:
            session.lift_limits(stream.request_id)
            self._acknowledge(stream.acknowledged)
        if event is not None:
            self._heard = True
            self._take(event)

    def connected(self) -> None:
        """Subscribe again: the new session knows nothing of the old."""
        self._bad_news = None
        self._end_session(None)

    def lost(self, error: McpError) -> None:
        """Begin to wait for a new connection, or a new session."""
        self._end_session(error)

    def channel_lost(self, error: McpError) -> None:
        """Tell, and go on: the transport has tried often enough, but there may be other ways.

        News may still come with the answers to calls, and all of it again in a later session.
        """
        if self._session_over is not None:
            self._bad_news = error
            self._note_change()

    def _end_session(self, error: McpError | None) -> None:
        if self._session_over is not None and not self._session_over.done():
            self._session_over.set_result(error)

    def closed(self) -> None:
        """End with the connection."""
        self._ended = True
        if self._runner is not None and not self._runner.get_loop().is_closed():
            self._runner.cancel()
