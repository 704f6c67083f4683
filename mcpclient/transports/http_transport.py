"""The common part of both HTTP transports: connections, headers, and messages that are posted.

A posted message is followed until the server has taken it. Most servers end its response with the
answer, and the connection serves the next call. A response that a server leaves open occupies a
socket, so only a few of them are read on, and not for long.
"""

from __future__ import annotations

import abc
import asyncio
import math
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import (
    ConnectFailed,
    ConnectionLost,
    LossKind,
    McpError,
    MessageTooLarge,
    ProtocolViolation,
    SessionExpired,
    ViolationKind,
)
from ..framing.http1 import ResponseHead
from ..framing.ndjson import DEFAULT_MAX_MESSAGE_SIZE
from ..framing.uri import Url
from ..jsonrpc.messages import RequestId, is_answer
from ..net.dialing import Dialer
from ..net.exchange import Exchange, HttpRequest, ResponseSink
from ..net.futures import cancel
from ..net.http import HttpClient
from ..protocol.outgoing import Outgoing
from .base import Receiver, Transport, deliver_text
from .event_stream import EventStream, ServerStream, is_event_stream
from .http_messages import CallerHeaders, Credentials, Fields, HeaderSource, Refusal

if TYPE_CHECKING:
    from .streamable_http import StreamableHttpTransport

# The most answers to the server's requests that are posted at the same time. Each uses a
# connection, and the server controls their number and how soon it accepts one.
_MAX_ANSWERS = 50

PostT = TypeVar("PostT", bound="PostedMessage")


class HttpTransport(Transport, Generic[PostT]):
    """Sends messages by HTTP to one server.

    ``headers``: the caller's own. ``credentials``: what identifies the caller. ``posts``: the
    messages whose response has not ended. ``draining``: the responses that are still read although
    the answer has come, the oldest first, with the time when each is closed: at most
    ``most_draining``, each for ``drains_for`` seconds (None: no limit). ``receiver``: the receiver
    of messages, once it is open.
    """

    most_draining: int = 4
    drains_for: float | None = 30.0
    receiver: Receiver
    _loop: asyncio.AbstractEventLoop
    _turns: asyncio.Semaphore

    def __init__(
        self,
        url: Url,
        headers: HeaderSource | None = None,
        credentials: Credentials | None = None,
        max_message_size: int = DEFAULT_MAX_MESSAGE_SIZE,
        dialer: Dialer | None = None,
    ) -> None:
        self.url = url
        self.max_message_size = max_message_size
        self._headers = CallerHeaders(headers, url, credentials)
        self._dialer = dialer or Dialer()
        self._http = HttpClient(self._dialer)
        self.records_itself: bool = self._dialer.recorder is not None
        self._is_open = False
        self.posts: dict[object, PostT] = {}
        self.draining: dict[PostedMessage, float] = {}
        self._draining_timer: asyncio.TimerHandle | None = None

    @property
    def description(self) -> str:
        return self.url.shown

    @property
    def reached(self) -> str:
        return self._dialer.reached

    @property
    def cookies(self) -> str:
        return self._dialer.cookies.header_for(self.url)

    async def open(self, receiver: Receiver) -> None:
        """Prepare to send; the first message opens the first connection."""
        self.receiver = receiver
        self._is_open = True
        self._loop = asyncio.get_running_loop()
        self._turns = asyncio.Semaphore(_MAX_ANSWERS)  # belongs to the running loop

    def send(self, outgoing: Outgoing) -> Awaitable[None] | None:
        """POST a message. One that is not a request has been sent when the server has taken it.

        Otherwise a call could overtake ``notifications/initialized`` on another connection.
        """
        body = outgoing.encode()
        if outgoing.answers is not None:
            return self._answer(outgoing, body)
        if self._headers.may_wait:
            return self._ask_and_post(outgoing, body)
        return self._post(outgoing, body, self._headers.fixed_for(outgoing)).taken

    async def _answer(self, outgoing: Outgoing, body: bytes) -> None:
        """POST an answer in its turn, which lasts until the response has ended."""
        async with self._turns:
            post = self._post(outgoing, body, await self._provided_headers(outgoing))
            assert post.taken is not None
            try:
                await post.taken
            finally:
                post.abort()

    async def _ask_and_post(self, outgoing: Outgoing, body: bytes) -> None:
        post = self._post(outgoing, body, await self._provided_headers(outgoing))
        if post.taken is not None:
            await post.taken

    @abc.abstractmethod
    def _post(self, outgoing: Outgoing, body: bytes, caller: Fields) -> PostT:
        """POST a message with the ``caller``'s headers."""

    def _start(
        self,
        request: HttpRequest,
        sink: ResponseSink,
        outgoing: Outgoing | None = None,
        *,
        passive: bool = False,
    ) -> Exchange:
        """Start a request. ``passive``: see `Authorizer.request`."""
        authorization = self._headers.authorization(
            request.method, request.url, outgoing, passive=passive
        )
        return Exchange(self._http, request, sink, authorization)

    def hold(self, *, is_held: bool) -> None:
        self._http.hold(is_held=is_held)

    def drain(self, post: PostedMessage) -> None:
        """Read on for a while, unless that is done for too many: then the oldest is closed."""
        if post in self.draining:
            return
        end = math.inf if self.drains_for is None else self._loop.time() + self.drains_for
        self.draining[post] = end
        if self._draining_timer is None and end < math.inf:  # one for all: nearly all end at once
            self._draining_timer = self._loop.call_at(end, self._end_draining, end)
        if len(self.draining) > self.most_draining:
            next(iter(self.draining)).abort()

    def _end_draining(self, now: float) -> None:
        self._draining_timer = None
        for post, end in list(self.draining.items()):
            if end > now:
                self._draining_timer = self._loop.call_at(end, self._end_draining, end)
                break
            post.abort()

    def abort(self) -> None:
        self._is_open = False
        for post in list(self.posts.values()):
            post.abort()
        self.posts.clear()
        if self._draining_timer is not None:
            self._draining_timer.cancel()
            self._draining_timer = None
        self._http.abort()

    async def _provided_headers(self, outgoing: Outgoing | None) -> Fields:
        """Return the caller's headers for a message.

        Raises `ConnectionLost` when the transport was closed while the caller's function was asked:
        a connection opened now would never be closed.
        """
        headers = await self._headers.provided_for(outgoing)
        if not self._is_open:
            raise ConnectionLost("the transport was closed")
        return headers


