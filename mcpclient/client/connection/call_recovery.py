"""Recovery of calls for which one request is not enough.

Five things may come between a call and its result, each handled only as often as is safe: the
server asks for input (stateless era) or for a visit to a URL (2025-11-25), the session has expired,
the tool's headers have changed, the server is busy.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ...errors import (
    CallTimeout,
    HandlerFailed,
    HttpError,
    McpError,
    NotRecorded,
    PeerError,
    ProtocolViolation,
    SessionExpired,
    UrlElicitationRequired,
)
from ...jsonrpc.messages import ErrorCode
from ...net.futures import cancel_all
from ...protocol.negotiation import INPUT_METHODS, MAX_ROUNDS, pause_before_retry, retry_params
from .connection import Connection
from .limits import RequestOptions
from .session import Sent, Session
from .states import State

if TYPE_CHECKING:
    from .cache import ClientCache


# Seconds before a retry to a busy server, at least and at most, and the most retries.
_RETRY_AFTER = 1.0
_MAX_RETRY_AFTER = 3600.0
_MAX_RETRIES = 30
_BUSY = (429, 503)

# The most requests for input answered at the same time; more fail their call.
_MAX_REQUESTS = 100


T = TypeVar("T")
AnyNamed = TypeVar("AnyNamed", CallTimeout, PeerError)

# The shortest wait, in seconds, when the deadline may have moved while the clocks were paused.
_MIN_WAIT = 0.05


def counted_time(connection: Connection) -> float:
    """Return the time as limits count it: while a human is asked, it stands still."""
    deadlines = connection.deadlines
    return asyncio.get_running_loop().time() if deadlines is None else deadlines.counted_time()


class CallDeadline:
    """One call that may take several requests, and its limit ``max_timeout`` over all of them.

    ``started``: when the call began, by `counted_time`; None: now. Time in which a human is asked
    is not counted.
    """

    __slots__ = ("_connection", "_started", "method", "options", "params")

    def __init__(
        self,
        connection: Connection,
        method: str,
        options: RequestOptions,
        params: Mapping[str, Any] | None = None,
        started: float | None = None,
    ) -> None:
        self._connection = connection
        self.method: str = method
        self.options: RequestOptions = options
        self.params: Mapping[str, Any] | None = params
        self._started = counted_time(connection) if started is None else started

    @property
    def spent(self) -> float:
        """Seconds that it has taken so far."""
        return counted_time(self._connection) - self._started

    @property
    def left(self) -> float:
        """Seconds that it may still take; infinity where there is no limit."""
        seconds = self.options.max_timeout
        return seconds - self.spent if seconds else math.inf

    @property
    def timeout(self) -> CallTimeout:
        """The error to raise when it is up."""
        limit, deadlines = self.options.max_timeout or 0.0, self._connection.deadlines
        reason = deadlines.wait_reason if deadlines is not None else None
        return self.named(CallTimeout(self.method, limit, "total", reason))

    def named(self, error: AnyNamed) -> AnyNamed:
        """Add the server, the method and the subject of the call to an error."""
        params = self.params or {}
        subject = params.get("name") or params.get("uri")
        error.method = self.method
        error.target = self._connection.name
        error.subject = subject if isinstance(subject, str) else ""
        return error

    def rest_of(self, options: RequestOptions) -> RequestOptions:
        """Return the options for a further request. Raises `CallTimeout` when the time is up."""
        left = self.left
        if left == math.inf:
            return options
        if left <= 0:
            raise self.timeout
        return options._replace(max_timeout=left)

    async def limit(self, work: Awaitable[T]) -> T:
        """Await something that has other limits, or none. Raises `CallTimeout`.

        It runs in this task, so that a handler whose call renews the session is not cancelled by
        that: `InboundRequests.withdraw` spares the current task.
        """
        if self.left == math.inf:
            return await work
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        cancellations, is_up = _cancellations_of(task), False
        timer: asyncio.TimerHandle

        def ring() -> None:
            nonlocal timer, is_up
            if self.left > 0:  # the clock stood still meanwhile
                timer = loop.call_later(max(self.left, _MIN_WAIT), ring)
            else:
                is_up = True
                task.cancel()

        timer = loop.call_later(max(self.left, _MIN_WAIT), ring)
        try:
            return await work
        except asyncio.CancelledError:
            if is_up and hasattr(task, "uncancel"):
                task.uncancel()
            # Other code may have cancelled the task as well (known from Python 3.11 on).
            if not is_up or _cancellations_of(task) > cancellations:
                raise
            raise self.timeout from None
        finally:
            timer.cancel()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the time that the block takes."""
        before = counted_time(self._connection)
        try:
            yield
        finally:
            self._started += counted_time(self._connection) - before


def _cancellations_of(task: asyncio.Task[Any]) -> int:
    count: Callable[[], int] | None = getattr(task, "cancelling", None)
    return count() if count is not None else 0


