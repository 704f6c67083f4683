"""The interface of transports, and of the session above that receives messages.

To write your own, subclass `Transport`, implement ``open``, ``send`` and ``close``, and hand every
message that arrives to the receiver. The other methods are for transports that can do more.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ..errors import McpError, ProtocolViolation, ViolationKind
from ..jsonrpc.codec import MalformedMessage, decode
from ..jsonrpc.messages import Message, RequestId, peer_error
from ..protocol.outgoing import Outgoing

if TYPE_CHECKING:
    from ..sandbox.denials import Denials

# The most messages in one array. Within the limit of size there could be twenty million, and their
# delivery blocks the event loop.
_MAX_BATCH = 10_000

# A JSON object without any of these members is not a JSON-RPC message.
_MEMBERS = frozenset({"jsonrpc", "id", "method", "result", "error"})
_SHOWN = 200


class Receiver(Protocol):
    """The receiver of a transport's events. None of these methods blocks or raises."""

    def message_received(self, message: Message) -> None:
        """Handle one message: a JSON object whose contents have not been checked."""

    def message_rejected(self, error: ProtocolViolation, request_id: RequestId | None) -> None:
        """Handle bytes that are not a message.

        ``request_id`` is the call they were meant to answer; None when that is not known.
        """

    def output_skipped(self, data: bytes) -> None:
        """Handle a line of output that is not a message, which may have been rejected as well."""

    def request_failed(self, request_id: RequestId | None, error: McpError) -> None:
        """Handle the failure of an outgoing message; the id is None unless it was a request."""

    def channel_lost(self, error: McpError) -> None:
        """Handle the loss of the server's own channel; calls can still be made.

        The transport gave up reconnecting it, or, if the error is `SessionExpired`, the server has
        forgotten the session, and the transport noticed that without a call.
        """

    def connection_lost(self, error: McpError) -> None:
        """Handle the end of the connection: nothing more can be sent or received."""


class Abandoned(enum.Enum):
    """The fate of a request that was cancelled or has timed out."""

    NEVER_SENT = "the server has not seen it"
    STREAM_CLOSED = "its own response stream was closed"
    STILL_OPEN = "there is no stream of its own to close"


class Transport(abc.ABC):
    """A way to exchange messages with one server.

    ``name`` is the kind of transport in logs and hooks. ``description`` names the peer, without
    secrets.
    """

    name: str = "custom"
    carries_headers: bool = False
    """Whether the headers of an `Outgoing` reach the server."""
    records_itself: bool = False
    """Whether it writes its own transcript, so that the session above does not."""
    unreachable: McpError | None = None
    """The reason why the server was not reached the last time; None if it was, or is unknown."""

    @property
    def description(self) -> str:
        """A name of the peer for messages and logs, without secrets."""
        return self.name

    @property
    def has_unread(self) -> bool:
        """Whether sent bytes wait to be read by the server; False where that is unknown."""
        return False

    @property
    def left_unread(self) -> bool:
        """Whether the server has ended without reading all that was sent, where that is known."""
        return False

    @property
    def cookies(self) -> str:
        """The cookies that a message would carry now: they may identify the caller."""
        return ""

    @property
    def reached(self) -> str:
        """The progress towards a remote server: "nothing", "tcp" or "connected"; else empty."""
        return ""

    @property
    def skipped(self) -> Sequence[str]:
        """The last lines of the server's output that were not messages, such as a banner."""
        return ()

    @property
    def process_id(self) -> int | None:
        """The id of the server's process, and of its group; None where it has none."""
        return None

    @property
    def stderr_tail(self) -> str:
        """The end of the server's stderr, where that is known."""
        return ""

    @property
    def denials(self) -> Denials | None:
        """The denials of the sandbox in which the server runs; None without one."""
        return None

    @abc.abstractmethod
    async def open(self, receiver: Receiver) -> None:
        """Establish the connection; messages go to ``receiver`` from then on.

        Raises `ConnectFailed`. When it fails or is cancelled, it must leave nothing open.
        """

    @abc.abstractmethod
    def send(self, outgoing: Outgoing) -> Awaitable[None] | None:
        """Send a message, or raise `UsageError` when it cannot be represented.

        Return None when the message is sent or queued. When that takes time, return an awaitable,
        or write this method as a coroutine. A later failure goes to ``receiver.request_failed``.
        """

    @abc.abstractmethod
    async def close(self) -> None:
        """End the connection and free everything. Idempotent, and bounded in time."""

    def abort(self) -> None:  # noqa: B027 - a transport without it is merely slower to go
        """Free everything at once, without waiting; for when the event loop is going away."""

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        """Release everything held for a request that has timed out or was cancelled."""
        return Abandoned.STILL_OPEN

    @property
    def is_congested(self) -> bool:
        """Whether messages wait in memory because the server does not read."""
        return False

    async def drained(self) -> None:  # noqa: B027 - for those that are never congested
        """Wait until the transport is not congested, or has ended."""

    def hold(self, *, is_held: bool) -> None:  # noqa: B027 - some cannot
        """Stop reading from the server, or go on, where the transport is able to."""

    def cork(self) -> None:  # noqa: B027 - where messages do not share writes
        """Hold messages back until `uncork`, so that they share a write."""

    def uncork(self) -> None:  # noqa: B027
        """Send the messages that were held back."""

    async def listen(  # noqa: B027 - most transports have one channel for all
        self, headers: Mapping[str, str]
    ) -> None:
        """Open the server's own channel, where the transport needs one (handshake era).

        ``headers`` belong to the session, for transports that send headers.
        """


def deliver_text(
    text: bytes | str, receiver: Receiver, request_id: RequestId | None = None
) -> list[Message]:
    """Decode one JSON text and deliver the message, or the batch of messages, that it contains.

    What is not a message is rejected. Give ``request_id`` when the text can only be the answer to
    that request, which then fails with it, as it does with an error that has no id. Returns the
    other messages, which were delivered.
    """
    try:
        value = getattr(receiver, "decode", decode)(text)
    except MalformedMessage as error:
        violation = ProtocolViolation(f"the server sent a message that is {error.reason}")
        answered = request_id if error.request_id is None else error.request_id
        receiver.message_rejected(violation, answered)
        return []
    if isinstance(value, dict):
        if _MEMBERS.isdisjoint(value):
            start = text[:_SHOWN]
            shown = start.decode("utf-8", "replace") if isinstance(start, bytes) else start
            reason = f"the server sent JSON that is not a JSON-RPC message: {shown}"
            violation = ProtocolViolation(reason, ViolationKind.NOT_JSON_RPC)
            receiver.message_rejected(violation, request_id)
            return []
        receiver.message_received(value)
        if request_id is None or value.get("id") is not None or "error" not in value:
            return [value]
        # The server did not know the id, so the error may be about another call.
        receiver.request_failed(request_id, peer_error(value["error"]))
        return []
    # Revision 2025-03-26 lets a server send several messages as one array.
    items = value if isinstance(value, list) and value else [value]
    is_batch = len(items) <= _MAX_BATCH
    delivered = [item for item in items if is_batch and isinstance(item, dict)]
    for message in delivered:
        receiver.message_received(message)
    if len(delivered) < len(items):  # reported once, however many such items there are
        violation = ProtocolViolation("the server sent JSON that is not a message")
        receiver.message_rejected(violation, request_id)
    return delivered