# A message that is not a request has no caller whose timeout would end it.
_NOTIFICATION_TIMEOUT = 30.0


class PostedMessage:
    """One posted message, and the sink of the response to it: a mere receipt, or a refusal.

    ``taken``: resolved when the server has taken a message that is not a request: a notification
    with the first word of its response, an answer to a request of the server's with the last. So
    whoever waits for that knows how many connections are in use for answers. A server that does not
    take one in time fails it.
    """

    def __init__(self, transport: HttpTransport[Any], outgoing: Outgoing) -> None:
        self.request_id: RequestId | None = outgoing.request_id
        self.key: object = self if self.request_id is None else self.request_id
        self.taken: asyncio.Future[None] | None = None
        if self.request_id is None:
            self.taken = asyncio.get_running_loop().create_future()
        self._transport = transport
        self._outgoing = outgoing
        self._refusal: Refusal | None = None
        self._exchange: Exchange | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, exchange: Exchange) -> None:
        """Start the timer of a message that was sent."""
        self._exchange = exchange
        if self.taken is not None:
            self._end_after(_NOTIFICATION_TIMEOUT, "did not accept a message")

    # net.exchange.ResponseSink

    def head_received(self, head: ResponseHead) -> None:
        if self._outgoing.answers is None:
            self._resolve_taken()
        if not 200 <= head.status < 300:
            self._refusal = Refusal(head)
        elif self._outgoing.answers is None:
            self._drain()

    def body_received(self, data: bytes) -> None:
        if self._refusal is not None and self._refusal.add(data):
            self.response_ended()
            self.abort()

    def response_ended(self) -> None:
        if self._refusal is None:
            self._end()
        else:
            self.fail(self._error(self._refusal))

    def response_failed(self, error: McpError) -> None:
        self.fail(error)

    def _error(self, refusal: Refusal) -> McpError:
        return refusal.error(self._url, self.request_id)

    @property
    def _url(self) -> Url:
        url: Url = self._transport.url if self._exchange is None else self._exchange.url
        return url

    def fail(self, error: McpError) -> None:
        """Report that this message failed."""
        self._end()
        self._transport.receiver.request_failed(self.request_id, error)

    def _drain(self) -> None:
        if self._timer is not None:
            self._timer.cancel()  # the message was accepted
        self._transport.drain(self)

    def _end_after(self, seconds: float, fault: str = "") -> None:
        """Abort this after so many seconds, and report the server's ``fault``, if it is one."""
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(seconds, self._give_up, fault, seconds)

    def _give_up(self, fault: str, seconds: float) -> None:
        self.abort()
        if fault:
            self.fail(ConnectionLost(f"{self._url.shown} {fault} within {seconds:g} s"))

    def abort(self) -> None:
        self._end()
        if self._exchange is not None:
            self._exchange.abort()

    def _end(self) -> None:
        self._transport.posts.pop(self.key, None)
        self._transport.draining.pop(self, None)
        if self.taken is not None:
            self._resolve_taken()
        if self._timer is not None:
            self._timer.cancel()

    def _resolve_taken(self) -> None:
        taken = self.taken
        if taken is not None and not taken.done() and not taken.get_loop().is_closed():
            taken.set_result(None)


