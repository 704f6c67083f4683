"""Event streams fetched with GET: the server's own channel, and the rest of a broken answer.

The loop here owns the waiting: it opens the stream, reads until it ends, and opens it again from
where it stopped, for as long as that brings anything.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable
from typing import Callable

from ..errors import ConnectionLost, HttpError, McpError
from ..framing.http1 import ResponseHead
from ..framing.uri import Url
from ..net.http import ResponseSink
from .authorized import Sending
from .event_stream import EventStream, is_event_stream
from .http_messages import ERROR_BODY_LIMIT, answer_error

# A caller who waits for an answer is to know within a second when the server is gone: so soon, in
# seconds, the stream is asked for when it has broken and again when nobody has answered that, and
# so many GETs in a row are proof.
_QUICK = 0.4
_MAX_UNANSWERED = 2

OpenStream = Callable[[str, ResponseSink], Awaitable[Sending]]
"""Sends the GET, with the last event id if there is one, its response going to the sink."""


class ServerStream:
    """Follows one `EventStream` over any number of GETs.

    ``liveness``: seconds without a byte after which a connection counts as dead (None: never).
    ``reached``: told of every GET that is answered (None) or fails (why).
    """

    def __init__(
        self,
        stream: EventStream,
        url: Url,
        open_stream: OpenStream,
        liveness: float | None,
        reached: Callable[[McpError | None], None] = lambda error: None,
    ) -> None:
        self._stream = stream
        self._reached = reached
        self._url = url
        self._open_stream = open_stream
        self._liveness = liveness
        self.is_open: bool = False
        """Whether a GET is under way, so that more may come; False between two of them."""
        self._unanswered = 0

    async def follow(self, accepted: asyncio.Future[bool] | None = None) -> McpError | None:
        """Read the stream from its first GET to its end.

        ``accepted`` is resolved as soon as it is known whether the server offers the stream.
        Returns None when the stream is complete, the reason when it cannot be continued: an
        `HttpError` when the server does not offer it (it is then asked only once). A caller who
        waits for an answer waits no longer than for two GETs in a row that nobody answers; for its
        own channel, the server may take the time to start again.
        """
        while True:
            error = await self._read_once(accepted)
            if self._stream.answered:
                return None
            if isinstance(error, HttpError) and error.status < 500:
                return error
            doubtful = self._stream.carries_answer and self._unanswered > 0
            if doubtful and self._unanswered == _MAX_UNANSWERED:
                return error
            delay = self._stream.next_delay(_QUICK if doubtful else math.inf)
            if delay is None:
                return error or ConnectionLost(
                    "the event stream ended again and again without an event"
                )
            await asyncio.sleep(delay)

    async def resume(self) -> McpError | None:
        """Continue a stream that a POST began: wait as the server asked, then follow it."""
        delay = self._stream.next_delay(_QUICK)
        await asyncio.sleep(delay or 0)
        return await self.follow()

    async def _read_once(self, accepted: asyncio.Future[bool] | None) -> McpError | None:
        self._stream.reconnected()
        self._unanswered += 1
        sink = _StreamSink(self._stream, self._url, accepted, self._reached)
        try:
            exchange = await self._open_stream(self._stream.last_event_id, sink)
        except McpError as error:
            sink.response_failed(error)
            return error
        except Exception as error:  # the caller's own function for headers may raise anything
            failure = ConnectionLost(f"the event stream could not be asked for: {error!r}")
            sink.response_failed(failure)
            return failure
        self.is_open = True
        try:
            while True:
                heard = sink.bytes_heard
                done, _ = await asyncio.wait({sink.ended}, timeout=self._liveness)
                if done:
                    return sink.ended.result()
                if sink.bytes_heard == heard:
                    return ConnectionLost(f"no data on the event stream for {self._liveness:g} s")
        finally:
            self.is_open = False
            if sink.is_answered:
                self._unanswered = 0
            exchange.abort()


class _StreamSink:
    """One GET's response."""

    def __init__(
        self,
        stream: EventStream,
        url: Url,
        accepted: asyncio.Future[bool] | None,
        reached: Callable[[McpError | None], None],
    ) -> None:
        self._reached = reached
        self.ended: asyncio.Future[McpError | None] = asyncio.get_running_loop().create_future()
        self.bytes_heard = 0
        self._stream = stream
        self._url = url
        self._accepted = accepted
        self.is_answered = False
        self._refusal: ResponseHead | None = None
        self._body = bytearray()

    def head_received(self, head: ResponseHead) -> None:
        self.is_answered = True
        self._reached(None)
        offered = head.status == 200 and is_event_stream(head.headers.get("content-type", ""))
        if not offered:
            self._refusal = head
        self._answer(offered)

    def body_received(self, data: bytes) -> None:
        self.bytes_heard += len(data)
        if self._refusal is None:
            self._stream.feed(data)
            if self._stream.answered:
                self._end(None)
        else:
            self._body += data
            if len(self._body) >= ERROR_BODY_LIMIT:
                self.response_ended()  # the rest, which may never end, tells nothing

    def response_ended(self) -> None:
        refusal = self._refusal
        self._end(None if refusal is None else answer_error(refusal, bytes(self._body), self._url))

    def response_failed(self, error: McpError) -> None:
        if not self.is_answered:
            self._reached(error)
        self._end(error)

    def _end(self, error: McpError | None) -> None:
        self._answer(False)
        if not self.ended.done():
            self.ended.set_result(error)

    def _answer(self, offered: bool) -> None:
        if self._accepted is not None and not self._accepted.done():
            self._accepted.set_result(offered)
