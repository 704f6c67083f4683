"""The keeper of a connection: it makes the connection, and makes it anew after a loss.

A client with ``reconnect=`` has one, and every server of a manager is one. `reconnection` decides,
and a keeper acts. Its subclass says what an attempt is, and what becomes of a connection that is
given up; requests are made through `Keeper.call`, which waits for the connection, and whatever
else needs it waits in `Keeper.await_connection`.
"""

from __future__ import annotations

import abc
import asyncio
import math
from collections.abc import Awaitable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ...errors import (
    CallTimeout,
    ClientClosed,
    ConnectFailed,
    ConnectionLost,
    McpError,
    SessionExpired,
)
from ...framing.logs import logger_for
from ...net.clocks import seconds_since_epoch
from ...net.futures import LoopBound, NextChange, cancel, consume_exception
from ...transports.backoff import Retries
from ..events.callbacks import Observer
from .limits import RequestOptions
from .reconnection import (
    UNDER_WAY,
    Action,
    Event,
    Reconnect,
    Status,
    after_attempt,
    did_not_run,
    lacks_login,
    reach,
    step,
)

if TYPE_CHECKING:
    from .call_recovery import CallDeadline

T = TypeVar("T")

_logger = logger_for("mcpclient.client")


class _Uses:
    """The uses of a connection that a keeper serves; by default it has none."""

    def _connected(self, made: Any) -> None:
        """Use the new connection; ``made``: the result of `Keeper._connect`."""

    def _moved(self, old: Status, error: McpError | None) -> None:
        """Handle another status."""

    def _keep_tools(self) -> None:
        """Keep the tools, marked as stale."""

    def withdraw(self) -> None:
        """Offer no tools any more."""

    def renewed(self) -> None:
        """Handle another session over the same connection."""


