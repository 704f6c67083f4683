"""Making a call succeed where one request is not enough.

Five things may come between a call and its result, each answered only as often as is safe: the
server asks for input (stateless era) or for a visit to a URL (2025-11-25), the session has expired,
the tool's headers have changed, the server is busy.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Callable, NamedTuple, TypeVar

from ...errors import (
    CallTimeout,
    HandlerFailed,
    HttpError,
    McpError,
    PeerError,
    ProtocolViolation,
    SessionExpired,
    UrlElicitationRequired,
)
from ...jsonrpc.messages import ErrorCode
from ...net.clocks import retry_after_seconds
from ...net.futures import cancel_all
from ...protocol.mrtr import (
    INPUT_METHODS,
    MAX_ROUNDS,
    pause_before_retry,
    retry_params,
)
from .connection import Connection
from .limits import RequestOptions
from .response_cache import ClientCache
from .session import Sent, Session

# What a busy server is given when it does not say how long it wants to be left alone.
# A server that wants no time at all gets as much. None is asked again without end, nor waited for
# longer than anybody waits.
_RETRY_AFTER = 1.0
_MAX_RETRY_AFTER = 3600.0
_MAX_RETRIES = 30
_BUSY = (429, 503)

# How many requests for input are answered at the same time; more fail their call.
_MAX_REQUESTS = 100


T = TypeVar("T")
AnyNamed = TypeVar("AnyNamed", CallTimeout, PeerError)

# How long a wait is at least, whose end may have moved because the clocks stood still meanwhile.
_MIN_WAIT = 0.05


def counted_time(connection: Connection) -> float:
    """Return the time as limits count it: while a human is asked, it stands still."""
    return asyncio.get_running_loop().time() - connection.held_seconds


class CallDeadline:
    """Keeps the limit ``max_timeout`` of one call over everything the call consists of.

    ``started``: when the call began, by `counted_time`; None: now. Time in which a human is asked
    is not counted.
    """

    __slots__ = ("_connection", "_method", "_options", "_params", "_started")

    def __init__(
        self,
        connection: Connection,
        method: str,
        options: RequestOptions,
        params: Mapping[str, Any] | None = None,
        started: float | None = None,
    ) -> None:
        self._connection = connection
        self._method = method
        self._options = options
        self._params = params
        self._started = counted_time(connection) if started is None else started

    @property
    def spent(self) -> float:
        """Seconds that it has taken so far."""
        return counted_time(self._connection) - self._started

    @property
    def left(self) -> float:
        """Seconds that it may still take; infinity where there is no limit."""
        seconds = self._options.max_timeout
        return seconds - self.spent if seconds else math.inf

    @property
    def timeout(self) -> CallTimeout:
        """The error to raise when it is up."""
        limit, reason = self._options.max_timeout or 0.0, self._connection.wait_reason
        return self.named(CallTimeout(self._method, limit, "total", reason))

    def named(self, error: AnyNamed) -> AnyNamed:
        """Add the server, the method and the subject of the call to an error."""
        params = self._params or {}
        subject = params.get("name") or params.get("uri")
        error.method = self._method
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

        It runs in this very task: who renews a session must be known not to be cut off by that.
        """
        if self.left == math.inf:
            return await work
        alarm = _Alarm(self)
        try:
            return await work
        except asyncio.CancelledError:
            if not alarm.is_why_it_was_cancelled():
                raise
            raise self.timeout from None
        finally:
            alarm.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the time that the block takes."""
        before = counted_time(self._connection)
        try:
            yield
        finally:
            self._started += counted_time(self._connection) - before


class _Alarm:
    """Cancels the running task when the time of its call is up."""

    def __init__(self, time: CallDeadline) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._time = time
        self._has_rung = False
        self._cancellations = _cancellations_of(task)
        self._timer: asyncio.TimerHandle
        self._set()

    def _set(self) -> None:
        seconds = max(self._time.left, _MIN_WAIT)
        self._timer = asyncio.get_running_loop().call_later(seconds, self._ring)

    def _ring(self) -> None:
        if self._time.left > 0:  # the clock stood still meanwhile
            self._set()
        else:
            self._has_rung = True
            self._task.cancel()

    def is_why_it_was_cancelled(self) -> bool:
        """Whether no other code has cancelled the task as well (known from Python 3.11 on)."""
        if self._has_rung and hasattr(self._task, "uncancel"):
            self._task.uncancel()
        return self._has_rung and _cancellations_of(self._task) <= self._cancellations

    def stop(self) -> None:
        """Ring no more."""
        self._timer.cancel()


def _cancellations_of(task: asyncio.Task[Any]) -> int:
    count: Callable[[], int] | None = getattr(task, "cancelling", None)
    return count() if count is not None else 0


class _Call(NamedTuple):
    """A call that takes more than one request: what it asks, its limits, and its time so far."""

    method: str
    params: Mapping[str, Any] | None
    options: RequestOptions
    time: CallDeadline


class CallRecovery:
    """Makes calls over a connection.

    ``refresh_tools`` lists the tools anew, which tells the headers they want. ``cache`` answers
    instead of the server where it may; None: never.

    ``guard``: what every request passes, by method and params: it returns a result in the place of
    the server's, or None, or raises. None: there is nothing to guard.
    """

    def __init__(
        self,
        connection: Connection,
        refresh_tools: Callable[[], Awaitable[object]],
        cache: ClientCache | None,
    ) -> None:
        self.guard: Callable[[str, Mapping[str, Any]], dict[str, Any] | None] | None = None
        self._connection = connection
        self._takes_tasks = connection.options.tasks
        self._cache = cache
        self.refresh_tools: Callable[[], Awaitable[object]] = refresh_tools

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        options: RequestOptions,
        time: CallDeadline | None = None,
    ) -> dict[str, Any]:
        """Return the complete result of a request.

        ``max_timeout`` is the limit of everything it takes, and ``time`` counts that for a caller
        who has more to do. The time in which handlers answer is not counted.

        With the option ``tasks``, a task that the server made of a tool call counts as complete.
        Raises what `Session.request` does, `HandlerFailed` when input it asks for is not given, and
        `ProtocolViolation` for a result of unknown type and for a server that never stops asking.
        """
        if self.guard is not None:
            refused = self.guard(method, params or {})
            if refused is not None:
                return refused
        cached = self._cache.lookup(method, params, options) if self._cache is not None else None
        if cached is not None and cached.result is not None:
            return cached.result
        session, generation = self._connection.session, self._connection.generation
        started = session.deadlines.counted_time()
        outcome: dict[str, Any] | McpError
        try:
            outcome = await session.answer_to(session.begin(method, params, options))
            assert session.era is not None, "there is a result, so there was an agreement"
            if session.era.input_requests(method, outcome, takes_tasks=self._takes_tasks) is None:
                if cached is not None:
                    cached.keep(outcome)
                return outcome
        except McpError as error:
            outcome = error
        time = time or CallDeadline(self._connection, method, options, params, started)
        return await self._complete(outcome, generation, _Call(method, params, options, time))

    async def call_together(
        self, method: str, calls: Sequence[Mapping[str, Any]], options: RequestOptions
    ) -> list[dict[str, Any] | McpError]:
        """Make calls at the same time, one for each of these params; return their outcomes.

        An error that `call` would raise stands in its place. A call costs a task of its own only
        where one request does not complete it. When this is cancelled, all calls are.
        """
        session, generation = self._connection.session, self._connection.generation
        started = session.deadlines.counted_time()
        sent = [_sent(session, method, params, options) for params in calls]
        outcomes: list[dict[str, Any] | McpError] = []
        unfinished: dict[int, asyncio.Task[dict[str, Any]]] = {}
        try:
            for params, request in zip(calls, sent):
                outcome, is_complete = await self._first_outcome(session, method, request)
                if not is_complete:
                    time = CallDeadline(self._connection, method, options, params, started)
                    call = _Call(method, params, options, time)
                    rest = self._complete(outcome, generation, call)
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

    async def _first_outcome(
        self, session: Session, method: str, sent: Sent | McpError
    ) -> tuple[dict[str, Any] | McpError, bool]:
        """Return the outcome of a request, and whether that completes the call."""
        if isinstance(sent, McpError):
            return sent, False
        try:
            result = await session.answer_to(sent)
            return result, self._asked(session, method, result) is None
        except McpError as error:
            return error, False

    async def _complete(
        self, outcome: dict[str, Any] | McpError, generation: int, call: _Call
    ) -> dict[str, Any]:
        """Return the complete result of a call, of which the first request had this outcome."""
        sent, rounds = call, 0
        while True:
            session = self._connection.session
            result = (
                await self._recover(outcome, generation, sent)
                if isinstance(outcome, McpError)
                else outcome
            )
            asked = self._asked(session, call.method, result)
            if asked is None:
                return result
            rounds += 1
            answers = await self._input(call, asked, rounds)
            sent = call._replace(params=retry_params(call.params or {}, result, answers))
            generation = self._connection.generation
            try:
                outcome = await self._request(sent)
            except McpError as error:
                outcome = error

    async def _request(self, call: _Call) -> dict[str, Any]:
        """Make a further request for a call, in the time that is left to it."""
        limits = call.time.rest_of(call.options)
        return await self._connection.session.request(call.method, call.params, limits)

    def _asked(
        self, session: Session, method: str, result: Mapping[str, Any]
    ) -> Mapping[str, Any] | None:
        """Return the requests for input that a result consists of, None when it is complete."""
        assert session.era is not None, "there is a result, so there was an agreement"
        return session.era.input_requests(method, result, takes_tasks=self._takes_tasks)

    async def _input(self, call: _Call, asked: Mapping[str, Any], rounds: int) -> dict[str, Any]:
        """Return the input that the server asks for; before a mere retry, wait a little."""
        if rounds > MAX_ROUNDS:
            raise ProtocolViolation(f"{call.method}: the server asked for input {rounds} times")
        if asked:
            with call.time.paused():
                return await self.answers(asked)
        await call.time.limit(asyncio.sleep(pause_before_retry(rounds)))
        return {}

    async def answers(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        """Let the handlers answer the server's requests for input, side by side.

        When one of them fails, the others are cancelled: no answer would be sent any more. Raises
        its error, and `ProtocolViolation` for more than can be meant.
        """
        if len(requests) > _MAX_REQUESTS:
            raise ProtocolViolation(f"the server asked for input {len(requests)} times at once")
        answering = [asyncio.ensure_future(self._answer(each)) for each in requests.values()]
        waiting = set(answering)
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if any(task.cancelled() for task in done):  # the caller is not
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
        if params is None:  # null is no params to servers that write out every field
            params = {}
        elif not isinstance(params, dict):
            raise ProtocolViolation(f"the server asked for input with invalid params of {method}")
        return await self._connection.options.handlers.answer(method, params)

    async def _recover(self, error: McpError, generation: int, call: _Call) -> dict[str, Any]:
        """Remove the cause of an error and repeat the request, or raise the error."""
        if isinstance(error, CallTimeout):
            raise call.time.timeout if error.limit == "total" else call.time.named(error)
        try:
            if isinstance(error, HttpError) and error.status in _BUSY:
                if self._connection.options.retry_busy:
                    return await self._request_when_ready(call, error)
            elif await self._is_mended(error, generation, call):
                try:
                    return await self._request(call)
                except SessionExpired as again:
                    again.is_new = isinstance(error, SessionExpired)
                    raise
            raise error
        except PeerError as refusal:
            call.time.named(refusal)
            if self._cache is not None:
                self._cache.refused(call.method, call.params, refusal)
            raise

    async def _is_mended(self, error: McpError, generation: int, call: _Call) -> bool:
        connection = self._connection
        if isinstance(error, SessionExpired):
            await call.time.limit(connection.renew(generation))
            return True
        if isinstance(error, UrlElicitationRequired):
            # The server has not begun with the call, so it is made again after the visit.
            with call.time.paused():
                return await connection.options.handlers.ask_for_visits(error.elicitations)
        headers_changed = isinstance(error, PeerError) and error.code == ErrorCode.HEADER_MISMATCH
        if headers_changed and call.method == "tools/call":
            await call.time.limit(self.refresh_tools())
            return True
        return False

    async def _request_when_ready(self, call: _Call, busy: HttpError) -> dict[str, Any]:
        """Repeat a request the server refused to take, as long as its limits allow."""
        limits = [limit for limit in (call.options.timeout, call.options.max_timeout) if limit]
        longest = min(limits, default=math.inf)
        for _ in range(_MAX_RETRIES):
            header = busy.headers.get("retry-after", "")
            delay = max(retry_after_seconds(header, _RETRY_AFTER), _RETRY_AFTER)
            if delay > min(longest - call.time.spent, _MAX_RETRY_AFTER):
                busy.advice = _too_long_to_wait(delay, longest)
                raise busy
            await asyncio.sleep(delay)
            try:
                return await self._request(call)
            except HttpError as error:
                if error.status not in _BUSY:
                    raise
                busy = error
        busy.advice = f"it was asked {_MAX_RETRIES} times more; call again later"
        raise busy


def _sent(
    session: Session, method: str, params: Mapping[str, Any] | None, options: RequestOptions
) -> Sent | McpError:
    try:
        return session.begin(method, params, options)
    except McpError as error:
        return error


def _too_long_to_wait(delay: float, longest: float) -> str:
    limit = f"the {longest:g} s" if longest < math.inf else f"the {_MAX_RETRY_AFTER:g} s"
    return f"waiting {delay:.0f} s would take longer than {limit} this call may take; call later"
