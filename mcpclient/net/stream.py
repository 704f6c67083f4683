"""A connected byte stream that pushes its bytes; WebSocket and socket transports use it."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Protocol

from .futures import resolve

# Bytes read at a time. asyncio allocates a larger buffer for each read, which costs more than a
# short response itself.
_READ_SIZE = 64 * 1024

# Seconds that an aborted connection may take to end.
_ENDS_WITHIN = 1.0


_buffers = threading.local()


def read_buffer() -> memoryview:
    """Return the buffer that all connections of this thread read into.

    One is enough, and a thousand connections need no more: a thread runs one event loop, and what
    the loop has read for one connection is copied before it reads for the next.
    """
    if not hasattr(_buffers, "view"):
        _buffers.view = memoryview(bytearray(_READ_SIZE))
    view: memoryview = _buffers.view
    return view


class StreamReceiver(Protocol):
    """The receiver of a `Stream`."""

    def data_received(self, data: bytes) -> None:
        """Handle the next bytes."""

    def writing_resumed(self) -> None:
        """Resume writing: the peer reads again, after `Stream.paused` was true."""

    def stream_ended(self, error: Exception | None) -> None:
        """Handle the end, once. ``error`` is None if either side closed the stream."""


class HeldTransport(asyncio.BaseProtocol):
    """A protocol that keeps its transport."""

    _transport: asyncio.Transport | None = None

    @property
    def certificate(self) -> bytes:
        """The certificate of the peer, in DER; empty without TLS."""
        transport = self._transport
        encrypted = None if transport is None else transport.get_extra_info("ssl_object")
        return (encrypted and encrypted.getpeercert(True)) or b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def hold(self, *, is_held: bool) -> None:
        """Stop reading, or go on."""
        if self._transport is not None and not self._transport.is_closing():
            if is_held:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def abort(self) -> None:
        """Close the connection at once, even when its event loop is closed already."""
        transport = self._transport
        if transport is None:
            return
        try:
            transport.abort()
        except RuntimeError:
            # The callback that the closed loop no longer runs would close the socket. Without it
            # the garbage collector finds and reports it. A TLS transport is a layer above the one
            # with the socket, and would call the closed loop once more.
            tls = getattr(transport, "_ssl_protocol", None)
            owner = transport if tls is None else tls._transport
            finish = getattr(owner, "_call_connection_lost", None)
            if finish is not None:
                with suppress(RuntimeError):
                    finish(None)


class Stream(HeldTransport, asyncio.BufferedProtocol):
    """One connection. ``receiver`` may be replaced by another at any time.

    ``paused``: the peer does not keep up, so written bytes are kept in memory. ``ended``: the
    connection is gone.
    """

    def __init__(self, receiver: StreamReceiver) -> None:
        self.receiver = receiver
        self.paused: bool = False
        self.ended: bool = False
        self._buffer = read_buffer()
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def write(self, data: bytes | memoryview) -> None:
        """Write, unless the connection has ended."""
        if self._transport is not None and not self._transport.is_closing():
            # Before Python 3.12 a transport slices what the socket does not take at once; a slice
            # of a view copies nothing.
            self._transport.write(data if len(data) < _READ_SIZE else memoryview(data))

    def close(self) -> None:
        """Close the connection once everything is written."""
        if self._transport is not None:
            self._transport.close()

    async def wait_closed(self, seconds: float) -> None:
        """Wait for the end of the connection, for ``seconds`` at most; then abort it."""
        try:
            await asyncio.wait({self._gone}, timeout=seconds)
        finally:
            self.abort()
        await asyncio.wait({self._gone}, timeout=_ENDS_WITHIN)

    # asyncio.BufferedProtocol

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.receiver.data_received(bytes(self._buffer[:nbytes]))

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        self.receiver.writing_resumed()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        self.close()  # Python 3.9 and 3.10 warn of a TLS transport that was lost, but not closed
        self._transport = None
        resolve(self._gone, None)
        self.receiver.stream_ended(exc)