class Keeper(_Uses, abc.ABC):
    """The shell around `step`: attempts, pauses, and whoever waits for the connection.

    - ``status``: a `Status`; ``error``: why, where something failed or is not allowed, otherwise
      None; ``since``: since when, in seconds since the epoch; ``next_try``: when it is tried again
      by itself, or None. ``is_over``: it is never connected again.
    - ``home``: the event loop it lives in. ``policy``: None: a lost connection is not restored.

    ``kept`` stands for the connection of the moment: reports about an earlier one do not count.
    """

    name: str = ""
    kept: object = None

    def __init__(self, home: LoopBound, policy: Reconnect | None) -> None:
        self.status: Status = Status.CLOSED
        self.error: Exception | None = None
        self.since: float = seconds_since_epoch()
        self.next_try: float | None = None
        self.is_over: bool = False
        self.home = home
        self._policy = policy
        self._retries = Retries((policy or Reconnect()).delay)
        self._failures = 0  # calls in a row that failed because of the network
        self._attempt: asyncio.Task[None] | None = None
        self._is_asked_for = False  # by the user, so that a login may be wanted
        self._timer: asyncio.TimerHandle | None = None
        # Attempts that were cancelled, and connections that are being closed. Something of theirs
        # may still be open, so they are awaited before the next is made, and by who disconnects.
        self._ending: set[asyncio.Task[None]] = set()
        self._change = NextChange()

    @abc.abstractmethod
    async def _connect(self) -> Any:
        """Make one attempt. Raises why there is no connection."""

    @abc.abstractmethod
    def _close(self) -> None:
        """Close the rest of the connection, after a loss or for good."""

    def _outcome(self, error: Exception) -> Status:
        """Return the status that a failed attempt leads to."""
        return after_attempt(error) if isinstance(error, McpError) else Status.FAILED

    def unavailable(self) -> Exception:
        """Return why no request can be made."""
        if isinstance(self.error, McpError):
            return self.error.again()
        return self.error or ClientClosed()

    # What is asked of it

    @property
    def is_connected(self) -> bool:
        """Whether calls can be made now."""
        return self.status is Status.CONNECTED

    @property
    def loss(self) -> McpError | None:
        """The reason for the current reconnection, None where there is none."""
        error = self.error if self.status is Status.RECONNECTING else None
        return error if isinstance(error, McpError) else None

    async def settled(self) -> None:
        """Wait until no attempt is under way."""
        while self._attempt is not None:
            await asyncio.wait({self._attempt})

    async def await_connection(self, seconds: float | None, request: str) -> None:
        """Wait for the connection, in its event loop.

        ``seconds``: how long at most; None or 0: no limit. ``request``: the method that waits,
        which a timeout names. Begins an attempt where the last one has failed. Raises why there
        will be no connection, and `CallTimeout`.
        """
        if self.status is Status.NEEDS_AUTH:
            from ...net.login.storage import NEEDS_AUTH_SECONDS

            if seconds_since_epoch() - self.since >= NEEDS_AUTH_SECONDS:
                self.handle(Event.CONNECT)
        else:
            self.handle(Event.CALL)
        loop = asyncio.get_running_loop()
        deadline = None if not seconds else loop.time() + seconds
        while self.status is not Status.CONNECTED:
            if self.status not in UNDER_WAY:
                raise self.unavailable()
            left = None if deadline is None else deadline - loop.time()
            if left is not None and left <= 0:
                timeout = CallTimeout(request, seconds or 0.0, waiting_for="its connection")
                timeout.target = self.name
                raise timeout from self.error
            # Woken, this runs a turn later, and the connection may be lost again: so it looks anew.
            await self._change.wait(left)

    async def call(
        self,
        time: CallDeadline,
        send: Callable[[RequestOptions], Awaitable[T]],
        is_harmless: Callable[[], bool],
    ) -> T:
        """Make a call when there is a connection, and once more if that is safe.

        That is where it surely did not run, or ``is_harmless`` says that running twice is.
        """
        limits = rest = time.options
        is_repeated = False
        while True:
            if is_repeated or self.status is not Status.CONNECTED:
                total = time.rest_of(limits).max_timeout or math.inf
                seconds = min(limits.timeout or math.inf, total)
                await self.await_connection(None if seconds == math.inf else seconds, time.method)
                rest = time.rest_of(limits)
            # A failure that comes late must not count against a connection made meanwhile.
            kept = self.kept
            try:
                result = await send(rest)
            except McpError as error:
                self.call_failed(kept, error)
                if is_repeated:
                    raise
                if isinstance(error, ClientClosed) and self.loss is not None:
                    raise self.loss.again() from error  # closed after a loss, not by the caller
                may_repeat = isinstance(error, ConnectionLost) and is_harmless()
                if not did_not_run(error) and not may_repeat:
                    raise
                is_repeated = True
            else:
                if not is_repeated:  # otherwise, the connection has just been made
                    self.call_answered()
                return result

    def forgo(self) -> None:
        """Begin to close the connection for good; later requests for one are refused."""
        self.is_over = True
        self.handle(Event.DISCONNECT)

    async def ended(self) -> None:
        """Wait until everything that was cancelled or is being closed has ended."""
        while self._ending:
            await asyncio.wait(self._ending)

    def abort(self) -> None:
        """Drop everything without waiting, in whatever thread."""
        self._cancel_timer()
        attempt, self._attempt = self._attempt, None
        for task in (attempt, *self._ending):
            cancel(task)
        if self.status in (Status.CONNECTED, *UNDER_WAY):  # its event loop has stopped
            self.status, self.error = Status.CLOSED, None

    # Reports about the connection

    def call_answered(self) -> None:
        """Begin anew with counting failures."""
        self._failures = self._retries.failures = 0

    def call_failed(self, kept: object, error: McpError) -> None:
        """Count a failed call; too many in a row, and the connection is made anew.

        A connection reset, timed out, refused or unreachable, a broken pipe, a stream that is gone:
        all are a `ConnectionLost` or a `ConnectFailed` here. A call timeout counts among them as
        long as the server says nothing else meanwhile.
        """
        if kept is not self.kept or self.status is not Status.CONNECTED:
            return
        is_counted = isinstance(error, (ConnectionLost, ConnectFailed, CallTimeout))
        self._failures = self._failures + 1 if is_counted else 0  # else it answered
        if lacks_login(error):
            self._reach(Status.NEEDS_AUTH, error)
        elif self._policy is not None and self._failures >= self._policy.terminal_errors:
            self.lost(kept, error)

    def lost(self, kept: object, error: McpError) -> None:
        """Reconnect: the connection has ended, or cannot be used any more."""
        if kept is self.kept:
            self.handle(Event.LOST, error)

    # The machine

    def handle(self, event: Event, error: Exception | None = None) -> None:
        """Move to the next state, and act on the way."""
        if event is Event.LOST and self._policy is None:
            event = Event.DISCONNECT
        if not self.is_over or event is Event.DISCONNECT:
            self._move(*step(self.status, event), error)

    def _reach(self, outcome: Status, error: Exception | None = None) -> None:
        if not self.is_over:
            self._move(*reach(self.status, outcome), error)

    def _move(self, status: Status, actions: Iterable[Action], error: Exception | None) -> None:
        old, self.status = self.status, status
        if not actions:
            return
        self.error = error
        if self.status is not old:
            self.since = seconds_since_epoch()
        for action in actions:
            _ACTIONS[action](self)
        if self.status is not old:
            _logger.debug("%s: %s, was %s", self.name, self.status.value, old.value)
            self._moved(old, error if isinstance(error, McpError) else None)
        self._change.notify()

    def _open(self) -> None:
        self._cancel_timer()
        if self._attempt is None:
            self._attempt = asyncio.get_running_loop().create_task(self._try())
            self._attempt.add_done_callback(self._attempt_over)

    def _attempt_over(self, task: asyncio.Task[None]) -> None:
        if self._attempt is task:
            self._attempt = None
        if not task.cancelled() and task.exception() is not None:
            _logger.error("an attempt to connect %s failed", self.name, exc_info=task.exception())

    async def _try(self) -> None:
        try:
            made = await self._connect()
        except asyncio.CancelledError:
            if self._attempt is not asyncio.current_task():
                raise
            # This attempt was not cancelled: a callback leaked a cancellation of its own.
            self._failed(ConnectFailed(self.name, "a callback cancelled the connection attempt"))
        except Exception as error:
            self._failed(error)
        else:
            self._attempt, self._is_asked_for = None, False
            self._reach(Status.CONNECTED)
            self._connected(made)

    def _failed(self, error: Exception) -> None:
        self._attempt, self._is_asked_for = None, False
        self._reach(self._outcome(error), error)

    def _pause(self) -> None:
        loop = asyncio.get_running_loop()
        delay = self._retries.next_delay() or 0.0
        self.next_try = seconds_since_epoch() + delay
        self._timer = loop.call_later(delay, lambda: self.handle(Event.RETRY, self.error))

    def _cancel_timer(self) -> None:
        self.next_try = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop(self) -> None:
        self._cancel_timer()
        attempt, self._attempt = self._attempt, None
        if attempt is not None and attempt is not asyncio.current_task():
            attempt.cancel()
            self._end_later(attempt)

    def _end_later(self, task: asyncio.Task[None]) -> None:
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        task.add_done_callback(consume_exception)

    def _rest(self) -> None:
        self._failures = 0
        self._retries.begin()


