"""HTTP/1.1 requests over pooled connections; the answers are pushed to a sink as they arrive.

On an open connection a request needs no task of its own: bytes go from the socket through the
parser to the sink within one callback of the event loop. An answer may stay open for hours, and can
be aborted at any time.
"""

from __future__ import annotations

import asyncio
import select
from collections import deque
from collections.abc import Awaitable, Iterable, Iterator
from typing import Callable, Protocol

from ..errors import ConnectFailed, ConnectionLost, McpError, UsageError
from ..framing.content_coding import ContentDecoder
from ..framing.headers import encode_header
from ..framing.http1 import (
    BodyChunk,
    Event,
    Fault,
    ResponseEnd,
    ResponseHead,
    ResponseParser,
    encode_request,
)
from ..framing.uri import Url, resolve_url
from .background_tasks import BackgroundTasks
from .dialing import Dialer, explain_loss
from .futures import cancel
from .stream import abort_transport, read_buffer

__all__ = ["Exchange", "HttpClient", "HttpRequest", "ResponseSink"]

_MAX_REDIRECTS = 5
# Idle connections kept for one origin: as many as a burst of calls leaves behind, within reason.
_MAX_IDLE = 100

# So many pieces of a coded body, of 64 KiB at most, are decoded in one turn of the loop. A single
# read can expand to 64 MiB, which would hold up everything else for seconds.
_PIECES_PER_TURN = 4


class ResponseSink(Protocol):
    """Receives one response. After `response_ended` or `response_failed` nothing more comes."""

    def head_received(self, head: ResponseHead) -> None:
        """Take the status and the headers."""

    def body_received(self, data: bytes) -> None:
        """Take a piece of the body."""

    def response_ended(self) -> None:
        """Take the end of the response."""

    def response_failed(self, error: McpError) -> None:
        """Take the end of the connection before the end of the response."""


class HttpRequest:
    """One request.

    ``repeatable``: sending it twice does no harm, so that it may be sent again when the connection
    it was sent on turns out to be dead. ``renew``: makes it anew before it is sent another time,
    for a request with something that is good for one sending only.
    """

    __slots__ = ("body", "headers", "method", "renew", "repeatable", "url")

    def __init__(
        self,
        method: str,
        url: Url,
        headers: Iterable[tuple[str, str]],
        body: bytes | None = None,
        *,
        repeatable: bool = True,
        renew: Callable[[HttpRequest], Awaitable[HttpRequest]] | None = None,
    ) -> None:
        self.method: str = method
        self.url: Url = url
        self.headers: tuple[tuple[str, str], ...] = tuple(headers)
        self.body: bytes | None = body
        self.repeatable: bool = repeatable
        self.renew: Callable[[HttpRequest], Awaitable[HttpRequest]] | None = renew

    def moved_to(self, url: Url) -> HttpRequest:
        """Return the same request for another URL."""
        return HttpRequest(
            self.method,
            url,
            self.headers,
            self.body,
            repeatable=self.repeatable,
            renew=self.renew,
        )