class Post(PostedMessage):
    """A message posted to a Streamable HTTP endpoint in the session ``session_id``.

    ``stream``: the response, where it is an event stream. ``rest``: the streams that continue it.
    """

    def __init__(
        self, owner: StreamableHttpTransport, outgoing: Outgoing, session_id: str | None
    ) -> None:
        super().__init__(owner, outgoing)
        self.session_id = session_id
        self.stream: EventStream | None = None
        self.rest: ServerStream | None = None
        self.resumption: asyncio.Task[None] | None = None
        self._owner = owner
        self._media = ""
        self._body: bytes | bytearray = b""

    def head_received(self, head: ResponseHead) -> None:
        question, owner = self._outgoing.answers, self._owner
        owner.unreachable = None
        if question is None and self.taken is not None:
            self._resolve_taken()
        if not 200 <= head.status < 300:
            self._refusal = Refusal(head)
            return
        owner.working_id = self.session_id
        if question is not None:
            owner.settle(question, self.session_id)
        if self._outgoing.opens_session:
            owner.begin_session(head)
        self._media = head.headers.get("content-type", "")
        if is_event_stream(self._media):
            self.stream = EventStream(owner.receiver, owner.max_message_size, self.request_id)
            if self._outgoing.stays_open:
                self._restart_liveness()
            if self.request_id is None and question is None:
                self._drain()

    def body_received(self, data: bytes) -> None:
        if self.stream is not None:
            self.stream.feed(data)
            if self._outgoing.stays_open:
                self._restart_liveness()
            if self.stream.answered:
                self._drain()
        elif self._refusal is not None:
            super().body_received(data)
        else:
            # Most come in one piece, which is not copied.
            if not self._body:
                self._body = data
            elif isinstance(self._body, bytes):
                self._body = bytearray(self._body) + data
            else:
                self._body += data
            limit = self._owner.max_message_size
            if len(self._body) > limit:
                self.fail(MessageTooLarge(limit))
                self.abort()

    def response_failed(self, error: McpError) -> None:
        self.response_ended(error)

    def _restart_liveness(self) -> None:
        if self._owner.liveness:
            self._end_after(self._owner.liveness, "sent no data on the event stream")

    # The end of the response

    def response_ended(self, error: McpError | None = None) -> None:
        stream = self.stream
        if stream is not None:
            if stream.answered or self.request_id is None:
                self._end()
            elif self._owner.has_ended(self.session_id):
                self.fail(self.lost(error))
            elif self._outgoing.resumable and stream.last_event_id:
                self._owner.follow(stream, self)
            else:
                self.fail(error or self.lost())
        elif self._refusal is not None:
            self.fail(self._error(self._refusal))
        elif error is not None:
            self.fail(error)
        elif self.request_id is None:
            self._end()
        else:
            self._deliver(bytes(self._body), self.request_id)
        self._exchange = None  # it refers to this: so both are freed without the collector

    def _deliver(self, body: bytes, request_id: RequestId) -> None:
        """Deliver the messages of a response that is not an event stream."""
        if not body:
            self.fail(self.lost())
            return
        self._body = b""
        self._end()
        receiver = self._owner.receiver
        if body[:1] != b"{" and body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
            receiver.request_failed(request_id, self._not_json(body))
            return
        for message in deliver_text(body, receiver, request_id):
            if is_answer(message, request_id):
                return
        receiver.request_failed(request_id, self.lost())

    def _error(self, refusal: Refusal) -> McpError:
        session_id, owner = self.session_id, self._owner
        has_worked = session_id == owner.working_id or owner.has_ended(session_id)
        return refusal.error(
            self._url, self.request_id, in_session=session_id is not None, has_worked=has_worked
        )

    def _not_json(self, body: bytes) -> ProtocolViolation:
        media = self._media or "no content type"
        start = body[:200].decode("utf-8", "replace")
        is_page = "html" in media.lower() or "<html" in start.lower()
        return ProtocolViolation(
            f"{self._owner.description} answered with {media} where a JSON-RPC message was "
            f"expected. It begins: {start}",
            ViolationKind.PAGE if is_page else ViolationKind.NOT_JSON,
        )

    def lost(self, cause: McpError | None = None) -> ConnectionLost:
        """Return the error for an answer that will not come, perhaps since its session is gone."""
        request = f"request {self.request_id} ({self._outgoing.message.get('method')})"
        if self._owner.has_ended(self.session_id):
            lost = ConnectionLost(
                f"the server has forgotten the session while it was busy with {request}; it may "
                "have run, so it was not sent again; the next call begins a new session"
            )
        else:
            reason = "" if cause is None else f": {cause}"
            lost = ConnectionLost(
                f"No response received for {request}{reason}", LossKind.NO_RESPONSE
            )
        lost.__cause__ = cause
        return lost

    @property
    def needs_its_session(self) -> bool:
        """Whether it must fail now if its session is gone."""
        is_asked = self.stream is not None and bool(self.stream.questions)
        return is_asked or (self.rest is not None and not self.rest.is_open)

    def fail(self, error: McpError) -> None:
        if isinstance(error, ConnectFailed):
            self._owner.unreachable = error
        super().fail(error)
        if isinstance(error, SessionExpired):
            self._owner.expire(self.session_id, error, by_call=self.request_id is not None)

    def abort(self) -> None:
        super().abort()
        cancel(self.resumption)
