"""Establishing a connection, and establishing it again when the server has forgotten it.

`protocol.negotiate` decides what to do; this shell does it.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import threading
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar

from ..errors import CallTimeout, ClientClosed, McpError, SessionExpired, UsageError
from ..net.futures import disregard
from ..protocol import tasks
from ..protocol.era import ClientIdentity, EraRules
from ..protocol.era_handshake import HandshakeEra
from ..protocol.negotiate import (
    Agreement,
    Ask,
    Effect,
    OpenServerChannel,
    Plan,
    Restart,
    SwitchToLegacySse,
    Tell,
    negotiate,
)
from ..protocol.types import LogMessage
from ..protocol.versions import LATEST_HANDSHAKE, Era, era_of
from ..transports.base import Transport
from ..transports.recording import recorded
from .callbacks import OrderedCallback
from .observer import Observer
from .options import Options
from .route import Route
from .session import CallOptions, Session
from .task_receiver import TaskReceiver

__all__ = ["Connection"]

logger = logging.getLogger("mcpclient.client")
server_logger = logging.getLogger("mcpclient.server")

T = TypeVar("T")

_settling = threading.Lock()

# What is known of servers met before in this process: a reconnection need not probe again.
_eras: dict[str, Era] = {}
_REMEMBERED_ERAS = 1000

# What is left of a deadline that has passed, in seconds: even then a call is allowed to begin.
_NO_TIME = 0.001

_LOG_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "alert": logging.CRITICAL,
    "emergency": logging.CRITICAL,
}


class Connection:
    """One client's connection: the session of the moment, and how to get the next."""

    def __init__(self, route: Route, options: Options) -> None:
        self.route = route
        self.options = options
        self.agreement: Agreement | None = None
        self.generation = 0
        self.receiver = TaskReceiver(options.handlers, tasks=options.tasks)
        self.observers: list[Observer] = [self.receiver]
        self.loop: asyncio.AbstractEventLoop | None = None
        self._process_id = 0
        self._session: Session | None = None
        self._connecting: Session | None = None
        self._lock: asyncio.Lock | None = None
        self._closed = False
        self._keep_alive_timer: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        """Whether calls can be made now."""
        session = self._session
        if session is None or session.ended is not None or self._closed:
            return False
        return session.loop is self.loop and not session.loop.is_closed()

    @property
    def is_to_be_closed(self) -> bool:
        """Whether there may be something to free: it was opened, and nobody has closed it since.

        In a forked copy of the program that opened it there is not: it is the parent's. Even its
        sockets are better left alone, since parent and child share what watches them.
        """
        return self.loop is not None and not self._closed and not self.is_inherited

    @property
    def is_inherited(self) -> bool:
        """Whether this is a forked copy of the program that connected."""
        return self.loop is not None and self._process_id != os.getpid()

    def home(self) -> asyncio.AbstractEventLoop | None:
        """Return the event loop the connection lives in, None where it has none.

        Raises `UsageError` in a forked copy of the program that connected.
        """
        if self.is_inherited:
            raise UsageError("this client was connected before the program forked; make another")
        return self.loop

    def settle(self) -> None:
        """Make the running loop the one to live in, unless there is one that runs.

        A connection stays where it is until it is closed, or its loop has stopped.
        """
        running = asyncio.get_running_loop()
        with _settling:  # two threads may want it at once
            home = self.home()
            if home is not running and (home is None or self._closed or not home.is_running()):
                self.loop, self._process_id, self._lock = running, os.getpid(), asyncio.Lock()
            self._closed = False

    @property
    def era(self) -> EraRules | None:
        """The rules agreed on; None before connecting."""
        return self.agreement.era if self.agreement is not None else None

    @property
    def session(self) -> Session:
        """The session. Raises `ClientClosed` when there is none, or why it ended."""
        if self._session is None or self._closed:
            raise ClientClosed()
        return self._session

    async def open(self) -> None:
        """Connect, unless connected. Concurrent callers share one attempt.

        To be called where it lives, see `settle`. Raises `ConnectFailed`, `CallTimeout`, or what
        the server answered. When it fails or is cancelled, nothing is left running.
        """
        async with self._opening:
            if self._closed:  # while this waited for another attempt
                raise ClientClosed()
            if self.is_open:
                return
            if self._session is not None:
                await self._leave(self._session)
            self._connecting = session = self._new_session()
            opening = _Opening(self.route, self.options, session)
            try:
                with self.options.hooks.reporting(self.route.shown, "connect"):
                    agreement = await opening.run(self._remembered_era)
                if session.ended is not None:
                    raise session.ended.again()
            except BaseException:
                await session.close(self.options.timeouts.close)
                await self._give_up_logins()
                raise
            finally:
                self._connecting = None
            self._agree(session, agreement)
            self._report(session, agreement)

    async def _leave(self, session: Session) -> None:
        if session.loop is asyncio.get_running_loop():
            await session.close(self.options.timeouts.close)
        else:
            session.abort()  # the event loop it belongs to has ended

    async def restore(self) -> None:
        """Connect anew after a loss, or begin another session after an expiry.

        Raises `ClientClosed` when the caller has closed it, and what `open` does.
        """
        if not self.is_open and self.session is not None:
            await self.open()
        elif self.session.expired is not None:
            await self.renew(self.generation)
            if self.session.expired is not None:  # another's attempt, which failed
                raise self.session.expired.again()

    async def reopen_channel(self) -> None:
        """Ask for the server's own channel once more, where it was given up."""
        session = self.session
        if session.channel_error is not None and isinstance(session.era, HandshakeEra):
            session.channel_error = None
            await session.transport.listen(session.era.headers)

    @property
    def _remembered_era(self) -> Era | None:
        return _eras.get(self.route.key) if self.route.key is not None else None

    @property
    def _opening(self) -> asyncio.Lock:
        assert self._lock is not None, "it lives nowhere"
        return self._lock

    def _new_session(self) -> Session:
        events, callbacks = self.options.events, _Callbacks(self.route.shown, self.observers)
        session = Session(
            recorded(self.route.open(), self.options.network.recorder),
            self.receiver,
            on_notification=callbacks.notification,
            on_error=callbacks.error,
            on_lost=callbacks.lost,
            on_channel_lost=callbacks.channel_lost,
        )
        callbacks.wire(session, events)
        self.receiver.patience = session
        if self.route.authorizer is not None:
            self.route.authorizer.patience = session
        return session

    def _agree(self, session: Session, agreement: Agreement) -> None:
        session.era = agreement.era
        self._session = session
        self.agreement = agreement
        self.generation += 1
        if self.options.protocol_version is None:  # a pinned revision proves nothing
            if len(_eras) >= _REMEMBERED_ERAS:
                _eras.clear()
            if self.route.key is not None:
                _eras[self.route.key] = era_of(agreement.era.version) or Era.HANDSHAKE
        self._schedule_keep_alive()
        for observer in list(self.observers):
            observer.connected()

    def _report(self, session: Session, agreement: Agreement) -> None:
        self.options.hooks.connected(
            server=self.route.shown,
            transport=session.transport.name,
            server_name=agreement.server_info.get("name"),
            server_version=agreement.server_info.get("version"),
            tool_count=None,
        )

    async def _give_up_logins(self) -> None:
        if self.route.authorizer is not None:
            await self.route.authorizer.close()

    async def renew(self, generation: int) -> None:
        """Open a new session on the same transport; the old one, of ``generation``, has expired.

        Callers that notice the same expiry share one renewal, and its failure.
        """
        async with self._opening:
            if self.generation != generation:
                return
            session = self.session
            plan = _plan_for(self.route, self.options, session.transport, None)
            version = session.era.version if session.era is not None else LATEST_HANDSHAKE
            if era_of(version) is None:  # accepted from the server, but not to be offered to it
                version = LATEST_HANDSHAKE
            opening = _Opening(self.route, self.options, session)
            session.begin_anew()
            try:
                agreement = await opening.follow(plan, version)
            except McpError as error:
                self.generation += 1
                session.expired = error
                for observer in list(self.observers):
                    observer.lost(error)
                raise
            self._agree(session, agreement)

    async def close(self) -> None:
        """End the connection, within the close timeout. Idempotent."""
        self._end()
        if self._connecting is not None:
            await self._connecting.close(self.options.timeouts.close)
        session = self._session
        if session is not None:
            was_open = session.ended is None
            await session.close(self.options.timeouts.close)
            if was_open and self.options.events.close is not None:
                OrderedCallback(self.options.events.close, session.tasks)(None)
                await session.tasks.wait(self.options.timeouts.close)
        await self._give_up_logins()

    def abort(self) -> None:
        """Free everything without waiting."""
        self._end()
        for session in (self._connecting, self._session):
            if session is not None:
                session.abort()
        if self.route.authorizer is not None:
            self.route.authorizer.abort()

    def _end(self) -> None:
        self._closed = True
        self._cancel_keep_alive()
        for observer in list(self.observers):
            observer.closed()

    # LIFE-8

    def _schedule_keep_alive(self) -> None:
        self._cancel_keep_alive()
        interval = self.options.keep_alive
        if not interval or self.agreement is None or self.loop is None:
            return
        if self.agreement.era.allows_server_requests:
            self._keep_alive_timer = self.loop.call_later(interval, self._keep_alive)

    def _cancel_keep_alive(self) -> None:
        if self._keep_alive_timer is not None:
            self._keep_alive_timer.cancel()
            self._keep_alive_timer = None

    def _keep_alive(self) -> None:
        if self.is_open and self._session is not None:
            self._session.tasks.start(self._ping(self._session))

    async def _ping(self, session: Session) -> None:
        try:
            await session.request("ping", None, CallOptions(self.options.keep_alive))
        except CallTimeout as error:
            session.connection_lost(error)
        except SessionExpired as error:
            session.channel_lost(error)
        except McpError as error:
            logger.debug("keep-alive: %s", error)
        if self.is_open:
            self._schedule_keep_alive()


