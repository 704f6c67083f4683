"""Opening a WebSocket connection: an HTTP request, and the answer that turns it into one.

Source: RFC 6455 section 4.1. Redirects are refused, which the RFC leaves to the client: headers
with credentials are meant for the URL they were given for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from ..errors import (
    ConnectFailed,
    ConnectKind,
    LossKind,
    McpError,
    ProtocolViolation,
    ViolationKind,
)
from ..framing.http1 import ResponseHead, encode_request
from ..framing.http1_response import GatheredResponse
from ..framing.uri import Url
from ..framing.websocket import WebSocketProtocol
from ..framing.websocket_handshake import Rejected, WebSocketHandshake
from ..recording.http_channel import HttpChannel
from .dialing import Dialer, explain_loss
from .futures import consume_exception
from .http import http_error
from .stream import Stream
from .websocket import WebSocketConnection, WebSocketReceiver, WebSocketSettings

_BODY_LIMIT = 64 * 1024
# How long the rest of a refusal is waited for, in seconds.
_BODY_WAIT = 1.0


async def open_websocket(
    dialer: Dialer,
    url: Url,
    headers: Iterable[tuple[str, str]],
    receiver: WebSocketReceiver,
    settings: WebSocketSettings,
) -> WebSocketConnection:
    """Connect to ``url``, sending ``headers`` along; messages go to ``receiver`` from then on.

    Raises `ConnectFailed`, `HttpError` for an answer that is no 101, and `ProtocolViolation` for a
    101 that breaks the rules. Safe to cancel: nothing stays open.
    """
    opening = _Opening(dialer, url, receiver, settings)
    stream = await dialer.dial(url, lambda: Stream(opening))
    try:
        return await opening.run(stream, headers)
    except BaseException:
        stream.abort()
        raise


class _Opening:
    """The stream's receiver until it is a WebSocket."""

    def __init__(
        self, dialer: Dialer, url: Url, receiver: WebSocketReceiver, settings: WebSocketSettings
    ) -> None:
        self._dialer = dialer
        self._url = url
        self._receiver = receiver
        self._settings = settings
        self._handshake = WebSocketHandshake()
        self._answer = GatheredResponse(_BODY_LIMIT)
        self._stream: Stream | None = None
        recorder = dialer.recorder
        if recorder is not None and recorder.is_on:
            self._channel: HttpChannel | None = HttpChannel(recorder, "websocket")
        else:
            self._channel = None
        self._request = b""  # its head
        self._refusal: ResponseHead | None = None
        self._timer: asyncio.TimerHandle | None = None
        loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[WebSocketConnection] = loop.create_future()
        self._opened.add_done_callback(consume_exception)

    async def run(self, stream: Stream, headers: Iterable[tuple[str, str]]) -> WebSocketConnection:
        """Write the request and wait for its answer."""
        self._stream = stream
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
        """Take bytes of the answer."""
        head, fault = self._answer.feed(data), self._answer.parser.fault
        if head is not None:
            self._take_head(head)
        if self._answer.is_complete:
            self._refuse("complete")
        elif fault is not None:
            text = f"{self._url.shown}: {fault.reason}"
            self._fail(ProtocolViolation(text, ViolationKind.NOT_HTTP))

    def _take_head(self, head: ResponseHead) -> None:
        self._dialer.cookies.store(self._url, head.headers)
        if self._channel is not None:
            self._channel.head_received(head)
        answer = self._handshake.check_response(head.status, head.headers)
        if not isinstance(answer, Rejected):
            self._open(
                WebSocketProtocol(
                    deflate=answer.deflate, max_message_size=self._settings.max_message_size
                )
            )
        elif head.status == 101:
            self._fail(ProtocolViolation(f"{self._url.shown}: {answer.reason}"))
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
            self._fail(http_error(head, body, self._url))

    def writing_resumed(self) -> None:
        """A request is short; nothing waits for this."""

    def stream_ended(self, error: Exception | None) -> None:
        """Take the end of the stream before the end of the handshake."""
        loss, reason = explain_loss(error, self._url)
        self._refuse(reason)
        if error is None:
            reason = "the server closed the connection without answering the WebSocket request"
        is_ours = loss == LossKind.CLIENT_CERTIFICATE
        kind = ConnectKind.CLIENT_CERTIFICATE if is_ours else ConnectKind.CLOSED_EARLY
        self._fail(ConnectFailed(self._url.shown, reason, kind=kind))

    def _fail(self, error: McpError) -> None:
        if not self._opened.done():
            self._opened.set_exception(error)
