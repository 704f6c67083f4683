"""Opening a session: `protocol.negotiate` decides the steps, and this performs them in time."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, TypeVar, Union

from ...errors import (
    CallTimeout,
    ClientClosed,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    LossKind,
    McpError,
    PeerError,
    ProtocolViolation,
    ViolationKind,
    lacks_stdin,
)
from ...net.futures import cancel_all, consume_exception, resolve
from ...protocol.negotiate import PROBE_TIMEOUT, negotiate
from ...protocol.negotiation import (
    LATEST_HANDSHAKE,
    PROBE,
    TASKS,
    Agreement,
    Ask,
    ClientIdentity,
    Effect,
    Era,
    KeepWaiting,
    LateAnswer,
    OpenServerChannel,
    Plan,
    Restart,
    SwitchToLegacySse,
    Tell,
)
from ...transports.base import Transport
from .limits import RequestOptions
from .options import Options, Route
from .session import Session
from .states import State

T = TypeVar("T")

Result = Mapping[str, Any]
Outcome = Union[Result, LateAnswer, bool, None]

# The shortest wait, in seconds, while the clock is paused.
_MIN_WAIT = 0.001
# Seconds between checks whether a server has read a request, and seconds that its answer may take
# from then on, before it counts as silent. One that starts slowly reads nothing until it runs, and
# is slow to answer then; one that complains about the probe on stderr will not answer it.
_LOOK_EVERY = 0.1
_ANSWERS_WITHIN = 0.2
_LATE_ANSWERS_WITHIN = 10.0
_COMPLAINT = r"(?i)error|warn|invalid|unknown|unsupported|not found|fail|traceback"
_NO_LIMITS = RequestOptions(None, None)


def plan_for(route: Route, options: Options, transport: Transport, remembered: Era | None) -> Plan:
    """Return the plan of a negotiation; ``remembered``: the era that the server had before."""
    capabilities = options.handlers.capabilities
    handshake = options.handlers.handshake_capabilities
    extensions = dict(options.extensions)
    if options.tasks:
        from ...protocol.tasks import receiver_capability

        extensions.setdefault(TASKS, {})
        receiver = receiver_capability(capabilities)
        if receiver:
            handshake["tasks"] = receiver
    if extensions:
        capabilities["extensions"] = extensions
    version = options.protocol_version
    if options.transport == "sse" and version is None:
        version = LATEST_HANDSHAKE  # a transport of the handshake era has nothing to probe
    return Plan(
        ClientIdentity(options.client_info, capabilities, handshake, options.handlers.opening),
        route.shown,
        version=version,
        remembered=remembered,
        strict=options.strict_version,
        may_switch=route.open_legacy is not None,
        answers_all=transport.carries_headers,
    )


class Opening:
    """One attempt to open a session, within the connect timeout.

    The time that a human takes to log in is not the server's, so it counts for no limit.
    ``starts_once``: a server that ends is not started again, see `EraMemory.starts_once`.
    """

    def __init__(
        self, route: Route, options: Options, session: Session, *, starts_once: bool = False
    ) -> None:
        self._route = route
        self._starts_once = starts_once
        self._session = session
        self._options = options
        self._seconds = options.timeouts.connect
        self._clock = session.deadlines.counted_time
        self._opened_at = self._clock()
        self._deadline = self._opened_at + self._seconds if self._seconds else math.inf
        self._switched = False
        # Those that have no answer yet, with their methods.
        self._requests: dict[asyncio.Task[dict[str, Any]], str] = {}

    async def run(self, remembered: Era | None) -> Agreement:
        """Open the transport and negotiate."""
        session = self._session
        await self._within("connect", session.open_transport())
        self._opened_at = self._clock()
        plan = plan_for(self._route, self._options, session.transport, remembered)
        return await self._negotiate(plan)

    async def follow(self, plan: Plan, version: str) -> Agreement:
        """Negotiate again on an open transport, in the revision agreed on before."""
        again = Plan(plan.identity, plan.target, version=version, strict=plan.strict)
        return await self._negotiate(again)

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
        finally:
            if self._requests:
                await self._withdraw()

    async def _perform(self, step: Effect) -> Outcome:
        session = self._session
        if isinstance(step, Ask):
            return await self._ask(step)
        if isinstance(step, KeepWaiting):
            return await self._answer_to_last(step.timeout)
        if isinstance(step, Tell):
            sending = session.begin_notification(step.method, None, step.era)
            if sending is not None:
                await self._within(step.method, self._until_sent(sending))
        elif isinstance(step, OpenServerChannel):
            listening = session.transport.listen(step.headers)
            await self._within("opening the server's channel", listening)
        elif isinstance(step, Restart):
            return await self._restart()
        elif isinstance(step, SwitchToLegacySse):
            assert self._route.open_legacy is not None
            self._switched = True
            await self._replace_transport(self._route.open_legacy())
        return None

    # Requests

    async def _ask(self, step: Ask) -> Result | LateAnswer:
        sending = self._session.request(step.method, step.params, _NO_LIMITS, step.era)
        request = asyncio.ensure_future(sending)
        request.add_done_callback(consume_exception)
        self._requests[request] = step.method
        return await self._answer_to_last(step.timeout)

    async def _answer_to_last(self, timeout: float | None) -> Result | LateAnswer:
        """Wait for the answer to the last request, or to one before it that has none yet."""
        *earlier, last = self._requests
        # The step after an ignored request needs its share of the time as well.
        now = self._clock()
        share = (self._deadline - now) / 2
        seconds = math.inf if timeout is None else min(timeout, share)
        is_probe = self._requests[last] == PROBE
        while not await self._is_answered(self._requests, now, seconds, is_probe):
            now = self._clock()
            if now >= self._deadline:
                raise self._timeout(self._requests[last])
            if self._session.deadlines.wait_reason is None:
                raise CallTimeout(self._requests[last], seconds)
            # A request that was never sent says nothing about the server.
        for request in earlier:
            if request.done():
                del self._requests[request]
                try:
                    return LateAnswer(request.result())
                except McpError as error:
                    return LateAnswer(None, error)
        del self._requests[last]
        return last.result()

    async def _is_answered(
        self,
        answers: Collection[asyncio.Future[Any]],
        began: float,
        seconds: float,
        is_probe: bool,
    ) -> bool:
        """Wait for an answer; return False if the server read the request and was then silent."""
        silent_at, may_complain = began + seconds, False

        def look(now: float) -> float:
            nonlocal silent_at, may_complain
            look_at = now + _LOOK_EVERY
            if self._session.transport.has_unread:
                silent_at = max(silent_at, now + self._patience(now - began >= seconds, is_probe))
                may_complain = is_probe
            elif not may_complain or self._complains():
                silent_at = min(silent_at, now + _ANSWERS_WITHIN) if may_complain else silent_at
                look_at, may_complain = math.inf, False
            return min(look_at, silent_at)

        return await self._first_of(answers, min(began + _LOOK_EVERY, silent_at), look)

    def _patience(self, is_late: bool, is_probe: bool) -> float:
        """Return the seconds that a server which begins to read now may take to answer."""
        if not is_probe:
            return _ANSWERS_WITHIN
        share = (self._deadline - self._clock()) / 2
        return min(_LATE_ANSWERS_WITHIN if is_late else PROBE_TIMEOUT, share)

    def _complains(self) -> bool:
        said = self._session.transport.stderr_tail
        return PROBE in said and re.search(_COMPLAINT, said) is not None

    async def _withdraw(self) -> None:
        requests, self._requests = self._requests, {}
        await cancel_all(requests)

    # The transport

    async def _restart(self) -> bool:
        has_ended = self._session.ended is not None and not self._starts_once
        # One that has run for long, and never read the probe, has not ended because of it.
        is_late = self._clock() - self._opened_at >= PROBE_TIMEOUT
        is_other = is_late and self._session.transport.left_unread
        if not self._switched and (not has_ended or is_other):
            return False
        self._switched = False
        await self._replace_transport((self._route.open_again or self._route.open)())
        return True

    async def _replace_transport(self, transport: Transport) -> None:
        await self._withdraw()
        await self._session.close_transport()
        if self._session.state is State.CLOSED:  # by the caller, who wants no other
            raise ClientClosed()
        self._session.use_transport(transport)
        await self._within("connect", self._session.open_transport())

    # Time

    async def _within(self, what: str, work: Awaitable[T]) -> T:
        task = asyncio.ensure_future(work)
        self._session.opening = task
        task.add_done_callback(consume_exception)
        try:
            if not await self._first_of({task}):
                raise self._timeout(what)
            if not task.cancelled():
                return task.result()
            if self._session.ended is not None:
                raise self._session.ended.again()
            # The task that connects was not cancelled: something that a callback awaited was.
            raise ConnectFailed(self._route.shown, "a callback cancelled the connection attempt")
        finally:
            self._session.opening = None
            if not task.done():
                await cancel_all([task])

    async def _until_sent(self, sending: Awaitable[None]) -> None:
        await sending  # in a task, so that a loss cancels the wait and nothing of the transport

    async def _first_of(
        self,
        waited_for: Collection[asyncio.Future[Any]],
        until: float = math.inf,
        look: Callable[[float], float] | None = None,
    ) -> bool:
        """Wait until one of these is done; return False on a timeout.

        ``until``: a time of this clock, when ``look``, if any, returns until when to wait on.
        """
        # A timer that looks wakes no task, and a slow server is looked at often.
        loop, timer = self._session.loop, None
        over: asyncio.Future[bool] = loop.create_future()

        def check() -> None:
            nonlocal until, timer
            now = self._clock()
            try:
                if now >= until and look is not None:
                    until = look(now)
            except Exception as error:  # of a transport that is not of this library
                resolve(over, None, error)
                return
            left = min(until, self._deadline) - now
            if left <= 0:
                resolve(over, False)
            elif left < math.inf:
                timer = loop.call_later(max(left, _MIN_WAIT), check)

        def done(_: object) -> None:
            if not over.done():
                over.set_result(True)

        for each in waited_for:
            each.add_done_callback(done)
        check()
        try:
            return await over or any(each.done() for each in waited_for)
        finally:
            if timer is not None:
                timer.cancel()
            for each in waited_for:
                each.remove_done_callback(done)

    def _timeout(self, what: str) -> CallTimeout:
        wait_reason = self._session.deadlines.wait_reason
        return CallTimeout(what, self._seconds or 0.0, "connect", wait_reason)


_SHOWN_STDERR = 2000
_SIGNS_OF_TLS = (LossKind.DROPPED, ViolationKind.NOT_HTTP)


def _proxy_of(route: Route, options: Options) -> str:
    from ...framing.uri import parse_url

    named = route.destination
    if not isinstance(named, str) or not named.startswith(("http", "ws")):
        return ""
    proxy = options.network.proxy_for(parse_url(named))
    return "" if proxy is None else f"{proxy.scheme}://{proxy.host}:{proxy.port}"


def explain(error: McpError, server: str, session: Session, options: Options, route: Route) -> None:
    """Add the server and its other output, without the values of variables, to an error."""
    transport, variables = session.transport, options.env or {}
    if isinstance(error, CallTimeout) and error.limit == "connect":
        from ...recording.secrets import without_values

        error.target = server
        error.stray_ids = session.correlator.stray_ids
        output, stderr = "\n".join(transport.skipped), transport.stderr_tail
        error.output = without_values(output, variables)
        error.stderr = without_values(stderr, variables)[-_SHOWN_STDERR:]
        command = route.destination
        error.reached = transport.reached
        proxy = _proxy_of(route, options)
        if proxy and transport.reached == "nothing":
            error.waiting_for = f"the proxy {proxy}"
        error.lacks_stdin = isinstance(command, (list, tuple)) and lacks_stdin(command)
        if transport.denials is not None:
            transport.denials.advise_start(error)
    elif isinstance(error, PeerError):
        error.target = server
    elif isinstance(error, (ConnectionLost, ProtocolViolation)) and error.kind in _SIGNS_OF_TLS:
        if transport.description.startswith(("http://", "ws://")):
            url = transport.description.replace("://", "s://", 1)
            error.advise(f"If the server speaks TLS on this port, write {url}")
    elif isinstance(error, HttpError) and error.status == 401 and isinstance(options.auth, str):
        error.advise("The server refused the token: give another one as {auth}")
    elif isinstance(error, HttpError) and error.status in (401, 403):
        missing = getattr(options.headers, "missing", ())  # see `IncompleteHeaders`
        if missing:
            names = ", ".join(missing)
            error.advise(f"Set {names}: a header was left out, since it has no value.")
    elif isinstance(error, HttpError) and options.transport and error.status in (400, 404, 405):
        if b"HTTPS" in error.body:  # it speaks TLS on this port
            return
        error.advise(
            "Check the path of the URL (many end in /mcp or /sse), and the transport or type: only "
            f"{options.transport!r} was tried."
        )
