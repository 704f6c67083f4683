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
from ..framing.http1 import GatheredResponse, ResponseHead, encode_request
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


class WebSocketTransport(ConnectedTransport):
    """Talks to one WebSocket endpoint.

    ``headers``: the caller's own, for the opening request. ``credentials``: those of the caller, in
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
        note = None if authorization is None else authorization.note
        while True:
            own = {} if authorization is None else await authorization.headers()
            try:
                await _Opening(self, self._dialer, note).run(merged(headers, own.items()))
                return self._stream
            except HttpError as refusal:
                if authorization is None or refusal.status not in (401, 403):
                    raise
                head = ResponseHead(refusal.status, "", Headers(refusal.headers.items()), "1.1")
                if not await authorization.recover(head):
                    raise

    def begin(self, stream: Stream, protocol: WebSocketProtocol, early: bytes) -> None:
        """Continue with a stream that is a WebSocket now, and ``early``, its first bytes."""
        self._stream, self._protocol = stream, protocol
        self._unwritten = b""
        stream.receiver = self
        if self._ping_interval:
            self._set_timer(self._ping_interval, self._ping)
        if early:
            self.data_received(early)

    def _frame(self, message: bytes) -> bytes:
        return self._protocol.send_text(message)

    async def _disconnect(self) -> None:
        """Send a close frame, wait a moment for the server's, and close: three seconds at most."""
        self._unwritten = b""  # nothing may follow a close frame
        self._stream.write(self._protocol.send_close(1000))
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
        self._protocol.feed_eof()
        kind, reason = explain_loss(error, self.url)
        if error is None:
            reason += " without a WebSocket close frame"
        self._lose(reason, kind)
        self._set_timer(0, None)

    # The end

    def _lose(self, reason: str, kind: LossKind = LossKind.OTHER) -> None:
        if self._ended is None:
            text = f"the connection to {self.url.shown} was lost: {reason}"
            self.connection_lost(ConnectionLost(text, kind))

    def _lose_soon(self, error: McpError) -> None:
        if self._ended is None:
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
            self._lose(f"no answer to a ping within {self._ping_timeout:g} s (ping_timeout)")
            self._stream.abort()


_BODY_LIMIT = 64 * 1024
# Seconds to wait for the rest of a refusal.
_BODY_WAIT = 1.0


class _Opening:
    """The stream's receiver until it is a WebSocket.

    ``note``: called with the head of a 101; its `McpError` rejects that.
    """

    def __init__(
        self,
        transport: WebSocketTransport,
        dialer: Dialer,
        note: Callable[[ResponseHead], None] | None,
    ) -> None:
        self._transport = transport
        self._url = transport.url
        self._note = note
        self._dialer = dialer
        self._handshake = WebSocketHandshake()
        self._answer = GatheredResponse(_BODY_LIMIT)
        self._stream: Stream | None = None
        self._channel: HttpChannel | None = None
        if dialer.recorder is not None and dialer.recorder.is_on:
            self._channel = HttpChannel(dialer.recorder, "websocket")
        self._request = b""  # its head
        self._refusal: ResponseHead | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._opened.add_done_callback(consume_exception)

    async def run(self, headers: Iterable[tuple[str, str]]) -> None:
        """Connect, sending ``headers`` along, until the transport has taken the stream over.

        Raises `ConnectFailed`, `HttpError` for a status other than 101, and `ProtocolViolation` for
        a 101 that breaks the rules. Safe to cancel: nothing stays open.
        """
        self._stream = stream = await self._dialer.dial(self._url, lambda: Stream(self))
        try:
            if stream.ended:
                raise ConnectFailed(
                    self._url.shown,
                    "the connection was closed at once",
                    kind=ConnectKind.CLOSED_EARLY,
                )
            self._answer.parser.start("GET")
            request = encode_request("GET", self._url.target, self._fields(headers))
            self._request = request.partition(b"\r\n\r\n")[0]
            if self._channel is not None:
                self._channel.sent(request)
            stream.write(request)
            await self._opened
        except BaseException:
            stream.abort()
            raise
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
        try:
            deflate = self._handshake.check_response(head.status, head.headers)
            if self._note is not None:
                self._note(head)
        except ValueError as fault:
            if head.status == 101:
                resolve(self._opened, None, ProtocolViolation(f"{self._url.shown}: {fault}"))
                return
            self._refusal = head
            self._timer = asyncio.get_running_loop().call_later(_BODY_WAIT, self._refuse, "closed")
        except McpError as error:
            resolve(self._opened, None, error)
        else:
            assert self._stream is not None
            if not self._opened.done():
                limit = self._transport.max_message_size
                protocol = WebSocketProtocol(deflate=deflate, max_message_size=limit)
                self._opened.set_result(None)
                self._transport.begin(self._stream, protocol, self._answer.parser.trailing)

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
