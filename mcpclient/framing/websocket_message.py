"""One WebSocket message put together from the payloads of its frames (RFC 6455 section 5.4).

A piece is inflated, checked and stored as it arrives, so a bad message is known at its first bad
byte, however small or many its pieces are, and memory stays near the size of the message.
"""

from __future__ import annotations

import codecs
import io
import zlib
from typing import Union

from .websocket_deflate import MessageInflater
from .websocket_frames import FrameViolation


class MessageAssembly:
    """Collects a text or binary message of at most ``limit`` bytes, on the wire and inflated.

    ``inflater`` is the connection's if the message is compressed, else None. Every method raises
    `FrameViolation`: 1009 for a message over the limit, 1007 for text that is not UTF-8 and for
    compressed data that cannot be read.
    """

    def __init__(self, *, is_text: bool, limit: int, inflater: MessageInflater | None) -> None:
        self._sink: _Sink = _TextSink() if is_text else _BinarySink()
        self._limit = limit
        self._inflater = inflater
        self._expected = 0
        self._inflated = 0

    def expect(self, length: int) -> None:
        """Learn that a frame of the message begins, with ``length`` bytes of payload."""
        self._expected += length
        self._check_size(self._expected)

    def add(self, payload: memoryview) -> None:
        """Take a piece of payload, which `expect` has announced."""
        if self._inflater is None:
            self._sink.write(payload)
            return
        try:
            for piece in self._inflater.inflate(payload):
                self._add_inflated(piece)
        except zlib.error as error:
            raise _unreadable(error) from None

    def finish(self) -> str | bytes:
        """Learn that the message is complete, and return its text or its bytes."""
        if self._inflater is not None:
            try:
                for piece in self._inflater.finish():
                    self._add_inflated(piece)
            except zlib.error as error:
                raise _unreadable(error) from None
        return self._sink.finish()

    def _add_inflated(self, piece: bytes) -> None:
        self._inflated += len(piece)
        self._check_size(self._inflated)
        self._sink.write(piece)

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise FrameViolation(1009, f"the server sent a message larger than {self._limit} bytes")


class _TextSink:
    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text = io.StringIO()

    def write(self, piece: bytes | memoryview) -> None:
        self._text.write(self._decode(piece, final=False))

    def finish(self) -> str:
        self._decode(b"", final=True)
        return self._text.getvalue()

    def _decode(self, piece: bytes | memoryview, *, final: bool) -> str:
        try:
            return self._decoder.decode(piece, final)
        except UnicodeDecodeError as error:
            raise _not_utf8(error) from None


class _BinarySink:
    def __init__(self) -> None:
        self._data = io.BytesIO()

    def write(self, piece: bytes | memoryview) -> None:
        self._data.write(piece)

    def finish(self) -> bytes:
        return self._data.getvalue()


_Sink = Union[_TextSink, _BinarySink]


def decode_text(payload: memoryview) -> str:
    """Decode a text message that came in one piece. Raises `FrameViolation` with code 1007."""
    try:
        return str(payload, "utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(error) from None


def _not_utf8(error: UnicodeDecodeError) -> FrameViolation:
    return FrameViolation(1007, f"the server sent text that is not UTF-8: {error.reason}")


def _unreadable(error: zlib.error) -> FrameViolation:
    return FrameViolation(1007, f"the server sent compressed data that cannot be read: {error}")
