"""One HTTP/1.1 connection: received bytes become the events of the request that is on it.

A response that takes long to decode is passed on in small parts, one per turn of the event loop.
"""

from __future__ import annotations

import asyncio
import re
import select
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Callable

from ..errors import ConnectionLost, McpError
from ..framing.http1 import BodyChunk, Event, Fault, ResponseEnd, ResponseHead, ResponseParser
from ..framing.uri import Url
from .dialing import lost_connection
from .stream import HeldTransport, read_buffer

if TYPE_CHECKING:
    from .exchange import Exchange
    from .http import HttpClient

# The most pieces of a coded body, of 64 KiB at most, decoded in one turn of the loop. A single
# read can expand to 64 MiB, which would block the loop for seconds.
_PIECES_PER_TURN = 4

# Seconds that a connection is kept without a request. Servers and the routers in between drop idle
# connections, some silently; then the next request is lost. A server's ``Keep-Alive`` time is used
# up to a limit, since the routers have their own.
_IDLE_TIME = 5.0
_MAX_IDLE_TIME = 200.0
_MARGIN = 1.0
_TIMEOUT = re.compile(r"(?:^|[\s,;])timeout=(\d{1,9})(?!\d)", re.IGNORECASE)


class HttpConnection(HeldTransport, asyncio.BufferedProtocol):
    """One connection to an origin, with at most one request on it. ``pool``: its owner."""

    def __init__(self, pool: HttpClient, url: Url) -> None:
        self.url: Url = url
        self.origin: tuple[str, str, int] = url.origin
        self._pool = pool
        self._parser = ResponseParser()
        self._buffer = read_buffer()
        self._clock = asyncio.get_running_loop().time
        self._idle_time = 0.0  # not known before the first response
        self.expires_at: float = self._clock() + _IDLE_TIME
        """The time, on the loop's clock, when the connection is too old to be used again."""
        # One timer that stands, also through requests: one for each rest would cost more than the
        # rest of the pool.
        self._expiry: asyncio.TimerHandle | None = None
        self._rests = False
        self._is_sent = False
        self._exchange: Exchange | None = None
        self._heard: Callable[[], object] | None = None
        # Bytes received and not yet passed on: a body that takes several turns of the loop to
        # decode, and the bytes after it. Meanwhile reading is paused.
        self._decoding: Iterator[None] | None = None
        self._events: deque[Event] = deque()
        self._rest: asyncio.Handle | None = None
        self._loss: Exception | None = None
        self._is_held = False

    def is_usable(self) -> bool:
        """Whether the connection is open, was not idle for too long, and nothing has come.

        A server has nothing to send on an idle connection but its end.
        """
        if self._transport is None or self._transport.is_closing() or not self._parser.reusable:
            return False
        return self._clock() < self.expires_at and not (self._heard and self._heard())

    def rest(self) -> None:
        """Wait for the next request, until the connection is too old."""
        self._rests = True
        if self._expiry is None:
            at = self.expires_at
            self._expiry = asyncio.get_running_loop().call_at(at, self._expire, at)

    def end_rest(self) -> None:
        """Stay open, for the next request."""
        self._rests = False

    def _expire(self, at: float) -> None:
        """Close a connection that is too old; wait on if it was used since the timer was set.

        A loop may run a timer a little before its time, ``at``. The clock would then make it wait
        again for the same time, and without end where the clock does not move.
        """
        self._expiry = None
        if self._rests and at < self.expires_at:
            self.rest()
        elif self._rests:
            self.abort()

    def run(self, exchange: Exchange, method: str, request: bytes) -> None:
        """Write a request; its response goes to ``exchange``."""
        self._rests = self._is_sent = False
        self._exchange = exchange
        if self._transport is None or not self._parser.start(method):  # ended since it was opened
            reason = f"the server at {self.url.shown} ended the connection before the request"
            self._fail(self._parser.fault or ConnectionLost(reason))
        else:
            self._transport.write(request)
            # If a transport fails to write at once, it is closing by now. The proactor of Windows
            # reports that later; then the request counts as sent.
            self._is_sent = not self._transport.is_closing()

    def hold(self, *, is_held: bool) -> None:
        self._is_held = is_held
        if self._rest is None:
            super().hold(is_held=is_held)

    def abort(self) -> None:
        self._exchange = self._decoding = None
        self._events.clear()
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None
        super().abort()

    # asyncio.BufferedProtocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        socket = transport.get_extra_info("socket")
        if socket is None:
            return
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(socket.fileno(), select.POLLIN)
            self._heard = partial(poll.poll, 0)
        else:  # Windows, where `select` has no limit that matters
            self._heard = lambda: select.select([socket.fileno()], [], [], 0)[0]

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._events += self._parser.feed(bytes(self._buffer[:nbytes]))
        self._work()

    def _work(self) -> None:
        """Pass on received bytes, for one turn of the loop at most."""
        pieces, events = 0, self._events
        while self._rest is None and (events or self._decoding is not None):
            if self._decoding is None:
                self._handle(events.popleft())
            elif next(self._decoding, self) is self:
                self._decoding = None
            else:
                pieces += 1
                if pieces == _PIECES_PER_TURN:
                    self._rest = asyncio.get_running_loop().call_soon(self._go_on)
                    if self._transport is not None:
                        self._transport.pause_reading()

    def _go_on(self) -> None:
        self._rest = None
        self._work()
        if self._rest is None and self._transport is not None:
            if not self._is_held:
                self._transport.resume_reading()
        elif self._rest is None:
            self._fail_lost()

    def _handle(self, event: Event) -> None:
        exchange = self._exchange
        if exchange is None:
            if type(event) is not ResponseEnd:
                self.abort()
        elif type(event) is BodyChunk:
            self._decoding = exchange.body_received(event.data)
        elif type(event) is ResponseHead:
            if not self._idle_time:
                self._idle_time = _idle_time(event.headers.get("keep-alive") or "")
            exchange.head_received(event)
        elif type(event) is ResponseEnd:
            self._end(exchange, keep_alive=event.keep_alive)
        elif type(event) is Fault:
            self._fail(self._parser.fault or ConnectionLost(event.reason))

    def _end(self, exchange: Exchange, *, keep_alive: bool) -> None:
        self._exchange = None
        if keep_alive and self._transport is not None:
            self.expires_at = self._clock() + self._idle_time
            self._pool.release(self)
        elif self._transport is not None:
            self._transport.close()
        exchange.response_ended()

    def _fail(self, error: McpError) -> None:
        exchange, self._exchange = self._exchange, None
        if self._transport is not None:
            self._transport.abort()
        if exchange is not None:
            begun = self._parser.answer_begun
            exchange.connection_failed(error, answer_begun=begun, sent=self._is_sent)

    def eof_received(self) -> bool:
        self._events += self._parser.feed_eof()
        self._work()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.end_rest()
        if self._expiry is not None:
            self._expiry.cancel()  # it would keep what is closed
        self._pool.forget(self)
        self._loss = exc
        if self._rest is None:  # otherwise the response may be complete, but not decoded yet
            self._fail_lost()
        if self._transport is not None:
            # Python 3.9 and 3.10 warn of a TLS transport that was lost, but not closed.
            self._transport.close()
            self._transport = None

    def _fail_lost(self) -> None:
        if self._exchange is not None:
            self._fail(lost_connection(self._loss, self.url))


def _idle_time(keep_alive: str) -> float:
    match = _TIMEOUT.search(keep_alive)
    seconds = float(match[1]) if match else _IDLE_TIME + _MARGIN
    return min(max(seconds - _MARGIN, seconds / 2, _MARGIN / 2), _MAX_IDLE_TIME)
