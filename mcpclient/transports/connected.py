"""Transports over one lasting connection: lines in and out, batched writes, and the end."""

from __future__ import annotations

import abc
import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ..errors import ConnectionLost, McpError, MessageTooLarge
from ..framing.escaping import escape_line
from ..framing.logs import logger_for
from ..framing.ndjson import Line, LineFramer, OversizedLine
from ..jsonrpc.codec import MalformedMessage, VerbatimObject, decode, encode_line, is_large
from ..jsonrpc.messages import Message, RequestId
from ..net.futures import NextChange
from ..protocol.outgoing import Outgoing
from .base import Abandoned, Receiver, Transport, deliver_text

if TYPE_CHECKING:
    from ..net.process.server_process import ServerProcess
    from ..net.stream import Stream


# The most messages queued for a server that does not read; after that only requests are queued.
_MAX_WAITING = 10_000
_MAX_WAITING_BYTES = 64 * 1024 * 1024


class ConnectedTransport(Transport):
    """One connection carries everything. Messages sent in one turn of the event loop share a write.

    While the server does not read, messages wait; one that is abandoned meanwhile is never sent.
    ``receiver``: the receiver of messages, once it is open.
    """

    receiver: Receiver

    def __init__(self) -> None:
        self._connection: Stream | ServerProcess | None = None
        self._waiting: list[tuple[RequestId | None, bytes]] = []
        self._waiting_size = 0  # in bytes
        self._flusher: asyncio.Handle | None = None
        self._is_corked = False
        self._ended: McpError | None = None
        self._drained = NextChange()

    async def open(self, receiver: Receiver) -> None:
        """Connect. Raises `ConnectFailed`, and errors of the kind of connection."""
        self.receiver = receiver
        self._ended = None
        self._waiting, self._waiting_size = [], 0
        self._connection = await self._connect()

    @abc.abstractmethod
    async def _connect(self) -> Stream | ServerProcess:
        """Make the connection."""

    def _frame(self, message: bytes) -> bytes:
        """Return the bytes of a message, by default a line; called right before it is written."""
        return message + b"\n"

    def _write_in_pieces(self, message: Message) -> bool:
        """Write a large message without a copy of it, if that can be done here and now."""
        return False

    def send(self, outgoing: Outgoing) -> None:
        """Write a message at once if it is the first of this turn, or queue it."""
        is_passed_on = type(outgoing.message.get("params")) is VerbatimObject
        if is_passed_on and self._write_in_pieces(outgoing.message):
            return
        if self._ended is not None:
            raise self._ended.again()
        connection = self._connection
        if connection is None:
            raise ConnectionLost(f"there is no connection to {self.description}")
        message = outgoing.encode()
        if self._flusher is not None or self._waiting or connection.paused or self._is_corked:
            is_full = len(self._waiting) >= _MAX_WAITING or self._waiting_size >= _MAX_WAITING_BYTES
            # A response to a server that never reads would stay queued for ever. A request is
            # always queued, since its timeout removes it.
            if is_full and outgoing.request_id is None and connection.paused:
                raise ConnectionLost("the server does not read its input")
            self._waiting.append((outgoing.request_id, message))
            self._waiting_size += len(message)
        else:
            connection.write(self._frame(message))
        if self._flusher is None and not self._is_corked:
            self._flusher = asyncio.get_running_loop().call_soon(self._flush)

    def cork(self) -> None:
        self._is_corked = True

    def uncork(self) -> None:
        self._is_corked = False
        self._flush()

    @property
    def is_congested(self) -> bool:
        return self._ended is None and self._connection is not None and self._connection.paused

    async def drained(self) -> None:
        while self.is_congested:
            await self._drained.wait()

    def hold(self, *, is_held: bool) -> None:
        if self._connection is not None:
            self._connection.hold(is_held=is_held)

    def _flush(self) -> None:
        if self._flusher is not None:
            self._flusher.cancel()
            self._flusher = None
        connection = self._connection
        if not self._waiting or self._ended is not None or connection is None or connection.paused:
            return
        waiting, self._waiting, self._waiting_size = self._waiting, [], 0
        with suppress(ConnectionLost):  # to be reported by `connection_lost`
            connection.write(b"".join([self._frame(message) for _, message in waiting]))

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        for position, (request_id, message) in enumerate(self._waiting):
            if request_id is not None and request_id == outgoing.request_id:
                del self._waiting[position]
                self._waiting_size -= len(message)
                return Abandoned.NEVER_SENT
        return Abandoned.STILL_OPEN

    async def close(self) -> None:
        self._flush()
        self._end()
        if self._connection is not None:
            await self._disconnect()

    @abc.abstractmethod
    async def _disconnect(self) -> None:
        """Close the connection; bounded in time, idempotent."""

    def abort(self) -> None:
        self._end()
        if self._connection is not None:
            self._connection.abort()

    def _end(self, error: McpError | None = None) -> None:
        if self._flusher is not None:
            self._flusher.cancel()
            self._flusher = None
        if self._ended is None:
            self._ended = error or ConnectionLost("the connection was closed")
        self._drained.notify()

    # Events of the connection

    def writing_resumed(self) -> None:
        self._flush()
        self._drained.notify()

    def connection_lost(self, error: McpError) -> None:
        """Report the end of the connection, unless that is known, or it was closed from here."""
        if self._ended is None:
            self._end(error)
            self.receiver.connection_lost(error)


