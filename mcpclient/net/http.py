"""HTTP/1.1 requests over pooled connections; responses are pushed to a sink as they arrive.

On an open connection a request needs no task of its own: bytes go from the socket through the
parser to the sink within one callback of the event loop. An answer may stay open for hours, and can
be aborted at any time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import starmap
from typing import TYPE_CHECKING, Callable, NamedTuple, Protocol

from ..errors import ConnectFailed, HttpError, McpError, UsageError
from ..framing.content_coding import ContentDecoder
from ..framing.headers import encode_header
from ..framing.http1 import ResponseHead, encode_request
from ..framing.uri import Url, resolve_url
from .cookies import CookieJar
from .dialing import AddressCheck, Dialer
from .futures import BackgroundTasks, cancel
from .http_connection import HttpConnection
from .recorder import Recorder

if TYPE_CHECKING:
    from ..recording.transcript import HttpChannel

_MAX_REDIRECTS = 5


class ResponseSink(Protocol):
    """The receiver of one response. No call follows `response_ended` or `response_failed`."""

    def head_received(self, head: ResponseHead) -> None:
        """Handle the status and the headers."""

    def body_received(self, data: bytes) -> None:
        """Handle a piece of the body."""

    def response_ended(self) -> None:
        """Handle the end of the response."""

    def response_failed(self, error: McpError) -> None:
        """Handle the loss of the connection before the end of the response."""


class HttpRequest(NamedTuple):
    """One request.

    ``repeatable``: sending it twice does no harm, so that it may be sent again when its connection
    turns out to be dead. ``renew``: makes it anew before it is sent again, for a request with a
    part that is valid only once.
    """

    method: str
    url: Url
    headers: Sequence[tuple[str, str]]
    body: bytes | None = None
    repeatable: bool = True
    renew: Callable[[HttpRequest], Awaitable[HttpRequest]] | None = None

    def __repr__(self) -> str:  # it holds secrets
        return object.__repr__(self)


class HttpClient:
    """A pool of connections, and the requests running on them.

    While the recorder of the dialer is on, every request and response is recorded. ``check``: of
    each address, see `Dialer.dial`; with one no redirect is followed, and no cookie is kept.
    """

    def __init__(self, dialer: Dialer, check: AddressCheck | None = None) -> None:
        self._dialer = dialer
        self.check = check
        self.cookies: CookieJar = dialer.cookies
        self._recorder = dialer.recorder or Recorder()
        self._idle: dict[tuple[str, str, int], list[HttpConnection]] = {}
        self._connections: set[HttpConnection] = set()
        self.tasks: BackgroundTasks = BackgroundTasks()
        self._encode_line = lru_cache(64)(partial(_encode_line, dialer))
        self._encode_field = lru_cache(256)(encode_header)

    def request(self, request: HttpRequest, sink: ResponseSink) -> Exchange:
        """Start a request; its response goes to ``sink``. Raises `UsageError` for bad headers."""
        return Exchange(self, request, sink, self._recorder)

    async def close(self) -> None:
        """Close every connection. Sinks of running requests get no further calls. Idempotent."""
        self.abort()
        # One turn of the loop lets the closed transports release their sockets.
        await asyncio.sleep(0)

    def hold(self, *, is_held: bool) -> None:
        """Stop reading from all connections there are, or go on."""
        for connection in self._connections:
            connection.hold(is_held=is_held)

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
        parts = [self._encode_line(request.method, request.url)]
        parts += starmap(self._encode_field, self._with_cookies(request))
        if request.body is None:
            parts.append(b"\r\n")
        else:
            parts += (b"Content-Length: %d\r\n\r\n" % len(request.body), request.body)
        return b"".join(parts)

    def _with_cookies(self, request: HttpRequest) -> Iterable[tuple[str, str]]:
        if not self.cookies:
            return request.headers
        own = "; ".join(value for name, value in request.headers if name.lower() == "cookie")
        fields = [(name, value) for name, value in request.headers if name.lower() != "cookie"]
        value = self.cookies.header_for(request.url, own)
        return [*fields, ("Cookie", value)] if value else fields

    # For exchanges and connections

    def idle_connection(self, url: Url) -> HttpConnection | None:
        """Remove an idle connection that seems alive from the pool and return it, or None."""
        idle = self._idle.get(url.origin)
        while idle:
            connection = idle.pop()
            if connection.is_usable():
                return connection
            connection.abort()
        return None

    async def new_connection(self, url: Url) -> HttpConnection:
        """Open a connection. Raises `ConnectFailed`."""
        connection = await self._dialer.dial(url, lambda: HttpConnection(self, url), self.check)
        self._connections.add(connection)
        return connection

    def release(self, connection: HttpConnection) -> None:
        """Return a connection to the pool, free for the next request."""
        if connection in self._connections:  # it may have ended while a login had it
            self._idle.setdefault(connection.origin, []).append(connection)
            connection.rest()

    def claim(self, exchange: Exchange) -> HttpConnection | None:
        """Reserve the connection of a 401; `release` has it used next. None if it was closed."""
        connection = exchange.refused_on
        idle = self._idle.get(exchange.url.origin, [])
        if connection is None or connection not in idle:
            return None
        idle.remove(connection)
        connection.end_rest()
        return connection

    def forget(self, connection: HttpConnection) -> None:
        """Drop a closed connection from the pool."""
        self._connections.discard(connection)
        idle = self._idle.get(connection.origin)
        if idle and connection in idle:
            idle.remove(connection)


def _encode_line(dialer: Dialer, method: str, url: Url) -> bytes:
    target, hop = dialer.request_target(url)
    return encode_request(method, target, [("Host", url.authority), *hop])[:-2]


def http_error(
    head: ResponseHead, body: bytes, url: Url, kind: type[HttpError] = HttpError
) -> HttpError:
    """Return the exception for a response that is not a success.

    Where the server repeats credentials of the request, they are masked in the exception's text.
    """
    error = kind(head.status, head.headers, body, url.shown)
    if head.request and (body or error.authenticate):
        from ..recording.redaction import Redactor

        redactor = Redactor()
        line, *lines = head.request.decode("latin-1").split("\r\n")
        fields = (each.partition(": ") for each in lines)
        redactor.url(line.split(" ")[1])
        redactor.headers(((name, value) for name, _, value in fields), sent=True)
        error.mask(redactor.text)
    return error


class Exchange:
    """One request and its response, over as many connections as redirects and retries take.

    It has a channel of the recorder for every time it is sent. A response that is in progress when
    recording begins is recorded from there on, with the heads of its request and of its own.
    """

    def __init__(
        self, client: HttpClient, request: HttpRequest, sink: ResponseSink, recorder: Recorder
    ) -> None:
        self._client = client
        self._sink = sink
        self._connection: HttpConnection | None = None
        self._dialing: asyncio.Task[None] | None = None
        self._decoder: ContentDecoder | None = None
        self._redirect: Url | None = None
        self._redirects = 0
        self._sent_again = False
        self._done = False
        self.refused_on: HttpConnection | None = None
        self._recorder = recorder
        self._channel: HttpChannel | None = None
        self._send(request)

    @property
    def url(self) -> Url:
        """The URL of the request, after redirects."""
        return self._request.url

    def abort(self) -> None:
        """Close the connection of the request; the sink is not called again. Idempotent."""
        if not self._done:
            self._end_record("closed")
        self._done = True
        cancel(self._dialing)
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.abort()

    def _send(self, request: HttpRequest, *, fresh: bool = False) -> None:
        """Send a request; ``fresh``: on a new connection, as it was lost with an idle one."""
        self._request = request
        self._bytes = self._client.encode(request)
        self._head: ResponseHead | None = None
        if self._recorder.is_on:
            self._begin_record(fresh=fresh)
        connection = None if fresh else self._client.idle_connection(request.url)
        self._reused = connection is not None
        if connection is None:
            self._dialing = self._client.tasks.start(self._dial())
        else:
            self._connection = connection
            connection.run(self, request.method, self._bytes)

    def _begin_record(self, *, fresh: bool = False) -> None:
        channel = self._recorder.http_channel()
        again = f"it was sent again as {channel.name}: the server had closed the connection"
        self._end_record(again if fresh else "complete")
        channel.sent(self._bytes)
        if self._head is not None:
            channel.head_received(self._head)
        self._channel = channel

    def _end_record(self, how: str, error: McpError | None = None) -> None:
        if self._channel is not None:
            self._channel.end(how, error)

    def _send_again(self, request: HttpRequest, *, fresh: bool = False) -> None:
        if request.renew is None:
            self._send(request, fresh=fresh)
        else:
            renewing = self._renew(request.renew(request), fresh=fresh)
            self._dialing = self._client.tasks.start(renewing)

    async def _renew(self, renewal: Awaitable[HttpRequest], *, fresh: bool) -> None:
        try:
            self._send(await renewal, fresh=fresh)
        except McpError as error:
            self._fail(error)

    async def _dial(self) -> None:
        try:
            connection = await self._client.new_connection(self._request.url)
        except McpError as error:
            self._fail(error)
        except Exception as error:  # such as a TypeError for an option: the request must fail
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
            self._end_record(str(error), error)
            self._sink.response_failed(error)

    # What the connection reports

    def head_received(self, head: ResponseHead) -> None:
        if self._channel is None and self._recorder.is_on:
            self._begin_record()
        self._head = head
        if self._channel is not None:
            self._channel.head_received(head)
        is_guarded = self._client.check is not None
        if "set-cookie" in head.headers and not is_guarded:
            self._client.cookies.store(self._request.url, head.headers)
        if head.status in (307, 308) and not is_guarded:
            self._redirect = self._redirect_target(head)
            if self._redirect is not None:
                return
        coding = head.headers.get("content-encoding")
        if coding is not None:
            self._decoder = ContentDecoder(coding)  # the sink bounds its output
        if head.status >= 300:
            head = head._replace(request=self._bytes.partition(b"\r\n\r\n")[0])
        if head.status == 401 and self._connection is not None:
            head = head._replace(certificate=self._connection.certificate)
            self.refused_on = self._connection
        self._sink.head_received(head)

    def _redirect_target(self, head: ResponseHead) -> Url | None:
        """Return the target of a redirect; None for any other response (RFC 9110, section 15.4)."""
        location = head.headers.get("location")
        if location is None or self._redirects >= _MAX_REDIRECTS:
            return None
        try:
            url = resolve_url(self._request.url, location)
        except UsageError:
            return None
        return url if url.origin == self._request.url.origin else None

    def body_received(self, data: bytes) -> Iterator[None] | None:
        """Handle a piece of the body; a returned iterator is exhausted before the next event."""
        if self._redirect is not None:
            return None
        if self._decoder is not None:
            return self._decode(data, self._decoder)
        self._deliver(data)
        return None

    def _decode(self, data: bytes, decoder: ContentDecoder) -> Iterator[None]:
        for piece in decoder.decode(data):
            if self._done:
                return
            if piece:
                self._deliver(piece)
            yield
        if decoder.fault is not None:
            self._reject(decoder.fault)

    def _deliver(self, data: bytes) -> None:
        """Pass on a piece of the body. It is recorded as transports see it."""
        if self._channel is None and self._recorder.is_on:
            self._begin_record()
        if self._channel is not None:
            self._channel.body_received(data)
        self._sink.body_received(data)

    def response_ended(self) -> None:
        self._connection = None
        if self._redirect is not None:
            self._redirects += 1
            request, self._redirect = self._request._replace(url=self._redirect), None
            self._send_again(request)
            return
        if self._decoder is not None:
            self._decoder.finish()
            if self._decoder.fault is not None:
                self._reject(self._decoder.fault)
        if not self._done:
            self._done = True
            self._end_record("complete")
            self._sink.response_ended()

    def connection_failed(self, error: McpError, *, answer_begun: bool, sent: bool) -> None:
        """Fail, or send the request again where the connection was dead before it arrived.

        ``sent``: the system accepted at least one byte of it.
        """
        self._connection = None
        if self._done:
            return
        is_stale = self._reused and not answer_begun and self._request.repeatable
        if not self._sent_again and (is_stale or not sent):
            # The server closed an idle connection while this request was on its way.
            self._sent_again = True
            self._send_again(self._request, fresh=True)
        else:
            self._fail(error)

    def _reject(self, error: McpError) -> None:
        connection = self._connection
        self._fail(error)
        if connection is not None:
            connection.abort()
