"""A receiver that records everything."""

from __future__ import annotations

from mcpclient.errors import McpError, ProtocolViolation
from mcpclient.jsonrpc.messages import Message, RequestId


class RecordingReceiver:
    """Keeps messages, and faults with the request each was blamed on."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.rejected: list[tuple[ProtocolViolation, RequestId | None]] = []
        self.failed: list[tuple[RequestId | None, McpError]] = []
        self.deaf: list[McpError] = []
        self.lost: list[McpError] = []
        self.skipped: list[bytes] = []

    def message_received(self, message: Message) -> None:
        self.messages.append(message)

    def message_rejected(self, error: ProtocolViolation, request_id: RequestId | None) -> None:
        self.rejected.append((error, request_id))

    def output_skipped(self, data: bytes) -> None:
        self.skipped.append(data)

    def request_failed(self, request_id: RequestId | None, error: McpError) -> None:
        self.failed.append((request_id, error))

    def channel_lost(self, error: McpError) -> None:
        self.deaf.append(error)

    def connection_lost(self, error: McpError) -> None:
        self.lost.append(error)
