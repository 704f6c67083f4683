"""Callbacks of the caller and observers of the library, for the events of a connection."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from ...errors import HandlerFailed, McpError, PeerError, SessionExpired, safe_repr
from ...framing.logs import logger_for
from ...jsonrpc.codec import weight_of
from ...net.futures import BackgroundTasks, settled
from ...protocol.types import CallToolResult, LogMessage

if TYPE_CHECKING:
    from .around import Call, Proceed

_logger = logger_for("mcpclient.client")

# The most pending calls, and the most memory that their arguments take together, in bytes.
_MAX_WAITING = 10_000
_MAX_WEIGHT = 32 * 1024 * 1024


class OrderedCallback:
    """One callback, called in order and one call at a time. An exception it raises is logged.

    A plain function runs at once. When it returns an awaitable, that is awaited in the background,
    and later calls wait for it: at most 10,000, with arguments of 32 MiB together. Then the oldest
    are dropped for new ones.
    """

    def __init__(self, function: Callable[..., Any], tasks: BackgroundTasks) -> None:
        self._function = function
        self._tasks = tasks
        self._waiting: deque[tuple[tuple[Any, ...], int]] = deque()
        self._weight = 0
        self._overflowed = False
        self._running: asyncio.Task[Any] | None = None

    def __call__(self, *arguments: Any) -> None:
        """Call the function now, or as soon as the calls before it have ended."""
        if self._running is not None:
            self._wait(arguments)
            return
        outcome = self._call(arguments)
        if outcome is not None:
            self._start(outcome)

    def _wait(self, arguments: tuple[Any, ...]) -> None:
        weight = weight_of(arguments, _MAX_WEIGHT)
        self._waiting.append((arguments, weight))
        self._weight += weight
        while len(self._waiting) > _MAX_WAITING or self._weight > _MAX_WEIGHT:
            if not self._overflowed:
                self._overflowed = True
                _logger.warning(
                    "callback %r is too slow; dropping its oldest calls", self._function
                )
            self._next()

    def _next(self) -> tuple[Any, ...]:
        arguments, weight = self._waiting.popleft()
        self._weight -= weight
        return arguments

    def _call(self, arguments: tuple[Any, ...]) -> Any:
        try:
            outcome = self._function(*arguments)
        except (Exception, asyncio.CancelledError):
            _logger.exception("callback %r failed", self._function)
            return None
        return outcome if inspect.isawaitable(outcome) else None

    def _start(self, outcome: Any) -> None:
        self._running = self._tasks.start(self._drain(outcome))
        self._running.add_done_callback(lambda task: self._ended(task, outcome))

    async def _drain(self, outcome: Any) -> None:
        try:
            while outcome is not None or self._waiting:
                if outcome is not None:
                    try:
                        await outcome
                    except Exception:
                        _logger.exception("callback %r failed", self._function)
                outcome = self._call(self._next()) if self._waiting else None
        except asyncio.CancelledError:
            if self._tasks.has_cancelled(asyncio.current_task()):
                raise
            _logger.exception("callback %r failed", self._function)
            # In another task, since this may be the end of the loop, which waits for its tasks.
            self._start(None)
        else:
            self._running = None

    def _ended(self, task: asyncio.Task[Any], outcome: Any) -> None:
        """Clean up where a task was cancelled, perhaps before its first step."""
        if self._running is task:
            self._running = None
            self._waiting.clear()
            self._weight = 0
        if inspect.iscoroutine(outcome):
            outcome.close()

    async def finish(self, seconds: float | None) -> None:
        """Wait until every call made so far has ended, for ``seconds`` at most (None: no limit)."""
        clock = asyncio.get_running_loop().time
        deadline = math.inf if seconds is None else clock() + seconds
        while self._running is not None:
            timeout = None if deadline == math.inf else deadline - clock()
            done, _ = await asyncio.wait({self._running}, timeout=timeout)
            if not done:
                return


async def ask(method: str, handler: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a handler of ``method`` returns.

    Raises `HandlerFailed` when the handler raises. A `PeerError` from it is passed on to the server
    with code and message; of any other exception the server learns only the type.
    """
    try:
        return await settled(handler(*arguments))
    except HandlerFailed:
        raise
    except PeerError as error:
        raise HandlerFailed(method, error.message, error.code) from error
    except Exception as error:
        raise HandlerFailed(method, f"its handler raised {type(error).__name__}") from error


class Observer:
    """A listener to all events of a connection, in order. No method may block or raise."""

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Handle a notification from the server."""

    def connected(self) -> None:
        """Handle a new session: the first, one after a loss, or one after an expiry."""

    def lost(self, error: McpError) -> None:
        """Handle the loss of the connection, or of the session on it."""

    def channel_lost(self, error: McpError) -> None:
        """Handle the loss of the server's own channel; calls still work."""

    def closed(self) -> None:
        """Handle the end of a connection that the caller has closed."""


