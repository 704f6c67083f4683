"""What all transports over one lasting connection share: batching writes, and ending."""

from __future__ import annotations

import abc
import asyncio
from typing import Protocol

from ..errors import ConnectionLost, McpError
from ..protocol.outgoing import Outgoing
from .base import Abandoned, Receiver, Transport
from .line_messages import LineWriter, Output


class Connection(Output, Protocol):
    """What such a transport needs of its connection."""

    def abort(self) -> None:
        """Drop the connection at once."""


class ConnectedTransport(Transport):
    """One connection carries everything. Messages sent in one turn of the event loop share a write.

    While the server does not read, messages wait; one that is abandoned meanwhile is never sent.
    """

    def __init__(self) -> None:
        self._receiver: Receiver | None = None
        self._connection: Connection | None = None
        self._writer: LineWriter | None = None
        self._flusher: asyncio.Handle | None = None
        self._ended: McpError | None = None

    @property
    def receiver(self) -> Receiver:
        """Where messages go."""
        assert self._receiver is not None, "the transport is not open"
        return self._receiver

    async def open(self, receiver: Receiver) -> None:
        """Connect. Raises `ConnectFailed`, and what the kind of connection adds to it."""
        self._receiver = receiver
        self._ended = None
        self._connection = await self._connect()
        self._writer = LineWriter(self._connection, self._schedule, self._frame)

    @abc.abstractmethod
    async def _connect(self) -> Connection:
        """Make the connection."""

    def _frame(self, message: bytes) -> bytes:
        """Return an encoded message as the bytes to write next: a line, where nothing else is."""
        return message + b"\n"

    def send(self, outgoing: Outgoing) -> None:
        """Write a message, or queue it while the server does not read.

        Raises `ConnectionLost` when there is no connection, and why it ended when it has.
        """
        if self._ended is not None:
            raise self._ended.again()
        if self._writer is None:
            raise ConnectionLost(f"there is no connection to {self.description}")
        self._writer.send(outgoing, outgoing.encode())

    def _schedule(self) -> None:
        if self._flusher is None:
            self._flusher = asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flusher = None
        if self._writer is not None and self._ended is None:
            try:  # noqa: SIM105 - for every message, and so without a context manager
                self._writer.flush()
            except ConnectionLost:  # to be reported by `connection_lost`
                pass

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        """Take a request back if it is still queued."""
        if self._writer is not None and self._writer.withdraw(outgoing.request_id):
            return Abandoned.NEVER_SENT
        return Abandoned.STILL_OPEN

    async def close(self) -> None:
        """Write what is queued, if the server reads, and close in an orderly way."""
        self._flush()
        self._end()
        if self._connection is not None:
            await self._disconnect()

    @abc.abstractmethod
    async def _disconnect(self) -> None:
        """Close the connection; bounded in time, idempotent."""

    def abort(self) -> None:
        """Drop the connection at once."""
        self._end()
        if self._connection is not None:
            self._connection.abort()

    def _end(self, error: McpError | None = None) -> None:
        if self._flusher is not None:
            self._flusher.cancel()
            self._flusher = None
        if self._ended is None:
            self._ended = error or ConnectionLost("the connection was closed")

    # What connections report

    def writing_resumed(self) -> None:
        """Write what has been waiting."""
        self._flush()

    def connection_lost(self, error: McpError) -> None:
        """Take the end of the connection."""
        self._end(error)
        self.receiver.connection_lost(error)
