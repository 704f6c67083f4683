"""Streamable HTTP: every message a POST, answered by JSON or by an event stream.

Sources: the Streamable HTTP pages of revisions 2025-03-26 to 2026-07-28. What differs between the
eras is written in each `Outgoing`; this transport only obeys it.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Coroutine, Mapping
from contextlib import suppress
from typing import Any

from ..errors import ConnectionLost, McpError, MessageTooLarge, ProtocolViolation
from ..framing.content_coding import ACCEPT_ENCODING
from ..framing.http1 import ResponseHead
from ..framing.ndjson import DEFAULT_LINE_LIMIT
from ..framing.uri import Url
from ..jsonrpc.codec import encode
from ..jsonrpc.messages import RequestId
from ..net.dialing import Dialer
from ..net.http import Exchange, HttpClient, HttpRequest, ResponseSink
from ..protocol.outgoing import Outgoing
from .base import Abandoned, Receiver, Transport, deliver_text
from .event_stream import EventStream, is_event_stream
from .http_messages import ERROR_BODY_LIMIT, CallerHeaders, HeaderSource, answer_error
from .server_stream import ServerStream

__all__ = ["StreamableHttpTransport"]

_POST_HEADERS = [
    ("Accept", "application/json, text/event-stream"),
    ("Accept-Encoding", ACCEPT_ENCODING),
    ("Content-Type", "application/json"),
]
_GET_HEADERS = [("Accept", "text/event-stream"), ("Cache-Control", "no-store")]

# A message that is no request has no caller whose timeout would end it.
_NOTIFICATION_TIMEOUT = 30.0
_FAREWELL_TIMEOUT = 2.0

# How long a response stream is still read after the answer, which should end it.
_DRAIN_TIMEOUT = 30.0

# A session id is visible ASCII (Streamable HTTP, "Session Management").
_SESSION_ID = re.compile(r"[\x21-\x7e]+")

logger = logging.getLogger("mcpclient.transport")


class StreamableHttpTransport(Transport):
    """Talks to one MCP endpoint.

    ``headers``: the caller's own. ``listen_wait``: how long, in seconds, opening waits for the
    server to accept its own channel (0: not at all). ``liveness``: see `ServerStream`.
    """

    name = "http"
    carries_headers = True

    def __init__(
        self,
        url: Url,
        *,
        headers: HeaderSource | None = None,
        max_message_size: int = DEFAULT_LINE_LIMIT,
        listen_wait: float = 1.0,
        liveness: float | None = None,
        dialer: Dialer | None = None,
    ) -> None:
        self.url = url
        self.max_message_size = max_message_size
        self._headers = CallerHeaders(headers or {}, url)
        self._listen_wait = listen_wait
        self._liveness = liveness
        self._http = HttpClient(dialer or Dialer())
        self._session_id: str | None = None
        self._posts: dict[RequestId, _Post] = {}
        self._channel: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._session_headers: list[tuple[str, str]] = []
        self._receiver: Receiver | None = None

    @property
    def description(self) -> str:
        """The URL, without credentials and query."""
        return self.url.shown

    @property
    def receiver(self) -> Receiver:
        """Where messages go."""
        assert self._receiver is not None, "the transport is not open"
        return self._receiver

    async def open(self, receiver: Receiver) -> None:
        """Make ready; the first message opens the first connection."""
        self._receiver = receiver

    def send(self, outgoing: Outgoing) -> Awaitable[None] | None:
        """POST a message."""
        body = encode(outgoing.message)
        if self._headers.may_wait:
            return self._ask_and_post(outgoing, body)
        self._post(outgoing, body, self._headers.fixed_for(outgoing))
        return None

    async def _ask_and_post(self, outgoing: Outgoing, body: bytes) -> None:
        self._post(outgoing, body, await self._headers.provided_for(outgoing))

    def _post(self, outgoing: Outgoing, body: bytes, caller: list[tuple[str, str]]) -> None:
        headers = [*_POST_HEADERS, *caller, *outgoing.headers.items()]
        in_session = self._session_id is not None and not outgoing.opens_session
        if self._session_id is not None and in_session:
            headers.append(("Mcp-Session-Id", self._session_id))
        request = HttpRequest("POST", self.url, headers, body, repeatable=outgoing.repeatable)
        post = _Post(self, outgoing, in_session=in_session)
        post.exchange = self._http.request(request, post)
        if post.request_id is not None:
            self._posts[post.request_id] = post
        else:
            loop = asyncio.get_running_loop()
            post.timer = loop.call_later(_NOTIFICATION_TIMEOUT, post.give_up)

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        """Close the response stream of a request."""
        request_id = outgoing.request_id
        post = self._posts.pop(request_id, None) if request_id is not None else None
        if post is None:
            return Abandoned.NEVER_SENT
        post.abort()
        return Abandoned.STREAM_CLOSED

    async def listen(self, headers: Mapping[str, str]) -> None:
        """Open the server's own channel, and wait a moment for it to be accepted."""
        self._session_headers = list(headers.items())
        if self._channel is not None:
            self._channel.cancel()
        accepted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._channel = self._run(self._follow_channel(accepted))
        if self._listen_wait > 0:
            await asyncio.wait({accepted}, timeout=self._listen_wait)

    async def _follow_channel(self, accepted: asyncio.Future[bool]) -> None:
        stream = EventStream(self.receiver, self.max_message_size)
        follower = ServerStream(stream, self.url, self.open_stream, self._liveness)
        error = await follower.follow(accepted)
        logger.debug("%s: no server channel: %s", self.description, error)

    async def open_stream(self, last_event_id: str, sink: ResponseSink) -> Exchange:
        """Send a GET for an event stream, from ``last_event_id`` on."""
        caller = (
            await self._headers.provided_for(None)
            if self._headers.may_wait
            else self._headers.fixed_for(None)
        )
        headers = [*_GET_HEADERS, *caller, *self._session_headers]
        if self._session_id is not None:
            headers.append(("Mcp-Session-Id", self._session_id))
        if last_event_id:
            headers.append(("Last-Event-ID", last_event_id))
        return self._http.request(HttpRequest("GET", self.url, headers), sink)

    def follow(self, stream: EventStream, post: _Post) -> None:
        """Continue the broken response stream of a request."""
        post.resumption = self._run(self._resume(stream, post))

    async def _resume(self, stream: EventStream, post: _Post) -> None:
        follower = ServerStream(stream, self.url, self.open_stream, self._liveness)
        error = await follower.resume()
        if error is not None:
            post.fail(error)
        else:
            self.forget(post)

    def begin_session(self, head: ResponseHead) -> None:
        """Take the session id from the answer that opens a session; without one there is none."""
        session_id = head.headers.get("mcp-session-id")
        if session_id is not None and not _SESSION_ID.fullmatch(session_id):
            logger.warning("%s: ignored a session id with invalid characters", self.description)
            session_id = None
        self._session_id = session_id

    def forget(self, post: _Post) -> None:
        """Drop a POST that has come to its end."""
        if post.request_id is not None:
            self._posts.pop(post.request_id, None)

    async def close(self) -> None:
        """End the session with DELETE, if there is one, and close all connections."""
        try:
            for post in list(self._posts.values()):
                post.abort()
            for task in list(self._tasks):
                task.cancel()
            if self._session_id is not None and self._receiver is not None:
                await self._end_session(self._session_id)
        finally:
            self.abort()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._http.close()

    async def _end_session(self, session_id: str) -> None:
        self._session_id = None
        caller: list[tuple[str, str]] = []
        with suppress(McpError):
            caller = (
                await self._headers.provided_for(None)
                if self._headers.may_wait
                else self._headers.fixed_for(None)
            )
        headers = [*caller, *self._session_headers, ("Mcp-Session-Id", session_id)]
        farewell = _Farewell()
        exchange = self._http.request(HttpRequest("DELETE", self.url, headers), farewell)
        try:
            await asyncio.wait({farewell.over}, timeout=_FAREWELL_TIMEOUT)
        finally:
            exchange.abort()

    def abort(self) -> None:
        """Drop all connections and tasks."""
        for post in list(self._posts.values()):
            post.abort()
        self._posts.clear()
        for task in list(self._tasks):
            task.cancel()
        self._http.abort()

    def _run(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class _Post:
    """One posted message, and the response to it."""

    def __init__(
        self, transport: StreamableHttpTransport, outgoing: Outgoing, *, in_session: bool
    ) -> None:
        self.request_id = outgoing.request_id
        self.exchange: Exchange | None = None
        self.resumption: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self._transport = transport
        self._outgoing = outgoing
        self._in_session = in_session
        self._head: ResponseHead | None = None
        self._stream: EventStream | None = None
        self._body: list[bytes] = []
        self._size = 0

    # net.http.ResponseSink

    def head_received(self, head: ResponseHead) -> None:
        self._head = head
        if not 200 <= head.status < 300:
            return
        if self._outgoing.opens_session:
            self._transport.begin_session(head)
        if is_event_stream(head.headers.get("content-type", "")):
            limit = self._transport.max_message_size
            self._stream = EventStream(self._transport.receiver, limit, self.request_id)

    def body_received(self, data: bytes) -> None:
        if self._stream is not None:
            self._stream.feed(data)
            if self._stream.answered and self.timer is None:
                loop = asyncio.get_running_loop()
                self.timer = loop.call_later(_DRAIN_TIMEOUT, self.abort)
            return
        self._size += len(data)
        if self._size <= self._limit:
            self._body.append(data)
        elif self._succeeded:
            self.fail(MessageTooLarge(self._limit))
            self.abort()

    def response_ended(self) -> None:
        self._finish(None)

    def response_failed(self, error: McpError) -> None:
        self._finish(error)

    # What the response comes to

    @property
    def _succeeded(self) -> bool:
        return self._head is not None and 200 <= self._head.status < 300

    @property
    def _limit(self) -> int:
        return self._transport.max_message_size if self._succeeded else ERROR_BODY_LIMIT

    def _finish(self, error: McpError | None) -> None:
        if self._stream is not None:
            self._finish_stream(self._stream, error)
        elif self._head is not None and not self._succeeded:
            self.fail(self._refusal(self._head))
        elif error is not None:
            self.fail(error)
        else:
            self._finish_json()

    def _finish_stream(self, stream: EventStream, error: McpError | None) -> None:
        if stream.answered or self.request_id is None:
            self._end()
        elif self._outgoing.resumable and stream.last_event_id:
            self._transport.follow(stream, self)
        else:
            self.fail(error or self._no_response())

    def _finish_json(self) -> None:
        if self.request_id is None:
            self._end()
            return
        if not self._size:
            self.fail(self._no_response())
            return
        body = b"".join(self._body)
        self._body = []
        self._end()
        if not _looks_like_json(body):
            self.fail(self._not_json(body))
            return
        receiver = self._transport.receiver
        messages = deliver_text(body, receiver, self.request_id)
        if not any(str(message.get("id")) == str(self.request_id) for message in messages):
            receiver.request_failed(self.request_id, self._no_response())

    def _refusal(self, head: ResponseHead) -> McpError:
        url = self.exchange.url if self.exchange is not None else self._transport.url
        body = b"".join(self._body)
        return answer_error(head, body, url, self.request_id, in_session=self._in_session)

    def _no_response(self) -> ConnectionLost:
        method = self._outgoing.message.get("method")
        return ConnectionLost(f"No response received for request {self.request_id} ({method})")

    def _not_json(self, body: bytes) -> ProtocolViolation:
        assert self._head is not None
        kind = self._head.headers.get("content-type", "no content type")
        start = body[:200].decode("utf-8", "replace")
        return ProtocolViolation(
            f"{self._transport.description} answered with {kind} where a JSON-RPC message was "
            f"expected; is this an MCP endpoint? It begins: {start}"
        )

    def fail(self, error: McpError) -> None:
        """Report that this message failed."""
        self._end()
        self._transport.receiver.request_failed(self.request_id, error)

    def give_up(self) -> None:
        """End a notification that the server does not take."""
        self.abort()
        reason = f"{self._transport.description} did not take a message in time"
        self.fail(ConnectionLost(reason))

    def abort(self) -> None:
        """Close the response stream."""
        self._end()
        if self.resumption is not None:
            self.resumption.cancel()
        if self.exchange is not None:
            self.exchange.abort()

    def _end(self) -> None:
        self._transport.forget(self)
        if self.timer is not None:
            self.timer.cancel()


def _looks_like_json(body: bytes) -> bool:
    return body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


class _Farewell:
    """The answer to DELETE, whatever it is: 2xx, 404 and 405 are all fine."""

    def __init__(self) -> None:
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def head_received(self, head: ResponseHead) -> None:
        self._end()

    def body_received(self, data: bytes) -> None:
        pass

    def response_ended(self) -> None:
        self._end()

    def response_failed(self, error: McpError) -> None:
        self._end()

    def _end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)