class _Callbacks:
    """The library's observers and the caller's event callbacks, as one session calls them."""

    def __init__(self, server: str, observers: Sequence[Observer]) -> None:
        self._server = server
        self._observers = observers
        self._notification: OrderedCallback | None = None
        self._log: OrderedCallback | None = None
        self._error: OrderedCallback | None = None
        self._close: OrderedCallback | None = None

    def wire(self, session: Session, events: Any) -> None:
        """Bind the callbacks to the session whose tasks they run in."""
        made = {
            name: OrderedCallback(function, session.tasks) if function is not None else None
            for name, function in vars(events).items()
        }
        self._notification, self._log = made["notification"], made["log"]
        self._error, self._close = made["error"], made["close"]

    def notification(self, method: str, params: Mapping[str, Any]) -> None:
        """Take a notification; log messages also go to the standard `logging` tree."""
        for observer in list(self._observers):
            observer.notified(method, params)
        if method == "notifications/message":
            self._take_log(LogMessage(params))
        if self._notification is not None:
            self._notification(method, params)

    def _take_log(self, message: LogMessage) -> None:
        level = _LOG_LEVELS.get(message.level, logging.INFO)
        if server_logger.isEnabledFor(level):
            logger_name = f" {message.logger}" if message.logger else ""
            server_logger.log(level, "%s%s: %s", self._server, logger_name, message.data)
        if self._log is not None:
            self._log(message)

    def error(self, error: McpError) -> None:
        if self._error is not None:
            self._error(error)

    def lost(self, error: McpError) -> None:
        for observer in list(self._observers):
            observer.lost(error)
        if self._close is not None:
            self._close(error)

    def channel_lost(self, error: McpError) -> None:
        for observer in list(self._observers):
            if isinstance(error, SessionExpired):
                observer.lost(error)
            else:
                observer.channel_lost(error)


