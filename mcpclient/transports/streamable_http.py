"""Streamable HTTP: every message a POST, answered by JSON or by an event stream.

Sources: the Streamable HTTP pages of revisions 2025-03-26 to 2026-07-28. Each `Outgoing` states
the differences between the eras; this transport only follows it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress

from ..errors import ConnectFailed, HttpError, McpError, SessionExpired
from ..framing.content_coding import ACCEPT_ENCODING
from ..framing.http1 import ResponseHead
from ..framing.logs import logger_for
from ..framing.ndjson import DEFAULT_MAX_MESSAGE_SIZE
from ..framing.uri import Url
from ..jsonrpc.messages import RequestId
from ..net.dialing import Dialer
from ..net.exchange import Exchange, HttpRequest, ResponseSink
from ..net.futures import BackgroundTasks
from ..protocol.outgoing import Outgoing
from .base import Abandoned
from .event_stream import EventStream, ServerStream
from .http_messages import Credentials, Fields, HeaderSource, speaks_of_the_session
from .http_transport import HttpTransport, Post, PostedMessage

_POST_HEADERS = [
    ("Accept", "application/json, text/event-stream"),
    ("Accept-Encoding", ACCEPT_ENCODING),
    ("Content-Type", "application/json"),
]
_GET_HEADERS = [("Accept", "text/event-stream"), ("Cache-Control", "no-store")]

_DELETE_TIMEOUT = 2.0

# The time that opening the server's channel may take, as a multiple of the time that opening the
# session took; and at least and at most how many seconds.
_LISTEN_FACTOR = 3
_LISTEN_WAIT = (0.05, 1.0)

# A session id is visible ASCII (Streamable HTTP, "Session Management").
_SESSION_ID = re.compile(r"[\x21-\x7e]+")

_logger = logger_for("mcpclient.transport")


class StreamableHttpTransport(HttpTransport[Post]):
    """Talks to one MCP endpoint.

    ``listen_wait``: how long, in seconds, opening waits for the server to accept its own channel
    (0: not at all; None: as long as one that accepts it may take, see `listen`). ``liveness``: see
    `ServerStream`; it holds for every stream that is to stay open.
    """

    name = "http"
    carries_headers = True

    def __init__(
        self,
        url: Url,
        *,
        headers: HeaderSource | None = None,
        credentials: Credentials | None = None,
        max_message_size: int = DEFAULT_MAX_MESSAGE_SIZE,
        listen_wait: float | None = None,
        liveness: float | None = None,
        dialer: Dialer | None = None,
    ) -> None:
        super().__init__(url, headers, credentials, max_message_size, dialer)
        self._listen_wait = listen_wait
        self.liveness = liveness
        self.working_id: str | None = None
        self._session_id: str | None = None
        self._expired_id: str | None = None
        self._expiry: SessionExpired | None = None
        self._offers_channel = False
        self._channel: asyncio.Task[None] | None = None
        self._opening_began = 0.0
        self._opening_took = 0.0
        self._tasks = BackgroundTasks()
        self._session_headers: list[tuple[str, str]] = []

    def _post(self, outgoing: Outgoing, body: bytes, caller: Fields) -> Post:
        headers = [*_POST_HEADERS, *caller, *outgoing.headers.items()]
        session_id = self._session_id if outgoing.in_session else None
        if outgoing.opens_session:
            self._opening_began = asyncio.get_running_loop().time()
        if session_id is not None:
            headers.append(("Mcp-Session-Id", session_id))
        request = HttpRequest("POST", self.url, headers, body, outgoing.repeatable)
        post = Post(self, outgoing, session_id)
        post.begin(self._start(request, post, outgoing))
        self.posts[post.key] = post
        return post

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        post = self.posts.pop(outgoing.request_id, None)
        if post is None:
            return Abandoned.NEVER_SENT
        post.abort()
        return Abandoned.STREAM_CLOSED

    async def listen(self, headers: Mapping[str, str]) -> None:
        """Open the server's own channel, and wait a moment for it to be accepted.

        Without it a server may drop the messages that follow ``notifications/initialized``, which
        is sent after this. But some servers and proxies keep the response until there is an event:
        one that takes a few times as long as for a session withholds it, and is not waited for.
        """
        self._session_headers = list(headers.items())
        if self._channel is not None:
            self._channel.cancel()
        accepted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._channel = self._tasks.start(self._follow_channel(accepted))
        wait = self._listen_wait
        if wait is None:
            wait = min(max(_LISTEN_FACTOR * self._opening_took, _LISTEN_WAIT[0]), _LISTEN_WAIT[1])
        if wait > 0:
            await asyncio.wait({accepted}, timeout=wait)

    async def _follow_channel(self, accepted: asyncio.Future[bool]) -> None:
        stream = EventStream(self.receiver, self.max_message_size)
        accepted.add_done_callback(self._note_offer)

        async def open_channel(last_event_id: str, sink: ResponseSink) -> Exchange:
            # The user must not have to log in for a channel that the server may not even offer.
            return await self.open_stream(last_event_id, sink, passive=not self._offers_channel)

        follower = ServerStream(stream, self.url, open_channel, self.liveness, self._reached)
        error = await follower.follow(accepted)
        if error is None or not self._offers_channel:
            _logger.debug("%s: no channel for the server's messages: %s", self.description, error)
            return
        if isinstance(error, HttpError) and self._session_id is not None:
            # A server without a channel answers 404, too, but there was one.
            says_so = error.status == 400 and speaks_of_the_session(error.body)
            if error.status == 404 or says_so:
                error = SessionExpired(error.status, error.headers, error.body, error.url)
        self.receiver.request_failed(None, error)
        if isinstance(error, SessionExpired):
            self.expire(self._session_id, error, by_call=False)
        else:
            self.receiver.channel_lost(error)

    def _reached(self, error: McpError | None) -> None:
        self.unreachable: McpError | None = error if isinstance(error, ConnectFailed) else None

    def _note_offer(self, accepted: asyncio.Future[bool]) -> None:
        self._offers_channel = self._offers_channel or accepted.result()

    async def open_stream(
        self, last_event_id: str, sink: ResponseSink, *, passive: bool = False
    ) -> Exchange:
        """Send a GET for an event stream, from ``last_event_id`` on."""
        headers = [*_GET_HEADERS, *await self._provided_headers(None), *self._session_headers]
        if self._session_id is not None:
            headers.append(("Mcp-Session-Id", self._session_id))
        if last_event_id:
            # As UTF-8 (the HTML standard, "Server-sent events"); headers are coded in Latin-1.
            headers.append(("Last-Event-ID", last_event_id.encode().decode("latin-1")))
        request = HttpRequest("GET", self.url, headers)
        return self._start(request, sink, passive=passive)

    def follow(self, stream: EventStream, post: Post) -> None:
        """Continue the broken response stream of a request."""

        async def open_rest(last_event_id: str, sink: ResponseSink) -> Exchange:
            if self._expiry is not None and self.has_ended(post.session_id):
                raise self._expiry.again()  # another session does not have these events
            return await self.open_stream(last_event_id, sink)

        post.rest = ServerStream(stream, self.url, open_rest, self.liveness)
        post.resumption = self._tasks.start(self._resume(post.rest, post))

    async def _resume(self, rest: ServerStream, post: Post) -> None:
        error = await rest.resume()
        if error is None:
            self.posts.pop(post.key, None)
        else:
            post.fail(post.lost(error))

    def begin_session(self, head: ResponseHead) -> None:
        """Store the session id from the response that opens a session, if it has one."""
        session_id = head.headers.get("mcp-session-id")
        if session_id is not None and not _SESSION_ID.fullmatch(session_id):
            _logger.warning("%s: ignored a session id with invalid characters", self.description)
            session_id = None
        self._session_id = session_id
        self._opening_took = asyncio.get_running_loop().time() - self._opening_began
        self._expired_id, self._offers_channel = None, False

    def has_ended(self, session_id: str | None) -> bool:
        """Whether the server is known to have forgotten a session (None: there never was one)."""
        is_alive = session_id == self._session_id and session_id != self._expired_id
        return session_id is not None and not is_alive

    def settle(self, question: RequestId, session_id: str | None) -> None:
        """Forget a request of the server's, which has our response now."""
        for post in self.posts.values():
            if post.session_id == session_id and post.stream is not None:
                post.stream.questions.discard(question)

    def expire(self, session_id: str | None, error: SessionExpired, *, by_call: bool) -> None:
        """Handle the end of a session on the server: fail the calls that wait for it in vain.

        ``by_call``: it said so to a call, whose caller begins another session. A call whose
        response stream is open is left alone: the server need not end that with the session, and
        may be another one than has forgotten it. It ends with its stream, which cannot be resumed.
        But a call in whose answer the server asks for something ends now: it can be told nothing
        any more. It may have run, so it is not made again.
        """
        self._expired_id, self._expiry = session_id, error
        for post in list(self.posts.values()):
            if post.session_id == session_id and post.needs_its_session:
                post.abort()
                post.fail(post.lost(error))
        if not by_call and session_id == self._session_id:
            self.receiver.channel_lost(error)

    async def close(self) -> None:
        self._is_open = False
        try:
            for post in list(self.posts.values()):
                post.abort()
            self._tasks.cancel()
            if self._session_id is not None:
                await self._end_session(self._session_id)
        finally:
            self.abort()
        await self._tasks.wait()
        await self._http.close()

    async def _end_session(self, session_id: str) -> None:
        self._session_id = None
        headers = [*self._session_headers, ("Mcp-Session-Id", session_id)]
        with suppress(Exception):  # the caller's function may raise; the session expires anyway
            headers += await self._headers.provided_for(None)
        deletion = _Deletion(self, Outgoing({}))
        request = HttpRequest("DELETE", self.url, headers)
        # The user must not have to log in only to end a session.
        deletion.begin(self._start(request, deletion, passive=True))
        try:
            assert deletion.taken is not None
            await asyncio.wait({deletion.taken}, timeout=_DELETE_TIMEOUT)
        finally:
            deletion.abort()

    def abort(self) -> None:
        self._tasks.cancel()
        super().abort()


class _Deletion(PostedMessage):
    """The answer to DELETE, whatever it is: 2xx, 404 and 405 are all fine."""

    def fail(self, error: McpError) -> None:
        self._end()