class CallRecovery:
    """Makes calls over a connection, and retries them where that is safe.

    ``refresh_tools`` lists the tools again, with the headers that they require. ``cache`` answers
    instead of the server where it may.
    """

    def __init__(
        self,
        connection: Connection,
        refresh_tools: Callable[[], Awaitable[object]],
        cache: ClientCache | None,
    ) -> None:
        self._connection = connection
        self._takes_tasks = connection.options.tasks
        self._wiring = connection.options.wiring
        self._cache = cache
        self.refresh_tools: Callable[[], Awaitable[object]] = refresh_tools

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        options: RequestOptions,
        time: CallDeadline | None = None,
        *,
        is_admitted: bool = False,
    ) -> dict[str, Any]:
        """Return the complete result of a request; ``time``: the caller's, if it does more.

        ``is_admitted``: the caps have let it through.

        With the option ``tasks``, a task that the server made of a tool call counts as complete.
        Raises what `Session.request` does, `HandlerFailed` when input it asks for is not given, and
        `ProtocolViolation` for a result of unknown type and for a server that never stops asking.
        """
        guard = self._wiring.guard
        if guard is not None:
            refused = guard(method, params or {})
            if refused is not None:
                return refused
        cache = self._cache
        known: dict[str, Any] | None
        keep: Callable[[Mapping[str, Any]], None] | None = None
        if cache is not None and method in cache.methods:
            known, keep = cache.lookup(method, params, options)
            if known is not None:
                return known
        caps = self._connection.caps
        if caps is not None and not is_admitted and method in caps.counted:
            time = time or CallDeadline(self._connection, method, options, params)
            async with caps.slot(time):
                rest = time.rest_of(options)
                return await self.call(method, params, rest, time, is_admitted=True)
        session, generation = self._connection.session, self._connection.generation
        sent: Sent | None = None
        outcome: dict[str, Any] | McpError
        try:
            if session.state is State.EXPIRED:  # a ping, or the server's own stream, had a 404
                assert session.expired is not None, "the state says so"
                raise session.expired.again()
            sent = session.begin(method, params, options)
            outcome = await session.answer_to(sent)
            era, takes_tasks = session.era, self._takes_tasks
            assert era is not None, "there is a result, so there was an agreement"
            is_raw = options.is_raw
            if is_raw or era.input_requests(method, outcome, takes_tasks=takes_tasks) is None:
                if keep is not None:
                    keep(outcome)
                return outcome
        except McpError as error:
            outcome = error
        began = None if sent is None else sent.pending.began
        time = time or CallDeadline(self._connection, method, options, params, began)
        return await self._complete(outcome, generation, params, time)

    async def call_together(
        self, method: str, calls: Sequence[Mapping[str, Any]], options: RequestOptions
    ) -> list[dict[str, Any] | McpError]:
        """Make calls at the same time, one for each of these params; return their outcomes.

        A call costs a task of its own only where one request does not complete it.
        """
        session, generation = self._connection.session, self._connection.generation
        started = session.deadlines.counted_time()
        sent: list[Sent | McpError] = []
        for params in calls:
            try:
                sent.append(session.begin(method, params, options))
            except McpError as error:
                sent.append(error)
        outcomes: list[dict[str, Any] | McpError] = []
        unfinished: dict[int, asyncio.Task[dict[str, Any]]] = {}
        try:
            for params, request in zip(calls, sent):
                outcome: dict[str, Any] | McpError
                try:
                    if isinstance(request, McpError):
                        raise request
                    outcome = await session.answer_to(request)
                    is_complete = self._asked(session, method, outcome) is None
                except McpError as error:
                    outcome, is_complete = error, False
                if not is_complete:
                    time = CallDeadline(self._connection, method, options, params, started)
                    rest = self._complete(outcome, generation, params, time)
                    unfinished[len(outcomes)] = asyncio.ensure_future(rest)
                outcomes.append(outcome)
            for position, task in unfinished.items():
                try:
                    outcomes[position] = await task
                except McpError as error:
                    outcomes[position] = error
        finally:
            for request in sent[len(outcomes) + 1 :]:
                if isinstance(request, Sent):
                    session.give_up(request)
            await cancel_all(unfinished.values())
        return outcomes

    async def _complete(
        self,
        outcome: dict[str, Any] | McpError,
        generation: int,
        params: Mapping[str, Any] | None,
        call: CallDeadline,
    ) -> dict[str, Any]:
        """Return the complete result of a call, of which the first request had this outcome."""
        sent, rounds = params, 0
        while True:
            session = self._connection.session
            result = (
                await self._recover(outcome, generation, sent, call)
                if isinstance(outcome, McpError)
                else outcome
            )
            asked = None if call.options.is_raw else self._asked(session, call.method, result)
            if asked is None:
                return result
            rounds += 1
            answers = await self._input(call, asked, rounds)
            sent = retry_params(params or {}, result, answers)
            generation = self._connection.generation
            try:
                outcome = await self._request(sent, call)
            except McpError as error:
                outcome = error

    async def _request(
        self, params: Mapping[str, Any] | None, call: CallDeadline
    ) -> dict[str, Any]:
        limits = call.rest_of(call.options)
        return await self._connection.session.request(call.method, params, limits)

    def _asked(
        self, session: Session, method: str, result: Mapping[str, Any]
    ) -> Mapping[str, Any] | None:
        assert session.era is not None, "there is a result, so there was an agreement"
        return session.era.input_requests(method, result, takes_tasks=self._takes_tasks)

    async def _input(
        self, call: CallDeadline, asked: Mapping[str, Any], rounds: int
    ) -> dict[str, Any]:
        """Return the input that the server asks for; before a mere retry, wait a little."""
        if rounds > MAX_ROUNDS:
            raise ProtocolViolation(f"{call.method}: the server asked for input {rounds} times")
        if asked:
            with call.paused():
                return await self.answers(asked)
        await call.limit(asyncio.sleep(pause_before_retry(rounds)))
        return {}

    async def answers(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        """Let the handlers answer the server's requests for input, concurrently.

        When one fails, the others are cancelled: no answer would be sent. Raises its error.
        """
        if len(requests) > _MAX_REQUESTS:
            raise ProtocolViolation(f"the server asked for input {len(requests)} times at once")
        answering = [asyncio.ensure_future(self._answer(each)) for each in requests.values()]
        waiting = set(answering)
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if any(task.cancelled() for task in done):  # by itself, not by the caller
                    raise HandlerFailed("input", "its handler was cancelled")
                for task in done:
                    task.result()
            return dict(zip(requests, [task.result() for task in answering]))
        finally:
            await cancel_all(answering)

    async def _answer(self, request: Any) -> Mapping[str, Any]:
        method = request.get("method") if isinstance(request, dict) else None
        if not isinstance(method, str) or method not in INPUT_METHODS:
            raise ProtocolViolation("the server asked for input with an invalid request")
        params = request.get("params")
        if params is None:  # servers that write out every field send null for no params
            params = {}
        elif not isinstance(params, dict):
            raise ProtocolViolation(f"the server asked for input with invalid params of {method}")
        return await self._connection.options.handlers.answer(method, params)

    async def _recover(
        self, error: McpError, generation: int, params: Mapping[str, Any] | None, call: CallDeadline
    ) -> dict[str, Any]:
        """Remove the cause of an error and repeat the request, or raise the error."""
        if isinstance(error, CallTimeout):
            raise call.timeout if error.limit == "total" else call.named(error)
        ask_elsewhere = self._wiring.ask_elsewhere
        if isinstance(error, NotRecorded) and ask_elsewhere is not None:
            return await ask_elsewhere(call.method, params, call.rest_of(call.options))
        try:
            if isinstance(error, HttpError) and error.status in _BUSY:
                if self._connection.options.retry_busy:
                    return await self._request_when_ready(params, call, error)
            elif await self._is_mended(error, generation, call):
                try:
                    return await self._request(params, call)
                except SessionExpired as again:
                    again.is_new = isinstance(error, SessionExpired)
                    raise
            raise error
        except PeerError as refusal:
            call.named(refusal)
            if self._cache is not None:
                self._cache.refused(call.method, params, refusal)
            raise

    async def _is_mended(self, error: McpError, generation: int, call: CallDeadline) -> bool:
        connection = self._connection
        if isinstance(error, SessionExpired):
            await call.limit(connection.renew(generation))
            return True
        if isinstance(error, UrlElicitationRequired):
            # The server has not begun with the call, so it is made again after the visit.
            with call.paused():
                return await connection.options.handlers.ask_for_visits(error.elicitations)
        headers_changed = isinstance(error, PeerError) and error.code == ErrorCode.HEADER_MISMATCH
        if headers_changed and call.method == "tools/call":
            await call.limit(self.refresh_tools())
            return True
        return False

    async def _request_when_ready(
        self, params: Mapping[str, Any] | None, call: CallDeadline, busy: HttpError
    ) -> dict[str, Any]:
        """Repeat a request the server refused to take, as long as its limits allow."""
        from ...net.http_dates import retry_after_seconds

        longest = min(
            call.options.timeout or math.inf, call.options.max_timeout or math.inf, _MAX_RETRY_AFTER
        )
        for _ in range(_MAX_RETRIES):
            header = busy.headers.get("retry-after", "")
            delay = max(retry_after_seconds(header, _RETRY_AFTER), _RETRY_AFTER)
            if delay > longest - call.spent:
                reason = f"waiting {delay:.0f} s would take longer than the {longest:g} s"
                busy.advice = f"{reason} this call may take; call later"
                raise busy
            await asyncio.sleep(delay)
            try:
                return await self._request(params, call)
            except HttpError as error:
                if error.status not in _BUSY:
                    raise
                busy = error
        busy.advice = f"it was asked {_MAX_RETRIES} times more; call again later"
        raise busy
