"""WebSocket: one JSON-RPC message per text frame, with the subprotocol ``mcp``.

No revision of the specification describes this transport. The framing is the one that the SDKs'
WebSocket servers have in common; the rules of both eras hold as they do over stdio.

`framing.websocket` interprets the bytes; connections here own the stream and the clock. Sources:
RFC 6455, section 4.1 for the opening. Redirects are refused, which the RFC leaves to the client:
headers with credentials are meant for the URL they were given for.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import Callable

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
from ..framing.http1 import GatheredResponse, ResponseHead
from ..framing.ndjson import DEFAULT_MAX_MESSAGE_SIZE
from ..framing.uri import Url
from ..framing.websocket import (
    BinaryMessage,
    Closed,
    Fault,
    TextMessage,
    WebSocketHandshake,
    WebSocketProtocol,
    Write,
)
from ..net.dialing import Dialer, explain_loss, lost_connection
from ..net.exchange import ERROR_BODY_LIMIT, HttpRequest, http_error
from ..net.futures import NextChange, settled
from ..net.http import HttpClient
from ..net.stream import Stream
from ..recording.transcript import HttpChannel
from .base import deliver_text
from .connected import ConnectedTransport
from .http_messages import CallerHeaders, Credentials, Fields, HeaderSource

# Seconds that the server may take to close the TCP connection after both close frames, as RFC 6455
# section 7.1.1 requires of it, and seconds that its own close frame may take.
_SERVER_CLOSES_WITHIN = 1.0
_CLOSES_WITHIN = 2.0

_TOO_BIG = 1009

# Headers that the handshake sets, and no caller.
_OF_HANDSHAKE = re.compile(r"upgrade\Z|sec-websocket-", re.IGNORECASE)


class WebSocketTransport(ConnectedTransport):
    """Talks to one WebSocket endpoint.

    ``headers``: the caller's own, for the opening request. ``credentials``: the caller's, in
    the same request. ``ping_interval``: seconds between pings (None or 0: none). ``ping_timeout``:
    seconds in which anything at all has to come after a ping, or the connection counts as lost
    (None or 0: no limit).
    """

    name = "ws"
    _stream: Stream
    _protocol: WebSocketProtocol

    def __init__(
        self,
        url: Url,
        *,
        headers: HeaderSource | None = None,
        credentials: Credentials | None = None,
        max_message_size: int = DEFAULT_MAX_MESSAGE_SIZE,
        ping_interval: float | None = 20.0,
        ping_timeout: float | None = 20.0,
        dialer: Dialer | None = None,
    ) -> None:
        super().__init__()
        self.url = url
        self.max_message_size = max_message_size
        self._ping_interval = ping_interval or 0.0
        self._ping_timeout = ping_timeout or 0.0
        self._headers = CallerHeaders(headers, url, credentials)
        self._dialer = dialer or Dialer()
        self._heard = False
        self._unwritten = b""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def reached(self) -> str:
        return self._dialer.reached

    @property
    def description(self) -> str:
        return self.url.shown

    async def _connect(self) -> Stream:
        headers = await self._headers.provided_for(None)
        authorization = self._headers.authorization("GET", self.url)
        if authorization is None:
            return await self._open(headers)
        while True:
            own = await settled(authorization.headers())
            try:
                return await self._open(merged(headers, own.items()), authorization.note)
            except HttpError as refusal:
                if refusal.status not in (401, 403):
                    raise
                head = ResponseHead(refusal.status, "", Headers(refusal.headers.items()), "1.1")
                if not await authorization.recover(head):
                    raise

    async def _open(
        self, headers: Fields, note: Callable[[ResponseHead], None] | None = None
    ) -> Stream:
        """Connect. ``note``: called with the head of a 101; its `McpError` rejects that."""
        url, recorder = self.url, self._dialer.recorder
        opening = _Opening()
        response = opening.response
        stream = await self._dialer.dial(url, lambda: Stream(opening))
        try:
            handshake = WebSocketHandshake()
            own = [(name, value) for name, value in headers if not _OF_HANDSHAKE.match(name)]
            opener = HttpRequest("GET", url, [*handshake.headers, *own])
            request = HttpClient(self._dialer).encode(opener)
            channel = None
            if recorder is not None and recorder.is_on:
                channel = HttpChannel(recorder.writer, "websocket")
                channel.sent(request)
            stream.write(request)
            await opening.until(lambda: response.head is not None)
            head, fault = response.head, response.parser.fault
            if head is None:
                raise (
                    opening.failure(url)
                    if fault is None
                    else ProtocolViolation(f"{url.shown}: {fault.reason}", ViolationKind.NOT_HTTP)
                )
            self._dialer.cookies.store(url, head.headers)
            if channel is not None:
                channel.head_received(head)
            if head.status != 101:
                await opening.read_refusal(url, channel)
                head = head._replace(request=request.partition(b"\r\n\r\n")[0])
                raise http_error(head, bytes(response.body), url)
            try:
                deflate = handshake.check_response(head.headers)
            except ValueError as error:
                raise ProtocolViolation(f"{url.shown}: {error}") from None
            if note is not None:
                note(head)
        except BaseException:
            stream.abort()
            raise
        self._stream = stream
        self._protocol = WebSocketProtocol(deflate=deflate, max_message_size=self.max_message_size)
        self._unwritten = b""
        stream.receiver = self
        if self._ping_interval:
            self._set_timer(self._ping_interval, self._ping)
        if response.parser.trailing:
            self.data_received(response.parser.trailing)
        if stream.ended:
            self.stream_ended(opening.error)
        return stream

    def _frame(self, message: bytes) -> bytes:
        return self._protocol.send_text(message)

    async def _disconnect(self) -> None:
        """Send a close frame, wait a moment for the server's, and close: three seconds at most."""
        self._unwritten = b""  # nothing may follow a close frame
        self._stream.write(self._protocol.send_close())
        await self._stream.wait_closed(_CLOSES_WITHIN)

    def message_received(self, data: str | bytes) -> None:
        """Handle one text or binary message."""
        deliver_text(data, self.receiver)

    # net.stream.StreamReceiver

    def data_received(self, data: bytes) -> None:
        self._heard = True
        for event in self._protocol.feed(data):
            kind = type(event)
            if kind is TextMessage or kind is BinaryMessage:
                if self._ended is None:
                    self.message_received(event[0])  # type: ignore[arg-type]
            elif isinstance(event, Write):
                # While the server does not read, only the last pong or close frame counts. RFC 6455
                # section 5.5.3 allows that, and a flood of pings then costs no memory.
                if self._stream.paused:
                    self._unwritten = event.data
                else:
                    self._stream.write(event.data)
            elif isinstance(event, Closed):
                reason = f"{self.url.shown}: {event}"
                if event.code == _TOO_BIG:
                    reason += "; a message sent to it was larger than it takes"
                self._lose_soon(ConnectionLost(reason))
            elif isinstance(event, Fault):
                self._lose_soon(
                    MessageTooLarge(self.max_message_size)
                    if event.code == _TOO_BIG
                    else ProtocolViolation(f"{self.url.shown}: {event.reason}")
                )
                self._stream.close()

    def writing_resumed(self) -> None:
        frame, self._unwritten = self._unwritten, b""
        if frame:
            self._stream.write(frame)
        super().writing_resumed()

    def stream_ended(self, error: Exception | None) -> None:
        self.connection_lost(lost_connection(error, self.url, " without a WebSocket close frame"))
        self._set_timer(0, None)

    # The end

    def _lose_soon(self, error: McpError) -> None:
        self.connection_lost(error)
        self._set_timer(_SERVER_CLOSES_WITHIN, self._stream.abort)

    def _end(self, error: McpError | None = None) -> None:
        self._set_timer(0, None)
        super()._end(error)

    def _set_timer(self, seconds: float, callback: Callable[[], None] | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if callback is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, callback)

    # Pings

    def _ping(self) -> None:
        self._heard = False
        self._stream.write(self._protocol.send_ping())
        timeout = self._ping_timeout
        self._set_timer(timeout or self._ping_interval, self._check_life if timeout else self._ping)

    def _check_life(self) -> None:
        if self._heard:
            self._set_timer(max(self._ping_interval - self._ping_timeout, 0.0), self._ping)
        else:
            reason = f"no answer to a ping within {self._ping_timeout:g} s (ping_timeout)"
            lost = f"the connection to {self.url.shown} was lost: {reason}"
            self.connection_lost(ConnectionLost(lost))
            self._stream.abort()


