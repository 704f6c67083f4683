"""Server-sent events that carry messages, over any number of connections.

An `EventStream` is one logical stream: the answer to a POST, or the server's own channel. It
remembers its position, so that after a broken connection the next one can continue there with
``Last-Event-ID`` (Streamable HTTP, "Resumability and Redelivery", revisions 2025-03-26 to
2025-11-25). A `ServerStream` does that with GETs, for as long as that makes progress.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable
from functools import lru_cache
from typing import Callable

from ..errors import ConnectionLost, HttpError, McpError, MessageTooLarge
from ..framing.http1 import ResponseHead
from ..framing.sse import EventDecoder, OversizedEvent
from ..framing.uri import Url
from ..jsonrpc.messages import RequestId, is_answer
from ..net.exchange import Exchange, ResponseSink
from ..net.futures import resolve
from .backoff import Retries
from .base import Receiver, deliver_text
from .http_messages import Refusal

# Event ids remembered to recognise events that a server repeats after a resumption.
_REMEMBERED = 256

# The longest id that is remembered, in characters. It is sent back in a header, where servers
# accept no more; and 256 ids as long as a message would exhaust the memory.
_MAX_ID_LENGTH = 8192

# Requests of the server's remembered for each stream; no more are answered at the same time. An id
# that is a longer string is not remembered: the server chooses it, and it may be as long as a
# message.
_MAX_QUESTIONS = 1000
_MAX_QUESTION_LENGTH = 1024

# The least delay, in seconds, between two connections to a server that asks for none at all.
_MIN_DELAY = 0.05


@lru_cache(16)
def is_event_stream(content_type: str) -> bool:
    """Whether a Content-Type names server-sent events."""
    return content_type.partition(";")[0].strip().lower() == "text/event-stream"


class EventStream:
    """The messages of one logical stream, each delivered once, and when to reconnect.

    ``request_id`` is the request whose answer the stream carries, None for the server's own
    channel. ``answered`` tells whether that answer has come, ``progressed`` whether anything has
    since the last call of `next_delay`. ``questions``: the ids of the requests that came on the
    stream; the code that answers them removes them.
    """

    def __init__(
        self, receiver: Receiver, max_message_size: int, request_id: RequestId | None = None
    ) -> None:
        self.last_event_id: str = ""
        self.answered: bool = False
        self.progressed: bool = False
        self.questions: set[RequestId] = set()
        self._receiver = receiver
        self._limit = max_message_size
        self.request_id = request_id
        self._decoder = EventDecoder(max_message_size)
        self._retry: int | None = None
        self._previous_id = ""
        self._replaying = False
        # Made when needed: most streams end with their answer.
        self._seen: deque[str] | None = None
        self._retries: Retries | None = None

    def feed(self, data: bytes) -> None:
        """Deliver the messages that the next bytes of the current connection complete."""
        for event in self._decoder.feed(data):
            if isinstance(event, OversizedEvent):
                error = MessageTooLarge(event.limit)
                self._receiver.message_rejected(error, self.request_id)
                self.answered = self.request_id is not None
            elif event.data and event.event == "message" and not self._is_replay(event.id):
                self._deliver(event.data)
        position = self._decoder.last_event_id
        # A new connection begins without a position, and continues from the one before.
        is_given = position or self._decoder.has_ids
        if is_given and position != self.last_event_id and len(position) <= _MAX_ID_LENGTH:
            self.last_event_id = position
            self.progressed = True
        if self._decoder.retry is not None:
            self._retry = self._decoder.retry

    def _deliver(self, text: str) -> None:
        self.progressed = True
        # Invalid JSON without a method counts as the response, so that its caller does not
        # wait any longer; a broken notification affects no call.
        answers = None if '"method"' in text else self.request_id
        messages = deliver_text(text, self._receiver, answers)
        if answers is not None and not messages:
            self.answered = True
        for message in messages:
            if self.request_id is not None and is_answer(message, self.request_id):
                self.answered = True
            question = message.get("id") if "method" in message else None
            if not isinstance(question, (int, str)) or len(self.questions) >= _MAX_QUESTIONS:
                continue
            if isinstance(question, int) or len(question) <= _MAX_QUESTION_LENGTH:
                self.questions.add(question)

    def _is_replay(self, event_id: str) -> bool:
        """Whether this event has come before. Only a resumed stream repeats events.

        An event without an id of its own has the id of the one before it, which proves nothing.
        """
        if event_id in ("", self._previous_id) or len(event_id) > _MAX_ID_LENGTH:
            return False
        self._previous_id = event_id
        self._seen = deque(maxlen=_REMEMBERED) if self._seen is None else self._seen
        if self._replaying and event_id in self._seen:
            return True
        self._seen.append(event_id)
        return False

    def next_delay(self, longest: float = math.inf) -> float | None:
        """Return how many seconds to wait before reconnecting; None means to give up.

        A delay that the server asked for with ``retry:`` is respected; any other is at most
        ``longest``. Tries are counted anew only when the last connection brought something.
        """
        self._retries = self._retries or Retries()
        if self.progressed:
            self._retries.succeeded()
            self.progressed = False
        delay = self._retries.next_delay()
        if delay is None or self._retry is None:
            return None if delay is None else min(delay, longest)
        return max(self._retry / 1000, _MIN_DELAY)

    def reconnected(self) -> None:
        """Begin a new connection of the same stream."""
        self._decoder = EventDecoder(self._limit)
        self._previous_id = ""
        self._replaying = bool(self.last_event_id)


# A caller who waits for a response must learn within a second that the server is gone. These are
# the seconds before the GET for a broken stream and before its retry, and the number of unanswered
# GETs in a row that prove it.
_QUICK = 0.4
_MAX_UNANSWERED = 2

OpenStream = Callable[[str, ResponseSink], Awaitable[Exchange]]
"""Sends the GET, with the last event id if there is one, its response going to the sink."""


class ServerStream:
    """Follows one `EventStream` over any number of GETs, and is the sink of their responses.

    ``liveness``: seconds without a byte after which a connection counts as dead (None: never).
    ``reached``: called for every GET with None for a response, or with its error. ``is_open``:
    whether a GET is under way, so that more may come; False between two of them.
    """

    def __init__(
        self,
        stream: EventStream,
        url: Url,
        open_stream: OpenStream,
        liveness: float | None,
        reached: Callable[[McpError | None], None] = lambda error: None,
    ) -> None:
        self.is_open: bool = False
        self._stream = stream
        self._reached = reached
        self._url = url
        self._open_stream = open_stream
        self._liveness = liveness
        self._unanswered = 0
        self._accepted: asyncio.Future[bool] | None = None
        self._ended: asyncio.Future[McpError | None]
        # Of the GET that is under way
        self._is_answered = False
        self._bytes_heard = 0
        self._refusal: Refusal | None = None

    async def follow(self, accepted: asyncio.Future[bool] | None = None) -> McpError | None:
        """Read the stream from its first GET to its end.

        ``accepted`` is resolved as soon as it is known whether the server offers the stream.
        Returns None when the stream is complete, the reason when it cannot be continued: an
        `HttpError` when the server does not offer it (it is then asked only once). A caller who
        waits for an answer waits no longer than for two unanswered GETs in a row; for its
        own channel, the server may take the time to restart.
        """
        self._accepted = accepted
        while True:
            error = await self._read_once()
            if self._stream.answered:
                return None
            if isinstance(error, HttpError) and error.status < 500:
                return error
            doubtful = self._stream.request_id is not None and self._unanswered > 0
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

    async def _read_once(self) -> McpError | None:
        self._stream.reconnected()
        self._unanswered += 1
        self._ended = asyncio.get_running_loop().create_future()
        self._is_answered, self._bytes_heard, self._refusal = False, 0, None
        try:
            exchange = await self._open_stream(self._stream.last_event_id, self)
        except Exception as error:  # the caller's own function for headers may raise anything
            text = f"the event stream could not be asked for: {error!r}"
            failure = error if isinstance(error, McpError) else ConnectionLost(text)
            self.response_failed(failure)
            return failure
        self.is_open = True
        try:
            while True:
                heard = self._bytes_heard
                done, _ = await asyncio.wait({self._ended}, timeout=self._liveness)
                if done:
                    return self._ended.result()
                if self._bytes_heard == heard:
                    return ConnectionLost(f"no data on the event stream for {self._liveness:g} s")
        finally:
            self.is_open = False
            if self._is_answered:
                self._unanswered = 0
            exchange.abort()

    # net.exchange.ResponseSink

    def head_received(self, head: ResponseHead) -> None:
        self._is_answered = True
        self._reached(None)
        offered = head.status == 200 and is_event_stream(head.headers.get("content-type", ""))
        if not offered:
            self._refusal = Refusal(head)
        self._answer(offered)

    def body_received(self, data: bytes) -> None:
        self._bytes_heard += len(data)
        if self._refusal is None:
            self._stream.feed(data)
            if self._stream.answered:
                resolve(self._ended, None)
        elif self._refusal.add(data):
            self.response_ended()

    def response_ended(self) -> None:
        resolve(self._ended, None if self._refusal is None else self._refusal.error(self._url))

    def response_failed(self, error: McpError) -> None:
        if not self._is_answered:  # otherwise its head has reported that
            self._reached(error)
            self._answer(offered=False)
        resolve(self._ended, error)

    def _answer(self, offered: bool) -> None:
        if self._accepted is not None:
            resolve(self._accepted, offered)