_ACTIONS: Mapping[Action, Callable[[Keeper], None]] = {
    Action.STOP: lambda keeper: keeper._stop(),
    Action.CLOSE: lambda keeper: keeper._close(),
    Action.KEEP_TOOLS: lambda keeper: keeper._keep_tools(),
    Action.DROP_TOOLS: lambda keeper: keeper.withdraw(),
    Action.OPEN: lambda keeper: keeper._open(),
    Action.PAUSE: lambda keeper: keeper._pause(),
    Action.REST: lambda keeper: keeper._rest(),
}


class KeptConnection(Observer):
    """Reports the events of a connection to its keeper; ``kept``: see there."""

    def __init__(self, keeper: Keeper, kept: object) -> None:
        self._keeper = keeper
        self._kept = kept

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """A message shows that the server is alive."""
        self._keeper.call_answered()

    def connected(self) -> None:
        """Another session may have other tools."""
        if self._kept is self._keeper.kept and self._keeper.is_connected:
            self._keeper.renewed()

    def lost(self, error: McpError) -> None:
        """Reconnect; a session that has expired is renewed by the next call instead."""
        if not isinstance(error, SessionExpired):
            self._keeper.lost(self._kept, error)

    def closed(self) -> None:
        """Disconnect: the caller has closed the client."""
        if self._kept is self._keeper.kept and self._keeper.is_connected:
            self._keeper.handle(Event.DISCONNECT)
