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
from typing import Any, Generic, TypeVar

from ..errors import ConnectionLost, McpError
from ..framing.ndjson import DEFAULT_MAX_MESSAGE_SIZE
from ..framing.uri import Url
from ..jsonrpc.messages import RequestId
from ..net.dialing import Dialer
from ..net.http import HttpClient, HttpRequest, ResponseSink
from ..protocol.outgoing import Outgoing
from .base import Receiver, Transport
from .http_messages import AuthorizedExchange, CallerHeaders, Credentials, HeaderSource, Sending

# The most answers to the server's requests that are posted at the same time. Each uses a
# connection, and the server controls their number and how soon it accepts one.
_MAX_ANSWERS = 50


PostT = TypeVar("PostT", bound="PostedMessage")


class HttpTransport(Transport, Generic[PostT]):
    """Sends messages by HTTP to one server.

    ``headers``: the caller's own. ``credentials``: what identifies the caller. ``draining``: the
    responses that are still read although the answer has come. ``posts``: the messages whose
    response has not ended.
    """

    draining: Draining
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
        self._receiver: Receiver | None = None
        self._is_open = False
        self.posts: dict[object, PostT] = {}

    @property
    def description(self) -> str:
        return self.url.shown

    @property
    def reached(self) -> str:
        return self._dialer.reached

    @property
    def cookies(self) -> str:
        return self._dialer.cookies.header_for(self.url)

    @property
    def receiver(self) -> Receiver:
        """The receiver of messages."""
        assert self._receiver is not None, "the transport is not open"
        return self._receiver

    async def open(self, receiver: Receiver) -> None:
        """Prepare to send; the first message opens the first connection."""
        self._receiver = receiver
        self._is_open = True
        self._turns = asyncio.Semaphore(_MAX_ANSWERS)  # which belongs to the running loop

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
    def _post(self, outgoing: Outgoing, body: bytes, caller: list[tuple[str, str]]) -> PostT:
        """POST a message with the ``caller``'s headers."""

    def _start(
        self,
        request: HttpRequest,
        sink: ResponseSink,
        outgoing: Outgoing | None = None,
        *,
        passive: bool = False,
    ) -> Sending:
        """Start a request, which carries a message or opens a stream.

        Its response goes to ``sink``. ``passive``: see `Authorizer.request`.
        """
        authorization = self._headers.authorization(
            request.method, request.url, outgoing, passive=passive
        )
        if authorization is None:
            return self._http.request(request, sink)
        return AuthorizedExchange(self._http, request, sink, authorization)

    def hold(self, *, is_held: bool) -> None:
        self._http.hold(is_held=is_held)

    def abort(self) -> None:
        self._is_open = False
        for post in list(self.posts.values()):
            post.abort()
        self.posts.clear()
        self._http.abort()

    async def _provided_headers(self, outgoing: Outgoing | None) -> list[tuple[str, str]]:
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
    """One posted message, and the sink of the response to it.

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
        self._exchange: Sending | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_drained = False

    def begin(self, exchange: Sending) -> None:
        """Start the timer of a message that was sent."""
        self._exchange = exchange
        if self.taken is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_NOTIFICATION_TIMEOUT, self._give_up)

    def fail(self, error: McpError) -> None:
        """Report that this message failed."""
        self._end()
        self._transport.receiver.request_failed(self.request_id, error)

    def _drain(self) -> None:
        self._is_drained = True
        self._transport.draining.add(self)

    def _give_up(self) -> None:
        assert self._exchange is not None
        self.abort()
        shown = self._exchange.url.shown
        reason = f"{shown} did not accept a message within {_NOTIFICATION_TIMEOUT:g} s"
        self.fail(ConnectionLost(reason))

    def abort(self) -> None:
        self._end()
        if self._exchange is not None:
            self._exchange.abort()

    def _end(self) -> None:
        self._transport.posts.pop(self.key, None)
        if self._is_drained:
            self._transport.draining.discard(self)
        if self.taken is not None:
            self._take()
        if self._timer is not None:
            self._timer.cancel()

    def _take(self) -> None:
        taken = self.taken
        if taken is not None and not taken.done() and not taken.get_loop().is_closed():
            taken.set_result(None)


class Draining:
    """The responses of one transport that are still read although their answer has arrived.

    At most ``most`` are read on, each for ``seconds`` (None: no limit).
    """

    def __init__(self, most: int = 4, seconds: float | None = 30.0) -> None:
        self._most = most
        self._seconds = seconds
        self._until: dict[PostedMessage, float] = {}
        # One timer, for the oldest: most responses end in the very turn in which they come here.
        self._timer: asyncio.TimerHandle | None = None

    def add(self, response: PostedMessage) -> None:
        """Read on for a while, unless that is done for too many: then the oldest is closed."""
        if response in self._until:
            return
        loop = asyncio.get_running_loop()
        self._until[response] = math.inf if self._seconds is None else loop.time() + self._seconds
        if self._timer is None and self._seconds is not None:
            self._timer = loop.call_later(self._seconds, self._close_oldest)
        if len(self._until) > self._most:
            next(iter(self._until)).abort()

    def discard(self, response: PostedMessage) -> None:
        """Remove a response that has ended."""
        self._until.pop(response, None)

    def _close_oldest(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        for response, until in list(self._until.items()):
            if until > loop.time():
                self._timer = loop.call_at(until, self._close_oldest)
                return
            response.abort()