class HttpClient:
    """A pool of connections, and the requests running on them."""

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer
        self._idle: dict[tuple[str, str, int], list[_Connection]] = {}
        self._connections: set[_Connection] = set()
        self.tasks: BackgroundTasks = BackgroundTasks()
        self._heads: dict[object, bytes] = {}

    def request(self, request: HttpRequest, sink: ResponseSink) -> Exchange:
        """Start a request; its response goes to ``sink``. Raises `UsageError` for bad headers."""
        return Exchange(self, request, sink)

    async def close(self) -> None:
        """Close every connection. Sinks of running requests are told nothing more. Idempotent."""
        self.abort()
        # One turn of the loop lets the closed transports release their sockets.
        await asyncio.sleep(0)

    def abort(self) -> None:
        """Close every connection at once, without waiting."""
        self.tasks.cancel()
        for connection in list(self._connections):
            connection.abort()
        self._idle.clear()

    def encode(self, request: HttpRequest) -> bytes:
        """Return the bytes of a request.

        Most headers are the same from call to call, so each distinct one is validated and encoded
        only once.
        """
        known = self._heads
        line = (request.method, request.url)
        parts = [known.get(line) or self._encode_line(line)]
        for field in self._with_cookies(request):
            parts.append(known.get(field) or self._encode_field(field))
        if request.body is None:
            parts.append(b"\r\n")
        else:
            parts.append(b"Content-Length: %d\r\n\r\n" % len(request.body))
            parts.append(request.body)
        return b"".join(parts)

    def _with_cookies(self, request: HttpRequest) -> Iterable[tuple[str, str]]:
        cookies = self._dialer.cookies
        if not cookies.has_any(request.url):
            return request.headers
        own = "; ".join(value for name, value in request.headers if name.lower() == "cookie")
        fields = [(name, value) for name, value in request.headers if name.lower() != "cookie"]
        value = cookies.header_for(request.url, own)
        return [*fields, ("Cookie", value)] if value else fields

    def store_cookies(self, url: Url, head: ResponseHead) -> None:
        """Keep the cookies that an answer from ``url`` sets."""
        self._dialer.cookies.store(url, head.headers)

    def _encode_line(self, line: tuple[str, Url]) -> bytes:
        method, url = line
        target, hop = self._dialer.request_target(url)
        encoded = encode_request(method, target, [("Host", url.authority), *hop])[:-2]
        return self._remember(line, encoded)

    def _encode_field(self, field: tuple[str, str]) -> bytes:
        return self._remember(field, encode_header(*field))

    def _remember(self, key: object, encoded: bytes) -> bytes:
        if len(self._heads) >= 256:  # headers that change with every call would fill it for ever
            self._heads.clear()
        self._heads[key] = encoded
        return encoded

    # What exchanges and connections use

    def idle_connection(self, url: Url) -> _Connection | None:
        """Take a free connection out of the pool: one that, as far as can be told, is alive."""
        idle = self._idle.get(url.origin)
        while idle:
            connection = idle.pop()
            if connection.is_usable():
                return connection
            connection.abort()
        return None

    async def new_connection(self, url: Url) -> _Connection:
        """Open a connection. Raises `ConnectFailed`."""
        connection = await self._dialer.dial(url, lambda: _Connection(self, url))
        self._connections.add(connection)
        return connection

    def release(self, connection: _Connection) -> None:
        """Take a connection back, free for the next request."""
        idle = self._idle.setdefault(connection.origin, [])
        if len(idle) < _MAX_IDLE:
            idle.append(connection)
        else:
            connection.abort()

    def forget(self, connection: _Connection) -> None:
        """Drop a closed connection from the pool."""
        self._connections.discard(connection)
        idle = self._idle.get(connection.origin)
        if idle and connection in idle:
            idle.remove(connection)


