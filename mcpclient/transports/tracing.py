"""A transport that writes down what passes through it: the wire trace.

The trace is JSON lines, one record per message: ``time`` (seconds since the connection was opened),
``direction`` (``sent`` or ``received``), ``channel`` (the transport's name), and ``message``, or
``error`` for what was no message. Secrets are replaced, see `protocol.redaction`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Mapping
from typing import Any, Callable

from ..errors import McpError, ProtocolViolation
from ..jsonrpc.messages import Message, RequestId
from ..protocol.outgoing import Outgoing
from ..protocol.redaction import redact_headers, redact_message
from .base import Abandoned, Receiver, Transport

__all__ = ["TraceWriter", "TracingTransport"]

logger = logging.getLogger("mcpclient.transport")

TraceWriter = Callable[[str], Any]
"""Takes one record as a line of JSON, with its line end."""


class TracingTransport(Transport):
    """Passes everything on, and writes a record of it. Also the receiver in between."""

    def __init__(self, inner: Transport, write: TraceWriter) -> None:
        self._inner = inner
        self._write = write
        self._receiver: Receiver | None = None
        self._opened = 0.0
        self.name = inner.name
        self.carries_headers = inner.carries_headers

    @property
    def description(self) -> str:
        """What the traced transport connects to."""
        return self._inner.description

    async def open(self, receiver: Receiver) -> None:
        """Open the traced transport."""
        self._receiver = receiver
        self._opened = asyncio.get_running_loop().time()
        await self._inner.open(self)

    def send(self, outgoing: Outgoing) -> Awaitable[None] | None:
        """Write down and send a message."""
        facts: dict[str, Any] = {}
        headers = {**outgoing.headers, **outgoing.caller_headers}
        if headers and self.carries_headers:
            facts["headers"] = dict(redact_headers(headers.items()))
        self._record("sent", message=redact_message(outgoing.message), **facts)
        return self._inner.send(outgoing)

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        """Abandon a request."""
        outcome = self._inner.abandon(outgoing)
        self._record("sent", abandoned=outgoing.request_id, outcome=outcome.value)
        return outcome

    async def listen(self, headers: Mapping[str, str]) -> None:
        """Open the server's own channel."""
        self._record("sent", opened="the server's own channel")
        await self._inner.listen(headers)

    async def close(self) -> None:
        """Close the traced transport."""
        self._record("sent", closed=self.description)
        await self._inner.close()

    def abort(self) -> None:
        """Abort the traced transport."""
        self._inner.abort()

    # transports.base.Receiver

    def message_received(self, message: Message) -> None:
        """Write down and pass on a message."""
        self._record("received", message=redact_message(message))
        self._above.message_received(message)

    def message_rejected(self, error: ProtocolViolation, request_id: RequestId | None) -> None:
        """Write down and pass on what was no message."""
        self._record("received", error=str(error), answers=request_id)
        self._above.message_rejected(error, request_id)

    def request_failed(self, request_id: RequestId | None, error: McpError) -> None:
        """Write down and pass on a failure."""
        self._record("received", error=str(error), answers=request_id)
        self._above.request_failed(request_id, error)

    def connection_lost(self, error: McpError) -> None:
        """Write down and pass on the end."""
        self._record("received", error=str(error))
        self._above.connection_lost(error)

    @property
    def _above(self) -> Receiver:
        assert self._receiver is not None, "the transport is not open"
        return self._receiver

    def _record(self, direction: str, **facts: Any) -> None:
        time = asyncio.get_running_loop().time() - self._opened
        record = {"time": round(time, 6), "direction": direction, "channel": self.name, **facts}
        try:
            self._write(json.dumps(record, ensure_ascii=False) + "\n")
        except Exception:  # a full disk must not take the connection down
            logger.exception("the trace could not be written")
