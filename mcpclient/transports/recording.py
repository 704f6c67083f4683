"""A transport that records every message that passes through it, see `net.recorder`."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence

from ..errors import McpError, ProtocolViolation
from ..jsonrpc.messages import Message, RequestId
from ..net.recorder import Recorder
from ..protocol.outgoing import Outgoing
from .base import Abandoned, Receiver, Transport

# Channels that are not named like their transports.
_CHANNELS = {"ws": "websocket"}


def recorded(transport: Transport, recorder: Recorder | None) -> Transport:
    """Begin the transcript of a connection, and return the transport to open instead.

    That is ``transport`` itself if there is no recorder, or it records by itself.
    """
    if recorder is None:
        return transport
    recorder.begin(transport.name, transport.description)
    if transport.records_itself or not recorder.is_on:
        return transport
    return RecordingTransport(transport, recorder)


class MessageLog:
    """Records the messages of one transport, and their failures."""

    def __init__(self, transport: Transport, recorder: Recorder) -> None:
        self._recorder = recorder
        self._ended = False
        self._channel = _CHANNELS.get(transport.name, transport.name)

    def sent(self, outgoing: Outgoing) -> None:
        """Record a message to the server."""
        self._recorder.record("sent", self._channel, {"message": outgoing.message})

    def received(self, message: Message) -> None:
        """Record a message from the server."""
        self._recorder.record("received", self._channel, {"message": message})

    def abandoned(self, outgoing: Outgoing) -> None:
        """Record that the caller has given up waiting."""
        self._recorder.record("note", self._channel, {"abandoned": outgoing.request_id})

    def failed(self, error: McpError, request_id: RequestId | None) -> None:
        """Record a failure, of a request or in general."""
        answers = {} if request_id is None else {"answers": request_id}
        self._recorder.note_failure(self._channel, error, **answers)

    def closed(self) -> None:
        """Record that the client ends the connection. Only the first end counts."""
        if not self._ended:
            self._ended = True
            self._recorder.record("sent", self._channel, {"end": "closed"})

    def lost(self, error: McpError, how: str = "lost") -> None:
        """Record that the connection was lost, or never opened."""
        if not self._ended:
            self._ended = True
            self._recorder.note_failure(self._channel, error, end=how)


class RecordingTransport(Transport):
    """Passes everything on, and records it. Also the receiver in between."""

    records_itself = True

    def __init__(self, inner: Transport, recorder: Recorder) -> None:
        self._inner = inner
        self._log = MessageLog(inner, recorder)
        self._receiver: Receiver | None = None
        self.name: str = inner.name
        self.carries_headers: bool = inner.carries_headers

    @property
    def description(self) -> str:
        return self._inner.description

    @property
    def unreachable(self) -> McpError | None:  # type: ignore[override]  # it follows the other's
        return self._inner.unreachable

    @property
    def reached(self) -> str:
        return self._inner.reached

    @property
    def has_unread(self) -> bool:
        return self._inner.has_unread

    @property
    def skipped(self) -> Sequence[str]:
        return self._inner.skipped

    @property
    def process_id(self) -> int | None:
        return self._inner.process_id

    @property
    def stderr_tail(self) -> str:
        return self._inner.stderr_tail

    async def open(self, receiver: Receiver) -> None:
        """Open the recorded transport."""
        self._receiver = receiver
        try:
            await self._inner.open(self)
        except McpError as error:
            self._log.lost(error, "never opened")
            raise

    def send(self, outgoing: Outgoing) -> Awaitable[None] | None:
        """Record and send a message."""
        self._log.sent(outgoing)
        try:
            return self._inner.send(outgoing)
        except McpError as error:
            self._log.failed(error, outgoing.request_id)
            raise

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        outcome = self._inner.abandon(outgoing)
        self._log.abandoned(outgoing)
        return outcome

    async def listen(self, headers: Mapping[str, str]) -> None:
        """Open the server's own channel."""
        await self._inner.listen(headers)

    async def close(self) -> None:
        self._log.closed()
        await self._inner.close()

    def abort(self) -> None:
        self._inner.abort()

    # transports.base.Receiver

    def message_received(self, message: Message) -> None:
        self._log.received(message)
        self._above.message_received(message)

    def message_rejected(self, error: ProtocolViolation, request_id: RequestId | None) -> None:
        self._log.failed(error, request_id)
        self._above.message_rejected(error, request_id)

    def request_failed(self, request_id: RequestId | None, error: McpError) -> None:
        self._log.failed(error, request_id)
        self._above.request_failed(request_id, error)

    def channel_lost(self, error: McpError) -> None:
        self._above.channel_lost(error)  # the reason was recorded as a failure

    def connection_lost(self, error: McpError) -> None:
        self._log.lost(error)
        self._above.connection_lost(error)

    @property
    def _above(self) -> Receiver:
        assert self._receiver is not None, "the transport is not open"
        return self._receiver