# Seconds to wait for the rest of a refusal.
_BODY_WAIT = 1.0


class _Opening:
    """The receiver of a stream until it is a WebSocket; ``error``: the one that ended it."""

    def __init__(self) -> None:
        self.response = GatheredResponse(ERROR_BODY_LIMIT)
        self.response.parser.start("GET")
        self.error: Exception | None = None
        self._has_ended = False
        self._changed = NextChange()

    def data_received(self, data: bytes) -> None:
        self.response.feed(data)
        self._changed.notify()

    def writing_resumed(self) -> None:
        """A request is short; nothing waits for this."""

    def stream_ended(self, error: Exception | None) -> None:
        self.error, self._has_ended = error, True
        self._changed.notify()

    async def until(self, is_enough: Callable[[], bool]) -> None:
        while not (is_enough() or self._has_ended or self.response.parser.fault):
            await self._changed.wait()

    def failure(self, url: Url) -> ConnectFailed:
        loss, reason = explain_loss(self.error, url)
        if self.error is None:
            reason = "the server closed the connection without answering the WebSocket request"
        is_ours = loss == LossKind.CLIENT_CERTIFICATE
        kind = ConnectKind.CLIENT_CERTIFICATE if is_ours else ConnectKind.CLOSED_EARLY
        return ConnectFailed(url.shown, reason, kind=kind)

    async def read_refusal(self, url: Url, channel: HttpChannel | None) -> None:
        """Wait a moment for the rest of a refusal, and record as much as has come."""
        reading = self.until(lambda: self.response.is_complete)
        try:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(reading, _BODY_WAIT)
        finally:
            if channel is not None:
                end = explain_loss(self.error, url)[1] if self._has_ended else "closed"
                channel.body_received(bytes(self.response.body))
                channel.end("complete" if self.response.is_complete else end)
