"""The connection of one client: opening, keeping alive, reconnecting and closing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Callable

from ...errors import (
    CallTimeout,
    ClientClosed,
    ConnectionLost,
    McpError,
    PeerError,
    ProtocolViolation,
    SessionExpired,
    safe_repr,
)
from ...framing.logs import logger_for
from ...jsonrpc.codec import weight_of
from ...jsonrpc.messages import ErrorCode, Message, response
from ...net.futures import BackgroundTasks, LoopBound, cancel, claiming
from ...net.recorder import TraceTarget
from ...protocol.negotiation import LATEST_HANDSHAKE, Agreement, Era, EraRules, era_of
from ...protocol.types import CallToolResult
from ..events.callbacks import EventCallbacks, Observer, OrderedCallback
from .limits import Deadlines, RequestOptions
from .opening import Opening, explain, plan_for
from .options import Options, Route
from .session import Session
from .states import USABLE, Event, State, step

if TYPE_CHECKING:
    from ..events.around import Call, Watcher
    from ..events.audit import Audit
    from .caps import Caps
    from .keeper import Keeper

_logger = logger_for("mcpclient.client")

# The id of an opening that is recorded from memory; no request of this client uses it.
_RECALLED_ID = "opening"

_FORGOTTEN = (State.EXPIRED, State.REFUSED)


class Connection(LoopBound):
    """One client's connection: the current session, and the means to open the next."""

    def __init__(self, route: Route, options: Options) -> None:
        self.route = route
        self.options = options
        self.name: str = options.name or route.shown
        self.agreement: Agreement | None = None
        self.audit: Audit | None = None
        if options.audit is not None:
            from ..events.audit import Audit

            account = getattr(options.auth, "account", None) or ""
            self.audit = Audit(options.audit, self.name, account=account)
        wiring = options.wiring
        self.caps: Caps | None = None
        if options.limits is not None:
            from .caps import Caps

            caps = {} if wiring.caps is None else wiring.caps
            self.caps = caps.setdefault(self.name, Caps(options.limits, self.name))
            self.caps.limits = options.limits
        era = era_of(wiring.version)
        if era is not None:
            options.eras.remember(route.key, era)
        self.generation: int = 0
        self.keeper: Keeper | None = None
        """Restores the connection after a loss, where that is not left to the next request."""
        self.observers: list[Observer] = [*wiring.observers]
        options.handlers.attach(self.name, self.observers)
        self.watchers: list[Watcher] = []
        if options.around:
            from ..events.around import Watcher

            self.watchers += (each for each in options.around if isinstance(each, Watcher))
        for watcher in self.watchers:
            self.observers.append(watcher.session_observer(partial(self.described, "session")))
        # The state while there is no session, and once the caller has closed it.
        self._resting: State = State.UNOPENED
        self._session: Session | None = None
        self._connecting: Session | None = None
        self._failure: list[McpError] = []  # of the attempt that a caller of `open` waits for
        self._opening: asyncio.Lock  # made for the loop it lives in
        self._keep_alive: asyncio.Task[None] | None = None

    @property
    def state(self) -> State:
        """The state in `states.TABLE`: the current session's, if there is one."""
        if self._session is None or self._resting is State.CLOSED:
            return self._resting
        return self._session.state

    @property
    def is_open(self) -> bool:
        """Whether calls can be made now."""
        session = self._session
        if session is None or session.state not in USABLE or self._resting is State.CLOSED:
            return False
        return session.loop is self.loop and not session.loop.is_closed()

    @property
    def is_connected(self) -> bool:
        """Whether the server would answer a call now, as far as is known.

        False if it was unreachable the last time, or has refused another session.
        """
        session = self._session
        if session is None or not self.is_open:
            return False
        return session.transport.unreachable is None and session.state is not State.REFUSED

    @property
    def is_to_be_closed(self) -> bool:
        """Whether there may be something to free: it was opened, and not closed since."""
        # In a forked copy of the program, even the sockets are left alone: they are the parent's.
        return self.loop is not None and self._resting is not State.CLOSED and not self.is_inherited

    def claim_loop(self) -> None:
        """Move to the running loop if the connection is closed, or its own loop has stopped."""
        with claiming:
            is_closed = self._resting is State.CLOSED
            if self.claim(is_free=is_closed):
                self._opening = asyncio.Lock()
            if is_closed:
                self._resting = step(self._resting, Event.CLAIM)

    @property
    def era(self) -> EraRules | None:
        """The rules agreed on; None before connecting."""
        return self.agreement.era if self.agreement is not None else None

    @property
    def is_stateless(self) -> bool:
        """Whether the stateless era was agreed on."""
        return self.agreement is not None and self.agreement.era.is_stateless

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The capabilities that the server declared; none before connecting."""
        return self.agreement.capabilities if self.agreement is not None else {}

    @property
    def session(self) -> Session:
        """The session. Raises `ClientClosed` when there is none, or why it ended."""
        if self._resting is State.CLOSED:
            raise ClientClosed()
        if self._session is None:
            raise ClientClosed("not connected yet: use async with, or await client.connect()")
        return self._session

    def require_session(self) -> None:
        """Raise `ClientClosed` when there is no session, as `session` does."""
        self.session  # noqa: B018 - it raises

    @property
    def deadlines(self) -> Deadlines | None:
        """The clocks of calls, which every session goes on with; None before there is one."""
        return self._session.deadlines if self._session is not None else None

    @cached_property
    def _kind_of_call(self) -> type[Call]:
        from ..events.around import Call  # only where a hook or a log sees a request

        kind: type[Call] = Call  # a copy without this part has only its name
        return kind

    def described(self, method: str, name: str = "", full_name: str = "", **facts: Any) -> Call:
        """Return a request as hooks see it; by default one without a name."""
        era, session = self.era, self._session
        facts = {
            "arguments": {},
            "protocol_version": era.version if era is not None else None,
            "transport": session.transport.name if session is not None and self.is_open else None,
            **facts,
        }
        trusted = self.options.trusted
        return self._kind_of_call(
            self.name, name, full_name, method=method, trusted=trusted, **facts
        )

    async def open(self) -> None:
        """Connect, unless connected, in the loop of `claim_loop`; see `Client.connect`."""
        failure = self._failure
        async with self._opening:
            if self.is_connected:
                return
            if failure:  # of the attempt that this has waited for
                raise failure[0].again()
            earlier = self._session
            has_one_transport = self.route.key is None  # the caller's own
            if earlier is not None and (has_one_transport or not self.is_open):
                await self._leave(earlier)
                earlier = None  # an open one still works, and is left only for its successor
                # The caller may close it while this awaits the lock or the earlier session's end.
            if self._resting is State.CLOSED:
                raise ClientClosed()
            decision = self.options.wiring.decision()
            self._connecting = session = self._new_session()
            eras, key = self.options.eras, self.route.key
            remembered = eras.recall(key)
            opening = Opening(self.route, self.options, session, starts_once=eras.starts_once(key))
            agreed = None
            try:
                with self.options.hooks.reporting(self.name, "connect"):
                    if self.audit is None and not self.watchers:
                        agreement = await opening.run(remembered)
                    else:
                        agreement = await self._observed(opening, session, decision, remembered)
                await self._repeat_log_level(session, agreement.era)
                if session.ended is not None:
                    raise session.ended.again()
                agreed = agreement.era.version
            except BaseException as error:
                if isinstance(error, ConnectionLost):
                    eras.failed(key)
                if isinstance(error, McpError):
                    explain(error, self.name, session, self.options, self.route)
                    self._failure.append(error.again())
                    self._failure = []  # later callers wait for another attempt
                await session.close(self.options.timeouts.close)
                await self._give_up_logins()
                raise
            finally:
                self._connecting = None
                if self.route.opened is not None:
                    self.route.opened(agreed)
            self._agree(session, agreement)
            if earlier is not None:
                await self._leave(earlier)
            if self.options.hooks.on_connect is not None:
                await self._report(session, agreement)

    async def _observed(
        self, opening: Opening, session: Session, decision: str, remembered: Era | None
    ) -> Agreement:
        """Open a session, with the hooks that watch that around it, and a line in the audit log."""
        from ..events.around import surrounded

        agreed = []

        async def make(call: Call) -> CallToolResult:
            agreed.append(await opening.run(remembered))
            era = agreed[0].era
            opened = era.opening_request(_RECALLED_ID).message["method"]
            return CallToolResult({"method": opened, "protocolVersion": era.version})

        call = self.described("connect", protocol_version=None, transport=session.transport.name)
        connect = surrounded(self.watchers, make)
        if self.audit is None:
            await connect(call)
        else:
            is_confined = bool(self.options.sandbox)
            with self.audit.starting(self.route.shown, decision, sandbox=is_confined):
                await connect(call)
        return agreed[0]

    async def _leave(self, session: Session) -> None:
        if session.loop is asyncio.get_running_loop():
            await session.close(self.options.timeouts.close)
        else:
            session.abort()  # the event loop it belongs to has ended

    async def restore(self) -> None:
        """Reconnect after a loss, or open another session after an expiry.

        A keeper is waited for instead: it judges whether the server may be started again.
        """
        self.require_session()
        if not self.is_open and self.keeper is not None:
            await self.keeper.await_connection(self.options.timeouts.connect, "initialize")
        elif not self.is_open:
            await self.open()
        elif self.state in _FORGOTTEN:
            await self.renew(self.generation)
            session = self.session
            if session.state in _FORGOTTEN and session.expired is not None:
                raise session.expired.again()  # a concurrent caller's attempt has failed

    async def reopen_channel(self) -> None:
        """Open the server's own channel again if it was given up."""
        session = self.session
        headers = session.era.channel_headers if session.era is not None else None
        if session.channel_error is not None and headers is not None:
            session.channel_error = None
            await session.transport.listen(headers)

    def _new_session(self) -> Session:
        transport, tasks = self.route.open(), BackgroundTasks()
        events = EventCallbacks(self.name, self.observers, self.options.events, tasks)
        handlers, recorder = self.options.handlers, self.options.network.recorder
        decode = self.options.wiring.decode
        session = Session(transport, handlers, events, tasks, recorder, decode)
        if self._session is not None:
            session.log_level = self._session.log_level
            # A call may have begun in the earlier session.
            session.deadlines.go_on_from(self._session.deadlines)
        handlers.clocks = session.deadlines
        if self.route.authorizer is not None:
            self.route.authorizer.clocks = session.deadlines
        return session

    def trace_to(self, target: TraceTarget) -> Callable[[], None]:
        """Write a transcript from now on; return a function that ends it.

        The opening of an open session is written from memory, so that it can be replayed.
        """
        recorder = self.options.network.recorder
        assert recorder is not None, "every client has one"
        recorder.learn(self.options.env or {})
        session, agreement = self._session, self.agreement
        recalled: tuple[Message, ...] = ()
        lines: list[str] = []
        if self.is_open and session is not None and agreement is not None:
            if session.log is None and not session.transport.records_itself:
                session.log = recorder.writer.message_log(session.transport.name)
            request = agreement.era.opening_request(_RECALLED_ID).message
            recalled = (request, response(_RECALLED_ID, agreement.raw))
            lines = session.transport.stderr_tail.splitlines()
        end: Callable[[], None] = recorder.writer.add(target, recalled, lines)
        return end

    def _agree(self, session: Session, agreement: Agreement) -> None:
        session.agreed(agreement.era)
        self._session = session
        self.agreement = agreement
        self.generation += 1
        if self.options.protocol_version is None:  # a pinned revision proves nothing
            era = era_of(agreement.era.version) or Era.HANDSHAKE
            self.options.eras.remember(self.route.key, era, is_certain=agreement.is_certain)
        cancel(self._keep_alive)
        if self.options.keep_alive and not agreement.era.is_stateless:
            self._keep_alive = session.tasks.start(self._ping(session, self.options.keep_alive))
        for observer in list(self.observers):
            observer.connected()

    async def _repeat_log_level(self, session: Session, era: EraRules) -> None:
        """Send the caller's log level again: a new session does not know it."""
        # Before any other request, so that it cannot overtake a level that the caller sets then.
        if session.log_level is None or era.is_stateless:
            return
        params, limits = {"level": session.log_level}, RequestOptions(self.options.timeouts.connect)
        try:
            await session.request("logging/setLevel", params, limits, era)
        except McpError as error:
            _logger.warning("%s: the level of log messages was not set again: %s", self.name, error)

    async def _report(self, session: Session, agreement: Agreement) -> None:
        tool_count: int | None = 0
        if "tools" in agreement.capabilities:
            limits = RequestOptions(self.options.timeouts.connect)
            fetch = partial(session.request, "tools/list", options=limits)
            try:
                tool_count = len(await all_pages(fetch, "tools"))
            except McpError as error:
                _logger.debug("%s: the tools were not counted: %s", self.name, error)
                tool_count = None
        self.options.hooks.connected(
            server=self.name,
            transport=session.transport.name,
            server_name=agreement.server_info.get("name"),
            server_version=agreement.server_info.get("version"),
            tool_count=tool_count,
        )

    async def _give_up_logins(self) -> None:
        if self.route.authorizer is not None:
            await self.route.authorizer.close()

    async def renew(self, generation: int) -> None:
        """Open a new session on the same transport; the old one, of ``generation``, has expired."""
        async with self._opening:
            if self.generation != generation:
                return
            session = self.session
            if session.ended is not None:
                raise session.ended.again()
            plan = plan_for(self.route, self.options, session.transport, None)
            version = session.era.version if session.era is not None else LATEST_HANDSHAKE
            if era_of(version) is None:  # accepted from the server, but not to be offered to it
                version = LATEST_HANDSHAKE
            opening = Opening(self.route, self.options, session)
            session.begin_anew()
            try:
                agreement = await opening.follow(plan, version)
            except McpError as error:
                self.generation += 1
                session.refused(error)
                for observer in list(self.observers):
                    observer.lost(error)
                raise
            await self._repeat_log_level(session, agreement.era)
            if session.ended is not None:  # closed, or lost, after the server had answered
                raise session.ended.again()
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
        self._resting = step(self._resting, Event.CLOSE)
        cancel(self._keep_alive)
        for observer in list(self.observers):
            observer.closed()

    async def _ping(self, session: Session, seconds: float) -> None:
        while session.ended is None:
            await asyncio.sleep(seconds)
            try:
                await session.request("ping", None, RequestOptions(seconds))
            except CallTimeout as error:
                session.connection_lost(error)
            except SessionExpired as error:
                session.channel_lost(error)
            except McpError as error:
                _logger.debug("keep-alive: %s", error)


