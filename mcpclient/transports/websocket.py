"""WebSocket: one JSON-RPC message per text frame, with the subprotocol ``mcp``.

No revision of the specification describes this transport. The framing is the one that the SDKs'
WebSocket servers have in common; the rules of both eras hold as they do over stdio.

`framing.websocket` interprets the bytes; connections here own the stream and the clock. Sources:
RFC 6455, section 4.1 for the opening. Redirects are refused, which the RFC leaves to the client:
headers with credentials are meant for the URL they were given for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Callable, NamedTuple, Protocol

from ..errors import (
    ConnectFailed,
    ConnectionLost,
    ConnectKind,
    HttpError,
    LossKind,
    McpError,
    MessageTooLarge,
    ProtocolViolation,
    ViolationKind,
)
from ..framing.headers import Headers, merged
from ..framing.http1 import GatheredResponse, ResponseHead, encode_request
from ..framing.ndjson import DEFAULT_MAX_MESSAGE_SIZE
from ..framing.uri import Url
from ..framing.websocket import (
    BinaryMessage,
    Closed,
    Fault,
    Rejected,
    TextMessage,
    WebSocketHandshake,
    WebSocketProtocol,
    Write,
)
from ..net.dialing import Dialer, explain_loss
from ..net.futures import consume_exception, resolve
from ..net.http import http_error
from ..net.stream import Stream
from ..recording.transcript import HttpChannel
from .base import deliver_text
from .connected import ConnectedTransport
from .http_messages import CallerHeaders, Credentials, HeaderSource

# Seconds that the server may take to close the TCP connection after both close frames, as RFC 6455
# section 7.1.1 requires of it, and seconds that its own close frame may take.
_SERVER_CLOSES_WITHIN = 1.0
_CLOSES_WITHIN = 2.0

_TOO_BIG = 1009


class WebSocketSettings(NamedTuple):
    """The limits of a connection.

    ``max_message_size``: bytes an incoming message may have. ``ping_interval``: seconds between
    pings (None or 0: none). ``ping_timeout``: seconds in which anything at all has to come after a
    ping, or the connection counts as lost (None or 0: no limit).
    """

    max_message_size: int = DEFAULT_MAX_MESSAGE_SIZE
    ping_interval: float | None = 20.0
    ping_timeout: float | None = 20.0


class WebSocketTransport(ConnectedTransport):
    """Talks to one WebSocket endpoint.

    ``headers``: the caller's own, for the opening request. ``credentials``: those of the caller, in
    the same request. ``settings``: the limits of messages and pings.
    """

    name = "ws"
    _websocket: WebSocketConnection

    def __init__(
        self,
        url: Url,
        *,
        headers: HeaderSource | None = None,
        credentials: Credentials | None = None,
        settings: WebSocketSettings | None = None,
        dialer: Dialer | None = None,
    ) -> None:
        super().__init__()
        self.url = url
        self._headers = CallerHeaders(headers, url, credentials)
        self._settings = settings or WebSocketSettings()
        self._dialer = dialer or Dialer()

    @property
    def reached(self) -> str:
        return self._dialer.reached

    @property
    def description(self) -> str:
        return self.url.shown

    async def _connect(self) -> WebSocketConnection:
        headers = await self._headers.provided_for(None)
        authorization = self._headers.authorization("GET", self.url)
        note = None if authorization is None else authorization.note
        while True:
            own = {} if authorization is None else await authorization.headers()
            fields = merged(headers, own.items())
            try:
                self._websocket = await open_websocket(
                    self._dialer, self.url, fields, self, self._settings, note
                )
                return self._websocket
            except HttpError as refusal:
                if authorization is None or refusal.status not in (401, 403):
                    raise
                head = ResponseHead(refusal.status, "", Headers(refusal.headers.items()), "1.1")
                if not await authorization.recover(head):
                    raise

    def _frame(self, message: bytes) -> bytes:
        return self._websocket.frame_text(message)

    async def _disconnect(self) -> None:
        await self._websocket.close()

    def message_received(self, data: str | bytes) -> None:
        deliver_text(data, self.receiver)


class WebSocketReceiver(Protocol):
    """The receiver of a connection. After `connection_lost` nothing more comes."""

    def message_received(self, data: str | bytes) -> None:
        """Handle one text or binary message."""

    def writing_resumed(self) -> None:
        """Resume writing: the server reads again, after ``paused`` was true."""

    def connection_lost(self, error: McpError) -> None:
        """Handle the end of the connection. Not called after `close` or `abort`."""


class WebSocketConnection:
    """One connection, made by `open_websocket`."""

    def __init__(
        self,
        url: Url,
        stream: Stream,
        protocol: WebSocketProtocol,
        receiver: WebSocketReceiver,
        settings: WebSocketSettings,
    ) -> None:
        self._url = url
        self._stream = stream
        self._protocol = protocol
        self._receiver = receiver
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self.ended: McpError | None = None
        """The reason why nothing can be sent any more; None while the connection is open."""
        self._heard = False
        self._unwritten = b""
        self._timer: asyncio.TimerHandle | None = None
        if settings.ping_interval:
            self._timer = self._loop.call_later(settings.ping_interval, self._ping)

    @property
    def paused(self) -> bool:
        """Whether the server reads slower than the client writes."""
        return self._stream.paused

    def hold(self, *, is_held: bool) -> None:
        """Stop reading, or go on."""
        self._stream.hold(is_held=is_held)

    def frame_text(self, text: bytes) -> bytes:
        """Return a message as the bytes to `write` next. Raises `ConnectionLost`."""
        return self._protocol.send_text(text)

    def write(self, frames: bytes) -> None:
        """Write frames. All that were made must be written, in the order they were made."""
        self._stream.write(frames)

    async def close(self, code: int = 1000) -> None:
        """Send a close frame, wait a moment for the server's, and close. Idempotent.

        Takes three seconds at most.
        """
        self._end(ConnectionLost("the connection was closed"), tell=False)
        self._unwritten = b""  # nothing may follow a close frame
        self._stream.write(self._protocol.send_close(code))
        await self._stream.wait_closed(_CLOSES_WITHIN)

    def abort(self) -> None:
        """Drop the connection at once."""
        self._end(ConnectionLost("the connection was closed"), tell=False)
        self._stream.abort()

    # net.stream.StreamReceiver

    def data_received(self, data: bytes) -> None:
        self._heard = True
        for event in self._protocol.feed(data):
            kind = type(event)
            if kind is TextMessage or kind is BinaryMessage:
                if self.ended is None:
                    self._receiver.message_received(event[0])  # type: ignore[arg-type]
            elif isinstance(event, Write):
                self._reply(event.data)
            elif isinstance(event, Closed):
                reason = f"{self._url.shown}: {event}"
                if event.code == _TOO_BIG:
                    reason += "; a message sent to it was larger than it takes"
                self._end_soon(ConnectionLost(reason))
            elif isinstance(event, Fault):
                is_large = event.code == _TOO_BIG
                self._end_soon(
                    MessageTooLarge(self._settings.max_message_size)
                    if is_large
                    else ProtocolViolation(f"{self._url.shown}: {event.reason}")
                )
                self._stream.close()

    def _reply(self, frame: bytes) -> None:
        """Write a pong or a close frame; while the server does not read, only the last counts.

        RFC 6455 section 5.5.3 allows that, and a flood of pings then costs no memory.
        """
        if self._stream.paused:
            self._unwritten = frame
        else:
            self._stream.write(frame)

    def writing_resumed(self) -> None:
        frame, self._unwritten = self._unwritten, b""
        if frame:
            self._stream.write(frame)
        if self.ended is None:
            self._receiver.writing_resumed()

    def stream_ended(self, error: Exception | None) -> None:
        self._protocol.feed_eof()
        kind, reason = explain_loss(error, self._url)
        if error is None:
            reason += " without a WebSocket close frame"
        self._end(ConnectionLost(f"the connection to {self._url.shown} was lost: {reason}", kind))
        self._stop_timer()

    # The end

    def _end_soon(self, error: McpError) -> None:
        self._end(error)
        self._timer = self._loop.call_later(_SERVER_CLOSES_WITHIN, self._stream.abort)

    def _end(self, error: McpError, *, tell: bool = True) -> None:
        self._stop_timer()
        if self.ended is None:
            self.ended = error
            if tell:
                self._receiver.connection_lost(error)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # Pings

    def _ping(self) -> None:
        self._heard = False
        self._stream.write(self._protocol.send_ping())
        timeout, interval = self._settings.ping_timeout, self._settings.ping_interval or 0.0
        if timeout:
            self._timer = self._loop.call_later(timeout, self._check_life, timeout, interval)
        else:
            self._timer = self._loop.call_later(interval, self._ping)

    def _check_life(self, timeout: float, interval: float) -> None:
        if self._heard:
            self._timer = self._loop.call_later(max(interval - timeout, 0.0), self._ping)
        else:
            reason = f"no answer to a ping within {timeout:g} s (ping_timeout)"
            self._end(ConnectionLost(f"the connection to {self._url.shown} was lost: {reason}"))
            self._stream.abort()


_BODY_LIMIT = 64 * 1024
# Seconds to wait for the rest of a refusal.
_BODY_WAIT = 1.0


async def open_websocket(
    dialer: Dialer,
    url: Url,
    headers: Iterable[tuple[str, str]],
    receiver: WebSocketReceiver,
    settings: WebSocketSettings,
    note: Callable[[ResponseHead], None] | None = None,
) -> WebSocketConnection:
    """Connect to ``url``, sending ``headers`` along; messages go to ``receiver`` from then on.

    ``note``: called with the head of a 101; its `McpError` rejects that. Raises `ConnectFailed`,
    `HttpError` for a status other than 101, and `ProtocolViolation` for a 101 that breaks the
    rules. Safe to cancel: nothing stays open.
    """
    opening = _Opening(dialer, url, receiver, settings, note)
    stream = await dialer.dial(url, lambda: Stream(opening))
    try:
        return await opening.run(stream, headers)
    except BaseException:
        stream.abort()
        raise


class _Opening:
    """The stream's receiver until it is a WebSocket."""

    def __init__(
        self,
        dialer: Dialer,
        url: Url,
        receiver: WebSocketReceiver,
        settings: WebSocketSettings,
        note: Callable[[ResponseHead], None] | None,
    ) -> None:
        self._note = note
        self._dialer = dialer
        self._url = url
        self._receiver = receiver
        self._settings = settings
        self._handshake = WebSocketHandshake()
        self._answer = GatheredResponse(_BODY_LIMIT)
        self._stream: Stream | None = None
        self._channel: HttpChannel | None = None
        if dialer.recorder is not None and dialer.recorder.is_on:
            self._channel = HttpChannel(dialer.recorder, "websocket")
        self._request = b""  # its head
        self._refusal: ResponseHead | None = None
        self._timer: asyncio.TimerHandle | None = None
        loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[WebSocketConnection] = loop.create_future()
        self._opened.add_done_callback(consume_exception)

    async def run(self, stream: Stream, headers: Iterable[tuple[str, str]]) -> WebSocketConnection:
        self._stream = stream
        if stream.ended:
            raise ConnectFailed(
                self._url.shown, "the connection was closed at once", kind=ConnectKind.CLOSED_EARLY
            )
        self._answer.parser.start("GET")
        request = encode_request("GET", self._url.target, self._fields(headers))
        self._request = request.partition(b"\r\n\r\n")[0]
        if self._channel is not None:
            self._channel.sent(request)
        stream.write(request)
        try:
            return await self._opened
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._refuse("closed")

    def _fields(self, headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        fields = [("Host", self._url.authority), *self._handshake.headers]
        own_cookies = ""
        for name, value in headers:
            lower = name.lower()
            if lower == "cookie":
                own_cookies = value
            elif lower != "upgrade" and not lower.startswith("sec-websocket-"):
                fields.append((name, value))
        cookies = self._dialer.cookies.header_for(self._url, own_cookies)
        return [*fields, ("Cookie", cookies)] if cookies else fields

    # net.stream.StreamReceiver

    def data_received(self, data: bytes) -> None:
        head, fault = self._answer.feed(data), self._answer.parser.fault
        if head is not None:
            self._take_head(head)
        if self._answer.is_complete:
            self._refuse("complete")
        elif fault is not None:
            text = f"{self._url.shown}: {fault.reason}"
            resolve(self._opened, None, ProtocolViolation(text, ViolationKind.NOT_HTTP))

    def _take_head(self, head: ResponseHead) -> None:
        self._dialer.cookies.store(self._url, head.headers)
        if self._channel is not None:
            self._channel.head_received(head)
        answer = self._handshake.check_response(head.status, head.headers)
        if not isinstance(answer, Rejected):
            try:
                if self._note is not None:
                    self._note(head)
            except McpError as error:
                resolve(self._opened, None, error)
                return
            self._open(
                WebSocketProtocol(
                    deflate=answer.deflate, max_message_size=self._settings.max_message_size
                )
            )
        elif head.status == 101:
            resolve(self._opened, None, ProtocolViolation(f"{self._url.shown}: {answer.reason}"))
        else:
            self._refusal = head
            self._timer = asyncio.get_running_loop().call_later(_BODY_WAIT, self._refuse, "closed")

    def _open(self, protocol: WebSocketProtocol) -> None:
        assert self._stream is not None
        if not self._opened.done():
            connection = WebSocketConnection(
                self._url, self._stream, protocol, self._receiver, self._settings
            )
            self._stream.receiver = connection
            self._opened.set_result(connection)
            early = self._answer.parser.trailing
            if early:
                connection.data_received(early)

    def _refuse(self, how: str) -> None:
        """Fail with the refusal, if there is one; ``how`` its body ended, as a transcript says.

        Idempotent.
        """
        head = self._refusal
        if head is not None:
            body = bytes(self._answer.body)
            if self._channel is not None and not self._channel.ended:
                self._channel.body_received(body)
                self._channel.end(how)
            head = head._replace(request=self._request)
            resolve(self._opened, None, http_error(head, body, self._url))

    def writing_resumed(self) -> None:
        """A request is short; nothing waits for this."""

    def stream_ended(self, error: Exception | None) -> None:
        loss, reason = explain_loss(error, self._url)
        self._refuse(reason)
        if error is None:
            reason = "the server closed the connection without answering the WebSocket request"
        is_ours = loss == LossKind.CLIENT_CERTIFICATE
        kind = ConnectKind.CLIENT_CERTIFICATE if is_ours else ConnectKind.CLOSED_EARLY
        resolve(self._opened, None, ConnectFailed(self._url.shown, reason, kind=kind))
