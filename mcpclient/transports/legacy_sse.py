"""HTTP+SSE of revision 2024-11-05: answers come on one event stream, messages go out by POST.

Source: the transports page of revision 2024-11-05. The stream's first event, ``endpoint``, names
the URL for the POSTs. It must have the same origin, or credentials would be sent elsewhere.
"""

from __future__ import annotations

import asyncio

from ..errors import (
    ConnectFailed,
    ConnectionLost,
    McpError,
    MessageTooLarge,
    ProtocolViolation,
    UsageError,
)
from ..framing.content_coding import ACCEPT_ENCODING
from ..framing.http1 import ResponseHead
from ..framing.sse import EventDecoder, OversizedEvent
from ..framing.uri import Url, resolve_url
from ..net.exchange import Exchange, HttpRequest
from ..net.futures import consume_exception
from ..protocol.outgoing import Outgoing
from .base import Abandoned, Receiver, deliver_text
from .event_stream import is_event_stream
from .http_messages import Fields, Refusal
from .http_transport import HttpTransport, PostedMessage

_POST_HEADERS = [("Content-Type", "application/json"), ("Accept-Encoding", ACCEPT_ENCODING)]


class LegacySseTransport(HttpTransport[PostedMessage]):
    """Talks to one HTTP+SSE server. ``url`` is the event stream's."""

    name = "sse"
    # Some servers keep a receipt open for as long as they are busy with the message.
    most_draining: int = 64
    drains_for: float | None = None

    _stream: Exchange | None = None
    _sink: _Stream | None = None

    async def open(self, receiver: Receiver) -> None:
        """Open the event stream and wait for its ``endpoint`` event.

        Raises `HttpError`, `ConnectFailed` or `ProtocolViolation` when there is no such stream.
        """
        await super().open(receiver)
        headers = [("Accept", "text/event-stream"), ("Cache-Control", "no-store")]
        headers += await self._provided_headers(None)
        self._sink = sink = _Stream(self)
        request = HttpRequest("GET", self.url, headers)
        self._stream = self._start(request, sink)
        try:
            await sink.endpoint
        except BaseException:
            self.abort()
            raise

    def _post(self, outgoing: Outgoing, body: bytes, caller: Fields) -> PostedMessage:
        if self._sink is None or not self._is_open:
            raise ConnectionLost("the transport was closed")
        url = self._sink.endpoint.result()
        headers = [*_POST_HEADERS, *caller, *outgoing.headers.items()]
        request = HttpRequest("POST", url, headers, body, repeatable=outgoing.repeatable)
        post = PostedMessage(self, outgoing)
        post.begin(self._start(request, post, outgoing))
        self.posts[post.key] = post
        return post

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        post = self.posts.pop(outgoing.request_id, None)
        if post is not None:
            post.abort()
        # The response would have come on the shared stream, which stays open.
        return Abandoned.STILL_OPEN

    async def close(self) -> None:
        self.abort()
        await self._http.close()

    def abort(self) -> None:
        if self._stream is not None:
            self._stream.abort()
            self._stream = None
        if self._sink is not None:
            self._sink.give_up()
            self._sink = None
        super().abort()


class _Stream:
    """The event stream: the endpoint first, then messages, until it breaks."""

    def __init__(self, transport: LegacySseTransport) -> None:
        self.endpoint: asyncio.Future[Url] = asyncio.get_running_loop().create_future()
        self.endpoint.add_done_callback(consume_exception)
        self._transport = transport
        self._receiver = transport.receiver
        self._decoder = EventDecoder(transport.max_message_size)
        self._shown = transport.description
        self._ended = False
        self._refusal: Refusal | None = None

    def head_received(self, head: ResponseHead) -> None:
        if head.status != 200:
            self._refusal = Refusal(head)
        elif not is_event_stream(head.headers.get("content-type", "")):
            kind = head.headers.get("content-type", "no content type")
            self._fail(ProtocolViolation(f"{self._shown} answered GET with {kind}, not with SSE"))

    def body_received(self, data: bytes) -> None:
        if self._refusal is not None:
            if self._refusal.add(data):
                self.response_ended()
            return
        if self._ended:
            return
        for event in self._decoder.feed(data):
            if isinstance(event, OversizedEvent) and self.endpoint.done():
                self._receiver.message_rejected(MessageTooLarge(event.limit), None)
            elif isinstance(event, OversizedEvent):
                self._fail(MessageTooLarge(event.limit))
            elif event.event == "endpoint":
                self._take_endpoint(event.data)
            elif event.event == "message" and event.data:
                deliver_text(event.data, self._receiver)

    def _take_endpoint(self, reference: str) -> None:
        if self.endpoint.done():
            return
        base = self._transport.url
        try:
            url = resolve_url(base, reference)
        except UsageError as error:
            self._fail(ProtocolViolation(f"the server named an unusable endpoint: {error}"))
            return
        if url.origin == base.origin:
            self.endpoint.set_result(url)
        else:
            reason = f"named an endpoint of another origin: {url.shown}"
            self._fail(ProtocolViolation(f"the server at {base.shown} {reason}"))

    def response_ended(self) -> None:
        if self._refusal is not None:
            self._fail(self._refusal.error(self._transport.url))
        elif not self.endpoint.done():
            self._fail(ConnectFailed(self._shown, "the event stream ended without an endpoint"))
        else:
            self._fail(ConnectionLost(f"{self._shown} ended the event stream"))

    def response_failed(self, error: McpError) -> None:
        if self._ended:
            return
        self._ended = True
        if self.endpoint.done():
            self._receiver.connection_lost(error)
        else:
            self.endpoint.set_exception(error)

    _fail = response_failed

    def give_up(self) -> None:
        """Stop, since the transport was closed; an `open` that still waits fails."""
        self._ended = True
        if not self.endpoint.done() and not self.endpoint.get_loop().is_closed():
            self.endpoint.set_exception(ConnectionLost("the transport was closed"))
