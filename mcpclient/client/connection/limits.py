"""The time limits of calls, and the one timer that watches a session's limits."""

from __future__ import annotations

import asyncio
import enum
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Callable, NamedTuple, Union

from ...errors import UsageError
from ...jsonrpc.correlator import Correlator
from ...jsonrpc.messages import RequestId

_NO_HEADERS: Mapping[str, str] = {}


class RequestOptions(NamedTuple):
    """The limits and the headers of one call, see `CallOptions`.

    ``on_progress`` takes the params of each progress notification, ``on_sent`` the id of the
    request before it goes out. ``fresh``: ask the server even where its last answer may be used.
    ``is_raw``: the first result counts, even if it asks for input.
    """

    timeout: float | None = 30.0
    max_timeout: float | None = 600.0
    headers: Mapping[str, str] = _NO_HEADERS
    on_progress: Callable[[Mapping[str, Any]], Any] | None = None
    on_sent: Callable[[RequestId], Any] | None = None
    fresh: bool = False
    is_raw: bool = False


_shared_options = lru_cache(maxsize=16)(RequestOptions)


class Default(enum.Enum):
    """Stands for "not given" where None means something else."""

    DEFAULT = "default"


DEFAULT = Default.DEFAULT

Seconds = Union[float, None, Default]
"""A limit in seconds; None and 0 mean no limit, `DEFAULT` the library's."""

_IDLE = 30.0
_TOTAL = 600.0


class Timeouts(NamedTuple):
    """The limits of calls, in seconds; None: no limit.

    ``idle``: how long a call may go without an answer or progress, ``tool``: the same for tool
    calls, ``total``: how long it may take in all. ``connect``: for establishing the connection.
    ``close``: for ending it; 0: drop everything at once.
    """

    idle: float | None
    total: float | None
    tool: float | None
    connect: float | None
    close: float

    @classmethod
    def of(
        cls,
        idle: Seconds,
        total: Seconds,
        connect: Seconds,
        close: float,
        environ: Mapping[str, str],
    ) -> Timeouts:
        """Resolve the limits given; ``MCP_TIMEOUT`` and ``MCP_TOOL_TIMEOUT`` (ms) are defaults.

        Raises `UsageError` for a value that is not a number, or negative.
        """
        plain = _resolve(idle, _from_environment(environ, "MCP_TIMEOUT", _IDLE))
        tool = _resolve(idle, _from_environment(environ, "MCP_TOOL_TIMEOUT", plain))
        longest = max(plain or 0.0, tool or 0.0, _TOTAL)
        return cls(
            idle=plain,
            total=_resolve(total, longest),
            tool=tool,
            connect=_resolve(connect, plain),
            close=_checked(close, "close_timeout"),
        )

    def for_call(self, method: str, timeout: Seconds, max_timeout: Seconds) -> RequestOptions:
        """Return the limits of one call. Raises `UsageError` for one that makes no sense."""
        idle = self.tool if method == "tools/call" else self.idle
        if timeout is DEFAULT and max_timeout is DEFAULT:
            return _shared_options(idle, self.total)
        return RequestOptions(_resolve(timeout, idle), _resolve(max_timeout, self.total))


def _resolve(given: Seconds, default: float | None) -> float | None:
    if isinstance(given, Default):
        return default
    return None if given is None else _checked(given, "a timeout") or None


def _checked(seconds: float, name: str) -> float:
    try:
        if seconds >= 0:  # False for NaN as well
            return seconds
    except TypeError:
        pass
    raise UsageError(f"{name} is a number of seconds and not negative: {seconds!r}")


def _from_environment(environ: Mapping[str, str], name: str, default: float | None) -> float | None:
    text = environ.get(name, "").strip()
    if not text:
        return default
    try:
        milliseconds = float(text)
    except ValueError:
        milliseconds = math.nan
    if not milliseconds >= 0:
        raise UsageError(f"{name} is a number of milliseconds and not negative: {text!r}")
    return milliseconds / 1000 or None


# The resolution of deadlines when very many calls wait: seconds per pending call.
_GRAIN = 1e-5


class Deadlines:
    """One timer for all calls of one session; a `net.clocks.PausableClocks`.

    ``wait_reason``: the reason why calls wait at the moment, where that is not the server.
    """

    def __init__(self, correlator: Correlator, loop: asyncio.AbstractEventLoop) -> None:
        self._correlator = correlator
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self.wait_reason: str | None = None

    def go_on_from(self, earlier: Deadlines) -> None:
        """Continue from the deadlines of an earlier session."""
        self._correlator.paused_seconds = self._loop.time() - earlier.counted_time()

    def watch(self, deadline: float) -> None:
        """Watch the deadline of a call that begins."""
        if deadline < self._timer_at:
            self._set_timer(deadline)

    def _set_timer(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_at(deadline, self._check)

    def _check(self) -> None:
        self._timer = None
        self._timer_at = math.inf
        now = self._loop.time()
        self._correlator.expire(now, self.wait_reason)
        deadline = self._correlator.next_deadline()
        if deadline < math.inf:
            self._set_timer(max(deadline, now + len(self._correlator) * _GRAIN))

    def stop(self) -> None:
        """Forget all deadlines, since no call waits any more; others may begin."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._timer_at = math.inf

    @contextmanager
    def held(self) -> Iterator[None]:
        """Stop the clocks of all calls during the block, while a human is being asked. It nests."""
        self._correlator.pause(self._loop.time())
        try:
            yield
        finally:
            self._correlator.resume(self._loop.time())
            self.watch(self._correlator.next_deadline())

    def counted_time(self) -> float:
        """Return the time as limits count it: while the clocks are held, it stands still."""
        held_since = self._correlator.paused_at
        now = self._loop.time() if held_since is None else held_since
        return now - self._correlator.paused_seconds