def _plan_for(route: Route, options: Options, transport: Transport, remembered: Era | None) -> Plan:
    return Plan(
        _identity(options),
        route.shown,
        version=_pinned_version(options),
        remembered=remembered,
        strict=options.strict_version,
        may_switch=route.open_legacy is not None,
        answers_all=transport.carries_headers,
    )


def _identity(options: Options) -> ClientIdentity:
    capabilities = options.handlers.capabilities
    handshake = options.handlers.handshake_capabilities
    extensions = dict(options.extensions)
    if options.tasks:
        extensions.setdefault(tasks.EXTENSION, {})
        receiver = tasks.receiver_capability(capabilities)
        if receiver:
            handshake["tasks"] = receiver
    if extensions:
        capabilities["extensions"] = extensions
    return ClientIdentity(options.client_info, capabilities, handshake)


def _pinned_version(options: Options) -> str | None:
    if options.transport == "sse":  # a transport of the handshake era has nothing to probe
        return options.protocol_version or "2025-11-25"
    return options.protocol_version


class _Opening:
    """One attempt to open a session, within the connect timeout."""

    def __init__(self, route: Route, options: Options, session: Session) -> None:
        self._route = route
        self._session = session
        self._options = options
        self._seconds = options.timeouts.connect
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time() + self._seconds if self._seconds else math.inf
        self._switched = False

    async def run(self, remembered: Era | None) -> Agreement:
        """Open the transport and negotiate."""
        await self._open_transport(self._session.transport)
        transport = self._session.transport
        plan = _plan_for(self._route, self._options, transport, remembered)
        return await self._negotiate(plan)

    async def follow(self, plan: Plan, version: str) -> Agreement:
        """Negotiate again on an open transport, in the revision agreed on before."""
        return await self._negotiate(
            Plan(plan.identity, plan.target, version=version, strict=plan.strict)
        )

    async def _negotiate(self, plan: Plan) -> Agreement:
        steps = negotiate(plan)
        try:
            step = next(steps)
            while True:
                try:
                    outcome = await self._perform(step)
                except McpError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(outcome)
        except StopIteration as end:
            agreement: Agreement = end.value
            return agreement

    async def _perform(self, step: Effect) -> Mapping[str, Any] | None:
        session = self._session
        if isinstance(step, Ask):
            return await session.request(step.method, step.params, self._limits(step), step.era)
        if isinstance(step, Tell):
            await self._tell(step.method, step.era)
        elif isinstance(step, OpenServerChannel):
            listening = session.transport.listen(step.headers)
            await self._within("opening the server's channel", listening)
        elif isinstance(step, Restart):
            if session.ended is not None or self._switched:
                self._switched = False
                await self._replace_transport(self._route.open())
        elif isinstance(step, SwitchToLegacySse):
            assert self._route.open_legacy is not None
            self._switched = True
            await self._replace_transport(self._route.open_legacy())
        return None

    async def _tell(self, method: str, era: EraRules) -> None:
        await self._within(method, self._session.notify(method, None, era))

    def _limits(self, step: Ask) -> CallOptions:
        remaining = self._remaining()
        if step.timeout is not None:
            # A probe may be ignored; what comes after it needs its share of the time.
            remaining = min(step.timeout, remaining / 2)
        return CallOptions(None if remaining == math.inf else remaining, None)

    def _remaining(self) -> float:
        # The time that a human took to log in is not the server's.
        deadline = self._deadline + self._session.held_seconds
        return max(deadline - self._loop.time(), _NO_TIME)

    async def _replace_transport(self, transport: Transport) -> None:
        await self._session.transport.close()
        if isinstance(self._session.ended, ClientClosed):  # by the caller, who wants no other
            raise self._session.ended.again()
        transport = recorded(transport, self._options.network.recorder)
        self._session.revive(transport)
        await self._open_transport(transport)

    async def _open_transport(self, transport: Transport) -> None:
        await self._within("connect", transport.open(self._session))

    async def _within(self, what: str, work: Awaitable[T]) -> T:
        task = asyncio.ensure_future(work)
        task.add_done_callback(disregard)
        try:
            while not task.done():
                remaining = self._remaining()
                if remaining == _NO_TIME:
                    raise CallTimeout(what, self._seconds or 0.0, "total")
                await asyncio.wait({task}, timeout=None if remaining == math.inf else remaining)
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