MAX_PAGES = 1000
"""The most pages that a list may have; a longer one counts as endless."""

MAX_WEIGHT = 256 * 1024 * 1024
"""The most memory that the pages of a list may take together, in bytes."""


async def all_pages(
    fetch: Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]], key: str
) -> list[dict[str, Any]]:
    """Return the objects under ``key`` of every page.

    ``fetch`` takes the params of one request and returns its result. The list ends where there is
    no cursor ("Pagination"), and begins anew once when one has become invalid ("Caching"). Items
    that are not objects are left out. Raises `ProtocolViolation` for a value that is not a list,
    for a repeated cursor, and for a list over `MAX_PAGES` or `MAX_WEIGHT`.
    """
    items: list[dict[str, Any]] = []
    params: dict[str, Any] = {}
    seen: set[str] = set()
    weight, is_first_try = 0, True
    for _ in range(MAX_PAGES):
        try:
            result = await fetch(params)
        except PeerError as refusal:
            if not (params and is_first_try and refusal.code == ErrorCode.INVALID_PARAMS):
                raise
            items, params, seen, is_first_try = [], {}, set(), False
            continue
        page = result.get(key)
        if page and not isinstance(page, list):  # an empty object is how Lua writes an empty list
            raise ProtocolViolation(f"the {key} of the server are not a list: {safe_repr(page)}")
        items += [item for item in page or () if isinstance(item, dict)]
        cursor = result.get("nextCursor")
        if cursor is None:
            return items
        weight += weight_of(result, MAX_WEIGHT)
        if weight > MAX_WEIGHT:
            raise ProtocolViolation(f"the list of {key} exceeds {MAX_WEIGHT >> 20} MiB of memory")
        # By the schema it is a string, but anything else is sent back, too.
        mark = safe_repr(cursor, None)
        if mark in seen:
            raise ProtocolViolation(f"the server gave {key} the cursor {safe_repr(cursor)} twice")
        seen.add(mark)
        params = {"cursor": cursor}
    raise ProtocolViolation(f"the list of {key} did not end within {MAX_PAGES} pages")