class Exchange:
    """One request and its response, over as many connections as redirects and retries take."""

    def __init__(self, client: HttpClient, request: HttpRequest, sink: ResponseSink) -> None:
        self._client = client
        self._sink = sink
        self._request = request
        self._bytes = client.encode(request)
        self._connection: _Connection | None = None
        self._dialing: asyncio.Task[None] | None = None
        self._decoder: ContentDecoder | None = None
        self._redirect: Url | None = None
        self._redirects = 0
        self._reused = False
        self._done = False
        self._start()

    @property
    def url(self) -> Url:
        """Where the request went, after redirects."""
        return self._request.url

    def abort(self) -> None:
        """Give the request up: its connection is closed and the sink hears no more. Idempotent."""
        self._done = True
        cancel(self._dialing)
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.abort()

    def _start(self, *, fresh: bool = False) -> None:
        connection = None if fresh else self._client.idle_connection(self._request.url)
        if connection is None:
            self._reused = False
            self._dialing = self._client.tasks.start(self._dial())
        else:
            self._reused = True
            self._connection = connection
            connection.run(self, self._request.method, self._bytes)

    def _send_again(self, request: HttpRequest, *, fresh: bool = False) -> None:
        if request.renew is None:
            self._request = request
            self._bytes = self._client.encode(request)
            self._start(fresh=fresh)
        else:
            renewing = self._renew(request.renew(request), fresh=fresh)
            self._dialing = self._client.tasks.start(renewing)

    async def _renew(self, renewal: Awaitable[HttpRequest], *, fresh: bool) -> None:
        try:
            self._request = await renewal
            self._bytes = self._client.encode(self._request)
        except McpError as error:
            self._fail(error)
        else:
            self._start(fresh=fresh)

    async def _dial(self) -> None:
        try:
            connection = await self._client.new_connection(self._request.url)
        except McpError as error:
            self._fail(error)
        except Exception as error:  # such as a TypeError for an option; the caller must hear of it
            reason = f"{type(error).__name__}: {error}"
            self._fail(ConnectFailed(self._request.url.shown, reason, (error,)))
        else:
            self._dialing = None
            self._connection = connection
            connection.run(self, self._request.method, self._bytes)

    def _fail(self, error: McpError) -> None:
        if not self._done:
            self._done = True
            self._connection = None
            self._sink.response_failed(error)

    # What the connection reports

    def head_received(self, head: ResponseHead) -> None:
        """Take the response's head, and follow it if it is a redirect to be followed."""
        if "set-cookie" in head.headers:
            self._client.store_cookies(self._request.url, head)
        if head.status in (307, 308):
            self._redirect = self._redirect_target(head)
            if self._redirect is not None:
                return
        coding = head.headers.get("content-encoding")
        if coding is not None:
            self._decoder = ContentDecoder(coding, None)  # the sink bounds it
        self._sink.head_received(head)

    def _redirect_target(self, head: ResponseHead) -> Url | None:
        """Return where to go instead; None when this is the answer (RFC 9110, section 15.4)."""
        location = head.headers.get("location")
        if location is None or self._redirects >= _MAX_REDIRECTS:
            return None
        try:
            url = resolve_url(self._request.url, location)
        except UsageError:
            return None
        return url if url.origin == self._request.url.origin else None

    def body_received(self, data: bytes) -> Iterator[None] | None:
        """Take a piece of the body. One that is coded is decoded by whoever steps through what is
        returned, before anything else.
        """
        if self._redirect is not None:
            return None
        if self._decoder is not None:
            return self._decode(data, self._decoder)
        self._sink.body_received(data)
        return None

    def _decode(self, data: bytes, decoder: ContentDecoder) -> Iterator[None]:
        for piece in decoder.decode(data):
            if self._done:
                return
            if piece:
                self._sink.body_received(piece)
            yield
        if decoder.fault is not None:
            self._reject(decoder.fault)

    def response_ended(self) -> None:
        """Take the end of the response; its connection is free already."""
        self._connection = None
        if self._redirect is not None:
            self._redirects += 1
            request, self._redirect = self._request.moved_to(self._redirect), None
            self._send_again(request)
            return
        if self._decoder is not None:
            self._decoder.finish()
            if self._decoder.fault is not None:
                self._reject(self._decoder.fault)
        if not self._done:
            self._done = True
            self._sink.response_ended()

    def connection_failed(self, error: McpError, *, answer_begun: bool) -> None:
        """Take the end of the connection before the end of the response."""
        self._connection = None
        if self._done:
            return
        if self._reused and not answer_begun and self._request.repeatable:
            # The server closed an idle connection while this request was on its way.
            self._send_again(self._request, fresh=True)
        else:
            self._fail(error)

    def _reject(self, error: McpError) -> None:
        connection = self._connection
        self._fail(error)
        if connection is not None:
            connection.abort()


