"""A transport that writes down what passes through it, see `net.recorder`."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping

from ..errors import McpError, ProtocolViolation
from ..jsonrpc.messages import Message, RequestId
from ..net.recorder import Recorder
from ..protocol.outgoing import Outgoing
from .base import Abandoned, Receiver, Transport

__all__ = ["RecordingTransport", "recorded"]

# Where the channel is not called what the transport is called.
_CHANNELS = {"ws": "websocket"}


def recorded(transport: Transport, recorder: Recorder | None) -> Transport:
    """Begin the transcript of a connection, and return what to open in place of ``transport``.

    That is the transport itself where there is nothing to record, or it does that by itself.
    """
    if recorder is None:
        return transport
    recorder.begin(transport.name, transport.description)
    return transport if transport.records_itself else RecordingTransport(transport, recorder)


class RecordingTransport(Transport):
    """Passes everything on, and records it. Also the receiver in between."""

    records_itself = True

    def __init__(self, inner: Transport, recorder: Recorder) -> None:
        self._inner = inner
        self._recorder = recorder
        self._receiver: Receiver | None = None
        self._ended = False
        self._channel = _CHANNELS.get(inner.name, inner.name)
        self.name = inner.name
        self.carries_headers = inner.carries_headers

    @property
    def description(self) -> str:
        """What the recorded transport connects to."""
        return self._inner.description

    async def open(self, receiver: Receiver) -> None:
        """Open the recorded transport."""
        self._receiver = receiver
        try:
            await self._inner.open(self)
        except McpError as error:
            self._ended = True
            self._recorder.note_failure(self._channel, error, end="never opened")
            raise

    def send(self, outgoing: Outgoing) -> Awaitable[None] | None:
        """Write down and send a message."""
        self._recorder.record("sent", self._channel, {"message": outgoing.message})
        try:
            return self._inner.send(outgoing)
        except McpError as error:
            self._note(error, outgoing.request_id)
            raise

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        """Abandon a request."""
        outcome = self._inner.abandon(outgoing)
        self._recorder.record("note", self._channel, {"abandoned": outgoing.request_id})
        return outcome

    async def listen(self, headers: Mapping[str, str]) -> None:
        """Open the server's own channel."""
        await self._inner.listen(headers)

    async def close(self) -> None:
        """Close the recorded transport."""
        if not self._ended:
            self._ended = True
            self._recorder.record("sent", self._channel, {"end": "closed"})
        await self._inner.close()

    def abort(self) -> None:
        """Abort the recorded transport."""
        self._inner.abort()

    # transports.base.Receiver

    def message_received(self, message: Message) -> None:
        """Write down and pass on a message."""
        self._recorder.record("received", self._channel, {"message": message})
        self._above.message_received(message)

    def message_rejected(self, error: ProtocolViolation, request_id: RequestId | None) -> None:
        """Write down and pass on what was no message."""
        self._note(error, request_id)
        self._above.message_rejected(error, request_id)

    def request_failed(self, request_id: RequestId | None, error: McpError) -> None:
        """Write down and pass on a failure."""
        self._note(error, request_id)
        self._above.request_failed(request_id, error)

    def _note(self, error: McpError, request_id: RequestId | None) -> None:
        answers = {} if request_id is None else {"answers": request_id}
        self._recorder.note_failure(self._channel, error, **answers)

    def channel_lost(self, error: McpError) -> None:
        """Pass on that the server cannot be heard; the reason was written down as a failure."""
        self._above.channel_lost(error)

    def connection_lost(self, error: McpError) -> None:
        """Write down and pass on the end."""
        if not self._ended:
            self._ended = True
            self._recorder.note_failure(self._channel, error, end="lost")
        self._above.connection_lost(error)

    @property
    def _above(self) -> Receiver:
        assert self._receiver is not None, "the transport is not open"
        return self._receiver