_server_logger = logger_for("mcpclient.server")

LOG_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "alert": logging.CRITICAL,
    "emergency": logging.CRITICAL,
}


class Events(NamedTuple):
    """The caller's event callbacks; each may be a plain function or a coroutine function."""

    notification: Callable[[str, Mapping[str, Any]], Any] | None = None
    log: Callable[[LogMessage], Any] | None = None
    error: Callable[[McpError], Any] | None = None
    close: Callable[[McpError | None], Any] | None = None


class EventCallbacks:
    """The observers of one session, and the caller's event callbacks, which run in ``tasks``."""

    def __init__(
        self, server: str, observers: Sequence[Observer], events: Events, tasks: BackgroundTasks
    ) -> None:
        self._server = server
        self._observers = observers
        self._notification, self._log, self._error, self._close = [
            OrderedCallback(function, tasks) if function is not None else None
            for function in events
        ]

    def notification(self, method: str, params: Mapping[str, Any]) -> None:
        """Pass on a notification; log messages also go to the standard `logging` tree."""
        for observer in list(self._observers):
            observer.notified(method, params)
        if method == "notifications/message":
            self._take_log(LogMessage(params))
        if self._notification is not None:
            self._notification(method, params)

    def _take_log(self, message: LogMessage) -> None:
        level = LOG_LEVELS.get(message.level, logging.INFO)
        if _server_logger.isEnabledFor(level):
            name = f" {message.logger}" if message.logger else ""
            data = message.data if isinstance(message.data, str) else safe_repr(message.data, None)
            _server_logger.log(level, "%s%s: %s", self._server, name, data)
        if self._log is not None:
            self._log(message)

    def error(self, error: McpError) -> None:
        """Pass on a failure that belongs to no call."""
        if self._error is not None:
            self._error(error)

    def lost(self, error: McpError) -> None:
        """Pass on the loss of the connection."""
        for observer in list(self._observers):
            observer.lost(error)
        if self._close is not None:
            self._close(error)

    def channel_lost(self, error: McpError) -> None:
        """Pass on the loss of the server's own channel."""
        for observer in list(self._observers):
            if isinstance(error, SessionExpired):
                observer.lost(error)
            else:
                observer.channel_lost(error)


class Hooks(NamedTuple):
    """Functions that are called at once, with keyword arguments. One that raises is logged.

    - ``on_connect(server, transport, server_name, server_version, tool_count)``: connected;
      the tools are listed to count them, and ``tool_count`` is None where that failed.
    - ``on_tool_call(server, tool, latency_ms, is_error, trace)``: a tool has answered.
    - ``on_error(server, phase, error, trace)``: connecting (``phase="connect"``) or a tool call
      (``phase="request"``) failed.

    ``server`` is the target, without secrets; ``latency_ms`` is in milliseconds.
    ``trace`` is whatever the caller gave with the call, unchanged.
    """

    on_connect: Callable[..., Any] | None = None
    on_tool_call: Callable[..., Any] | None = None
    on_error: Callable[..., Any] | None = None

    @property
    def watches_calls(self) -> bool:
        """Whether there is a hook for tool calls."""
        return self.on_tool_call is not None or self.on_error is not None

    def connected(self, **facts: Any) -> None:
        """Report a connection."""
        _tell(self.on_connect, facts)

    async def around(self, call: Call, proceed: Proceed) -> CallToolResult:
        """Report a tool call: an `mcpclient.Around`."""
        result: CallToolResult
        if call.method != "tools/call":
            result = await proceed(call)
            return result
        clock = asyncio.get_running_loop().time
        started = clock()
        with self.reporting(call.server, "request", call.trace):
            result = await proceed(call)
        facts = {
            "server": call.server,
            "tool": call.name,
            "latency_ms": (clock() - started) * 1000,
            "is_error": result.is_error,
            "trace": call.trace,
        }
        _tell(self.on_tool_call, facts)
        return result

    @contextmanager
    def reporting(self, server: str, phase: str, trace: Any = None) -> Iterator[None]:
        """Report an exception that leaves the block, and let it pass."""
        try:
            yield
        except Exception as error:
            _tell(self.on_error, {"server": server, "phase": phase, "error": error, "trace": trace})
            raise


def _tell(hook: Callable[..., Any] | None, facts: dict[str, Any]) -> None:
    if hook is None:
        return
    try:
        hook(**facts)
    except Exception:
        _logger.exception("hook %r failed", hook)