class _Connection(asyncio.BufferedProtocol):
    """One connection to an origin, with at most one request on it."""

    def __init__(self, client: HttpClient, url: Url) -> None:
        self.url = url
        self.origin: tuple[str, str, int] = url.origin
        self._client = client
        self._parser = ResponseParser()
        self._buffer = read_buffer()
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._heard: Callable[[], object] | None = None
        # What has been received and not been passed on yet: a body that takes several turns of the
        # loop to decode, and what came after it. Meanwhile nothing more is read.
        self._decoding: Iterator[None] | None = None
        self._events: deque[Event] = deque()
        self._rest: asyncio.Handle | None = None
        self._loss: Exception | None = None

    def is_usable(self) -> bool:
        """Whether the connection is open, and nothing has come: an idle server only ever closes."""
        if self._transport is None or self._transport.is_closing() or not self._parser.reusable:
            return False
        return self._heard is None or not self._heard()

    def run(self, exchange: Exchange, method: str, request: bytes) -> None:
        """Write a request; its response goes to ``exchange``."""
        self._exchange = exchange
        if self._transport is None or not self._parser.reusable:  # since it was opened
            reason = f"the server at {self.url.shown} ended the connection before the request"
            self._fail(self._parser.fault or ConnectionLost(reason))
        else:
            self._parser.start(method)
            self._transport.write(request)

    def abort(self) -> None:
        """Close at once."""
        self._exchange = self._decoding = None
        self._events.clear()
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None
        if self._transport is not None:
            abort_transport(self._transport)

    # asyncio.BufferedProtocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        socket = transport.get_extra_info("socket")
        if socket is not None:
            self._heard = _hearing(socket.fileno())

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._dispatch(self._parser.feed(bytes(self._buffer[:nbytes])))

    def _dispatch(self, events: list[Event]) -> None:
        self._events += events
        if self._rest is None:
            self._work()

    def _work(self) -> None:
        """Pass on what has been received, for one turn of the loop at most."""
        pieces = 0
        while self._decoding is not None or self._events:
            if self._decoding is None:
                self._take(self._events.popleft())
            elif next(self._decoding, self) is self:
                self._decoding = None
            else:
                pieces += 1
                if pieces == _PIECES_PER_TURN:
                    self._rest = asyncio.get_running_loop().call_soon(self._go_on)
                    if self._transport is not None:
                        self._transport.pause_reading()
                    return

    def _go_on(self) -> None:
        self._rest = None
        self._work()
        if self._rest is None and self._transport is not None:
            self._transport.resume_reading()
        elif self._rest is None:
            self._fail_lost()

    def _take(self, event: Event) -> None:
        exchange = self._exchange
        kind = type(event)
        if exchange is None:
            if kind is not ResponseEnd:
                self.abort()
        elif kind is BodyChunk:
            self._decoding = exchange.body_received(event[0])  # type: ignore[arg-type]
        elif isinstance(event, ResponseHead):
            exchange.head_received(event)
        elif isinstance(event, ResponseEnd):
            self._end(exchange, keep_alive=event.keep_alive)
        elif isinstance(event, Fault):
            self._fail(self._parser.fault or ConnectionLost(event.reason))

    def _end(self, exchange: Exchange, *, keep_alive: bool) -> None:
        self._exchange = None
        if keep_alive and self._transport is not None:
            self._client.release(self)
        elif self._transport is not None:
            self._transport.close()
        exchange.response_ended()

    def _fail(self, error: McpError) -> None:
        exchange, self._exchange = self._exchange, None
        if self._transport is not None:
            self._transport.abort()
        if exchange is not None:
            exchange.connection_failed(error, answer_begun=self._parser.answer_begun)

    def eof_received(self) -> bool:
        self._dispatch(self._parser.feed_eof())
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._client.forget(self)
        self._loss = exc
        if self._rest is None:  # otherwise the answer may be there, and is only to be decoded
            self._fail_lost()
        if self._transport is not None:
            # Python 3.9 and 3.10 warn of a TLS transport that was lost, but not closed.
            self._transport.close()
            self._transport = None

    def _fail_lost(self) -> None:
        if self._exchange is not None:
            reason = explain_loss(self._loss, self.url)
            text = f"the connection to {self.url.shown} was lost: {reason}"
            self._fail(ConnectionLost(text))


def _hearing(descriptor: int) -> Callable[[], object]:
    """Return what tells whether a socket has something to read, or has ended."""
    if not hasattr(select, "poll"):  # Windows, where `select` has no limit that matters
        return lambda: select.select([descriptor], [], [], 0)[0]
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return lambda: poll.poll(0)
