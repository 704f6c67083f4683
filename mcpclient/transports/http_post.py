"""One message posted to a Streamable HTTP endpoint, and the handling of its response.

Sources: the Streamable HTTP pages of revisions 2025-03-26 to 2026-07-28.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

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
from ..jsonrpc.messages import RequestId, is_answer
from ..net.futures import cancel
from ..protocol.outgoing import Outgoing
from .base import deliver_text
from .event_stream import EventStream, ServerStream, is_event_stream
from .http_messages import ERROR_BODY_LIMIT, answer_error
from .http_transport import PostedMessage

if TYPE_CHECKING:
    from .streamable_http import StreamableHttpTransport


class Post(PostedMessage):
    """A message posted in the session ``session_id``, and the sink of its response."""

    def __init__(
        self, owner: StreamableHttpTransport, outgoing: Outgoing, session_id: str | None
    ) -> None:
        super().__init__(owner, outgoing)
        self.session_id = session_id
        self.rest: ServerStream | None = None
        self.resumption: asyncio.Task[None] | None = None
        self._owner = owner
        self._outgoing = outgoing
        self._head: ResponseHead | None = None
        self._succeeded = False
        self._stream: EventStream | None = None
        self._body: bytes | bytearray = b""

    # net.http.ResponseSink

    def head_received(self, head: ResponseHead) -> None:
        self._head = head
        self._succeeded = 200 <= head.status < 300
        self._owner.unreachable = None
        question = self._outgoing.answers
        if question is None and self.taken is not None:
            self._take()
        if not self._succeeded:
            return
        self._owner.working_id = self.session_id
        if question is not None:
            self._owner.settle(question, self.session_id)
        if self._outgoing.opens_session:
            self._owner.begin_session(head)
        if is_event_stream(head.headers.get("content-type", "")):
            limit = self._owner.max_message_size
            self._stream = EventStream(self._owner.receiver, limit, self.request_id)
            if self._outgoing.stays_open:
                self._restart_liveness()
            if self.request_id is None and question is None:
                self._drain()

    def body_received(self, data: bytes) -> None:
        if self._stream is not None:
            self._stream.feed(data)
            if self._outgoing.stays_open:
                self._restart_liveness()
            if self._stream.answered:
                self._drain()
            return
        if not self._body:
            self._body = data  # most come in one piece
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += data
        limit = self._owner.max_message_size if self._succeeded else ERROR_BODY_LIMIT
        if len(self._body) > limit:
            error = MessageTooLarge(limit) if self._succeeded else self._refusal()
            self.fail(error)
            self.abort()

    def response_ended(self) -> None:
        self._finish(None)
        self._exchange = None  # which refers to this: so both are freed without the collector

    def response_failed(self, error: McpError) -> None:
        self._finish(error)
        self._exchange = None

    def _restart_liveness(self) -> None:
        liveness = self._owner.liveness
        if not liveness:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(liveness, self._liveness_ended)

    def _liveness_ended(self) -> None:
        self.abort()
        seconds = self._owner.liveness or 0.0
        self.fail(ConnectionLost(f"no data on the event stream for {seconds:g} s"))

    # The end of the response

    def _finish(self, error: McpError | None) -> None:
        if self._stream is not None:
            self._finish_stream(self._stream, error)
        elif self._head is not None and not self._succeeded:
            self.fail(self._refusal())
        elif error is not None:
            self.fail(error)
        else:
            self._finish_json()

    def _finish_stream(self, stream: EventStream, error: McpError | None) -> None:
        if stream.answered or self.request_id is None:
            self._end()
        elif self._owner.has_ended(self.session_id):
            self.fail(self.session_lost(error))
        elif self._outgoing.resumable and stream.last_event_id:
            self._owner.follow(stream, self)
        else:
            self.fail(error or self.no_response())

    def _finish_json(self) -> None:
        if self.request_id is None:
            self._end()
            return
        if not self._body:
            self.fail(self.no_response())
            return
        body = bytes(self._body)
        self._body = b""
        self._end()
        if body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
            self.fail(self._not_json(body))
            return
        receiver = self._owner.receiver
        for message in deliver_text(body, receiver, self.request_id):
            if is_answer(message, self.request_id):
                return
        receiver.request_failed(self.request_id, self.no_response())

    def _refusal(self) -> McpError:
        assert self._head is not None
        url = self._exchange.url if self._exchange is not None else self._owner.url
        body = bytes(self._body)
        in_session = self.session_id is not None
        has_worked = self.session_id == self._owner.working_id or self._owner.has_ended(
            self.session_id
        )
        return answer_error(
            self._head, body, url, self.request_id, in_session=in_session, has_worked=has_worked
        )

    def no_response(self, cause: McpError | None = None) -> ConnectionLost:
        """Return the error for an answer that will never come."""
        method = self._outgoing.message.get("method")
        reason = f"No response received for request {self.request_id} ({method})"
        lost = ConnectionLost(
            reason if cause is None else f"{reason}: {cause}", LossKind.NO_RESPONSE
        )
        lost.__cause__ = cause
        return lost

    # The end of the session

    def settle(self, question: RequestId) -> None:
        """Forget a request of the server that has been answered."""
        if self._stream is not None:
            self._stream.questions.discard(question)

    @property
    def needs_its_session(self) -> bool:
        """Whether it must fail now if its session is gone."""
        is_asked = self._stream is not None and bool(self._stream.questions)
        return is_asked or (self.rest is not None and not self.rest.is_open)

    def session_lost(self, cause: McpError | None) -> ConnectionLost:
        """Return the error for an answer that will not come, now that its session is gone."""
        method = self._outgoing.message.get("method")
        lost = ConnectionLost(
            f"the server has forgotten the session while it was busy with request "
            f"{self.request_id} ({method}); it may have run, so it was not sent again; "
            "the next call begins a new session"
        )
        lost.__cause__ = cause
        return lost

    def _not_json(self, body: bytes) -> ProtocolViolation:
        assert self._head is not None
        media = self._head.headers.get("content-type", "no content type")
        start = body[:200].decode("utf-8", "replace")
        is_page = "html" in media.lower() or "<html" in start.lower()
        return ProtocolViolation(
            f"{self._owner.description} answered with {media} where a JSON-RPC message was "
            f"expected. It begins: {start}",
            ViolationKind.PAGE if is_page else ViolationKind.NOT_JSON,
        )

    def fail(self, error: McpError) -> None:
        """Report that this message failed."""
        owner = self._owner
        if isinstance(error, ConnectFailed):
            owner.unreachable = error
        super().fail(error)
        if isinstance(error, SessionExpired):
            owner.expire(self.session_id, error, by_call=self.request_id is not None)

    def abort(self) -> None:
        super().abort()
        cancel(self.resumption)