_logger = logger_for("mcpclient.transport")

# The most lines kept that are not messages, for errors.
_MAX_SKIPPED = 5
_SHOWN = 200
# The number of the first such lines that are logged.
_NAMED = 3

# The longest unfinished line before the connection counts as flooded: so many times the limit, or,
# once the call that it answers is known and has failed, so many bytes.
_FLOOD = 4
_MAX_FLOOD = 1024 * 1024 * 1024

_JSON_STARTS = (b"{", b"[", b"\xef\xbb\xbf")


class LineTransport(ConnectedTransport):
    """A connection that carries each message as a line.

    The first three lines that are not messages, such as a banner printed to stdout, are logged.
    ``peer`` names the server in warnings (default: the description); ``known_lines`` cause none. A
    line over the limit that does not end ends the connection, since no response can follow.
    """

    def __init__(
        self, max_message_size: int, peer: str = "", known_lines: Sequence[str] = ()
    ) -> None:
        super().__init__()
        self._max_message_size = max_message_size
        self._peer = peer
        self._known_lines = known_lines
        self._skipped: deque[str] = deque(maxlen=_MAX_SKIPPED)

    async def open(self, receiver: Receiver) -> None:
        self._peer = self._peer or self.description
        self._noise = 0
        self._framer = LineFramer(self._max_message_size)
        self._is_overlong = False  # the line that has no end yet
        self._blamed: RequestId | None = None  # the call that it answers, which has failed
        self._skipped.clear()
        await super().open(receiver)

    @property
    def skipped(self) -> Sequence[str]:
        begun = self._framer.start.strip() if self._framer.unfinished else b""
        if not begun or begun.startswith(_JSON_STARTS):
            return tuple(self._skipped)
        return (*self._skipped, escape_line(begun[:_SHOWN].decode("utf-8", "replace")))

    def _write_in_pieces(self, message: Message) -> bool:
        connection = self._connection
        is_busy = self._flusher is not None or self._waiting or self._ended is not None
        if is_busy or connection is None or connection.paused or not is_large(message["params"]):
            return False
        for piece in encode_line(message):
            connection.write(piece)
        return True

    def data_received(self, data: bytes) -> None:
        for line in self._framer.feed(data):
            self._handle_line(line)
        if self._framer.unfinished > self._max_message_size:
            self._watch_flood()

    def _watch_flood(self) -> None:
        error = MessageTooLarge(self._max_message_size)
        if not self._is_overlong:
            from ..jsonrpc.response_id import find_response_id

            self._is_overlong = True
            # Its end may never come, so its call does not wait for it.
            self._blamed = find_response_id(self._framer.start, b"")
            if self._blamed is not None:
                self.receiver.message_rejected(error, self._blamed)
        most = self._max_message_size * _FLOOD if self._blamed is None else _MAX_FLOOD
        if self._framer.unfinished > most:
            self.connection_lost(error)
            # Later, since the connection is still delivering its bytes.
            asyncio.get_running_loop().call_soon(self.abort)

    def _end_lines(self) -> None:
        """End the stream. A last line without a line feed counts, unless it is half a message."""
        for line in self._framer.feed_eof():
            if isinstance(line, bytes) and line.lstrip().startswith(_JSON_STARTS):
                try:
                    decode(line)
                except MalformedMessage:
                    _logger.warning("%s: the end of the stream cut off a message", self._peer)
                    self.receiver.output_skipped(line)
                    continue
            self._handle_line(line)

    def _handle_line(self, line: Line) -> None:
        if isinstance(line, OversizedLine):
            if self._blamed is None:
                from ..jsonrpc.response_id import find_response_id

                request_id = find_response_id(line.start, line.end)
                self.receiver.message_rejected(MessageTooLarge(self._max_message_size), request_id)
            self._is_overlong, self._blamed = False, None
        elif line.startswith(b"{") or line.lstrip()[:3].startswith(_JSON_STARTS):
            if not deliver_text(line, self.receiver):
                self._skip(line)
        elif line.strip():
            shown = self._skip(line)
            if shown not in self._known_lines and self._noise < _NAMED:
                self._noise += 1
                last = "; more are not reported" if self._noise == _NAMED else ""
                text = "%s: skipped a line that is not a JSON-RPC message: %r%s"
                _logger.warning(text, self._peer, shown, last)

    def _skip(self, line: bytes) -> str:
        shown = escape_line(line[:_SHOWN].rstrip(b"\r").decode("utf-8", "replace"))
        self._skipped.append(shown)
        self.receiver.output_skipped(line)
        return shown
