"""The WebSocket protocol as a client speaks it (RFC 6455): the opening handshake, then messages.

The HTTP request and its response are written and read elsewhere. A fault of the server is an event
and a recorded ending, never an exception.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from os import urandom
from typing import NamedTuple, Union

from ..errors import ConnectionLost, UsageError
from . import websocket_frames as frames
from .ndjson import DEFAULT_MAX_MESSAGE_SIZE
from .websocket_frames import DeflateParameters, FrameViolation

_MAX_CLOSE_REASON = frames.MAX_CONTROL_PAYLOAD - 2

# Section 1.3: with it, only a WebSocket server sends the right accept key.
_ACCEPT_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_SUBPROTOCOL = "mcp"


class WebSocketHandshake:
    """One opening handshake, which offers the subprotocol of MCP and permessage-deflate.

    ``headers``: the fields to send with a GET request, beside ``Host`` and the caller's own.
    """

    def __init__(self, *, random_bytes: Callable[[int], bytes] = urandom) -> None:
        key = base64.b64encode(random_bytes(16))
        try:
            digest = hashlib.sha1(key + _ACCEPT_GUID, usedforsecurity=False).digest()
        except ValueError as error:  # an OpenSSL that is configured to refuse SHA-1 for any purpose
            raise UsageError(
                "this Python refuses SHA-1, which the handshake of a WebSocket needs: "
                "use the server's http or https URL"
            ) from error
        self._accept = base64.b64encode(digest).decode()
        self.headers: list[tuple[str, str]] = [
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Key", key.decode()),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Protocol", _SUBPROTOCOL),
            ("Sec-WebSocket-Extensions", frames.OFFER),
        ]

    def check_response(self, headers: Mapping[str, str]) -> DeflateParameters | None:
        """Check the headers of a 101 by RFC 6455 section 4.1; return the agreed compression.

        ``headers`` is looked up by names in lower case. Raises ValueError, with a reason fit for a
        user, where the server broke the protocol. One that names no subprotocol is accepted: the
        RFC lets it decline the offer and forbids only one that was not offered.
        """
        if headers.get("upgrade", "").strip().lower() != "websocket":
            raise ValueError("the server's 101 answer does not name the upgrade 'websocket'")
        connection = headers.get("connection", "").lower().split(",")
        if "upgrade" not in (token.strip() for token in connection):
            raise ValueError("the server's 101 answer has no 'Connection: Upgrade'")
        accept = headers.get("sec-websocket-accept", "").strip()
        if accept != self._accept:
            raise ValueError(
                f"the server's Sec-WebSocket-Accept is {accept!r}, not {self._accept!r}; "
                "it did not read this request as a WebSocket handshake"
            )
        chosen = headers.get("sec-websocket-protocol", _SUBPROTOCOL)
        if chosen != _SUBPROTOCOL:
            raise ValueError(
                f"the server chose the subprotocol {chosen!r}; only {_SUBPROTOCOL!r} was offered"
            )
        answer = headers.get("sec-websocket-extensions", "").strip()
        return frames.parse_extension_answer(answer) if answer else None


class TextMessage(NamedTuple):
    """A whole text message, checked to be UTF-8."""

    data: str


class BinaryMessage(NamedTuple):
    """A whole binary message."""

    data: bytes


class Write(NamedTuple):
    """Bytes that must be written now: the answer to a ping, or a close frame."""

    data: bytes


class Closed(NamedTuple):
    """Both sides have sent a close frame; no event follows.

    ``code`` and ``reason`` come from the server's; ``code`` is 1005 if that frame had none. It
    is up to the server to close the stream; a client waits a moment (RFC 6455 section 7.1.1).
    """

    code: int
    reason: str

    def __str__(self) -> str:
        name = frames.CLOSE_CODES.get(self.code, "private code")
        text = f"the server closed the WebSocket connection with code {self.code} ({name})"
        return f"{text}: {self.reason}" if self.reason else text


class Fault(NamedTuple):
    """The server broke the protocol and gets ``code``; the stream has to be closed."""

    code: int
    reason: str

    def __str__(self) -> str:
        return f"WebSocket error {self.code}: {self.reason}"


Event = Union[TextMessage, BinaryMessage, Write, Closed, Fault]


class WebSocketProtocol:
    """One client connection, with the compression that the handshake agreed on.

    ``max_message_size``: how many bytes a received message may have, on the wire and inflated; a
    larger one is a `Fault` with code 1009 as soon as its size is known. ``random_bytes``: makes the
    mask keys, which a server must not be able to predict (RFC 6455 section 10.3).
    """

    def __init__(
        self,
        *,
        deflate: DeflateParameters | None = None,
        max_message_size: int = DEFAULT_MAX_MESSAGE_SIZE,
        random_bytes: Callable[[int], bytes] = urandom,
    ) -> None:
        self._codec = frames.MessageCodec(deflate) if deflate else None
        self._max_message_size = max_message_size
        self._random_bytes = random_bytes
        self._close_sent = False
        self.ending: Closed | Fault | None = None
        """The end of the connection, or None."""
        # An incomplete frame head or control frame: never more than 127 bytes.
        self._pending = b""
        # The bytes missing from the data frame being read; None between frames.
        self._remaining: int | None = None
        self._frame_is_final: bool
        # The message being read, None between messages.
        self._message: frames.MessageAssembly | None = None

    def send_text(self, text: bytes) -> bytes:
        """Return a text message, given in UTF-8, as bytes to write.

        Raises ConnectionLost once the connection is closing.
        """
        return self._send_message(frames.TEXT, text)

    def send_binary(self, data: bytes) -> bytes:
        """Return a binary message as bytes to write. Raises ConnectionLost as `send_text` does."""
        return self._send_message(frames.BINARY, data)

    def send_ping(self) -> bytes:
        """Return a ping as bytes to write. Raises ConnectionLost as `send_text` does."""
        self._require_open()
        return self._frame(frames.FINAL | frames.PING, b"")

    def send_close(self) -> bytes:
        """Return a close frame to write, or nothing if one was sent or the connection is over.

        From then on nothing can be sent and messages are ignored, until `Closed` or `Fault`.
        """
        if self._close_sent or self.ending:
            return b""
        return self._close_frame(1000, "")

    def feed(self, data: bytes) -> list[Event]:
        """Return the events in received bytes, in order. Never raises for them."""
        events: list[Event] = []
        if self.ending is None:
            try:
                self._read(data, events)
            except FrameViolation as violation:
                self._fail(violation, events)
        return events

    # Sending.

    def _send_message(self, opcode: int, payload: bytes) -> bytes:
        self._require_open()
        if self._codec is not None and self._codec.wants(len(payload)):
            return self._frame(
                frames.FINAL | frames.RESERVED_1 | opcode, self._codec.deflate(payload)
            )
        return self._frame(frames.FINAL | opcode, payload)

    def _require_open(self) -> None:
        if self.ending is not None:
            raise ConnectionLost(str(self.ending))
        if self._close_sent:
            raise ConnectionLost("the WebSocket connection is closing")

    def _frame(self, first_byte: int, payload: bytes) -> bytes:
        return frames.encode_frame(first_byte, payload, self._random_bytes(4))

    def _close_frame(self, code: int, reason: str) -> bytes:
        self._close_sent = True
        return self._frame(frames.FINAL | frames.CLOSE, frames.encode_close(code, reason))

    # Receiving.

    def _fail(self, violation: FrameViolation, events: list[Event]) -> None:
        if not self._close_sent:
            # A message of zlib may be too long for a control frame.
            reason = violation.reason[:_MAX_CLOSE_REASON]
            events.append(Write(self._close_frame(violation.code, reason)))
        self.ending = Fault(violation.code, violation.reason)
        self._message = None
        events.append(self.ending)

    def _read(self, data: bytes, events: list[Event]) -> None:
        if self._pending:
            data = self._pending + data
            self._pending = b""
        view = memoryview(data)
        position, end = 0, len(data)
        while self.ending is None:
            if self._remaining is None:
                head = frames.read_head(data, position)
                if head is None:
                    self._pending = data[position:]
                    return
                first, length, start = head
                if first & 0x0F >= frames.CLOSE:
                    _check_control(first, length)
                    if end - start < length:
                        self._pending = data[position:]
                        return
                    position = start + length
                    self._take_control(first & 0x0F, data[start:position], events)
                    continue
                is_whole = first == frames.FINAL | frames.TEXT and length <= end - start
                is_plain = self._message is None and not self._close_sent
                if is_whole and is_plain and length <= self._max_message_size:
                    position = start + length
                    events.append(TextMessage(frames.decode_text(view[start:position])))
                    continue
                self._begin_frame(first, length)
                self._remaining = length
                position = start
            stop = min(position + self._remaining, end)
            self._take_payload(view[position:stop], events)
            position = stop
            if self._remaining:
                return

    def _begin_frame(self, first: int, length: int) -> None:
        opcode = first & 0x0F
        compressed = first & 0x70 == frames.RESERVED_1
        if opcode > frames.BINARY:
            raise FrameViolation(1002, f"the server sent a frame with the reserved opcode {opcode}")
        if first & 0x70 and not (compressed and self._codec and opcode != frames.CONTINUATION):
            raise FrameViolation(1002, "the server set reserved bits in a frame")
        if (opcode == frames.CONTINUATION) != (self._message is not None):
            raise FrameViolation(
                1002,
                "the server sent a continuation of no message"
                if opcode == frames.CONTINUATION
                else "the server began a message inside another",
            )
        if self._message is None:
            self._message = frames.MessageAssembly(
                is_text=opcode == frames.TEXT,
                limit=self._max_message_size,
                inflater=self._codec if compressed else None,
            )
        if not self._close_sent:
            self._message.expect(length)
        self._frame_is_final = first >= frames.FINAL

    def _take_payload(self, payload: memoryview, events: list[Event]) -> None:
        """Handle the received part of a data frame's payload, possibly nothing."""
        assert self._remaining is not None
        assert self._message is not None
        self._remaining -= len(payload)
        if not self._close_sent:
            self._message.add(payload)
        if self._remaining:
            return
        self._remaining = None
        if self._frame_is_final:
            if not self._close_sent:
                data = self._message.finish()
                events.append(TextMessage(data) if isinstance(data, str) else BinaryMessage(data))
            self._message = None

    def _take_control(self, opcode: int, payload: bytes, events: list[Event]) -> None:
        if opcode == frames.PING and not self._close_sent:
            events.append(Write(self._frame(frames.FINAL | frames.PONG, payload)))
        elif opcode == frames.CLOSE:
            code, reason = frames.parse_close(payload)
            if not self._close_sent:
                # The answer repeats the code (section 5.5.1); the server knows its own reason.
                events.append(Write(self._close_frame(code, "")))
            self.ending = Closed(code, reason)
            self._message = None
            events.append(self.ending)


def _check_control(first: int, length: int) -> None:
    """Check that a control frame is small, whole and without flags (section 5.5)."""
    if first & 0x0F > frames.PONG:
        opcode = first & 0x0F
        raise FrameViolation(1002, f"the server sent a frame with the reserved opcode {opcode}")
    if first & 0x70:
        raise FrameViolation(1002, "the server set reserved bits in a control frame")
    if first < frames.FINAL:
        raise FrameViolation(1002, "the server fragmented a control frame")
    if length > frames.MAX_CONTROL_PAYLOAD:
        raise FrameViolation(1002, "the server sent a control frame of more than 125 bytes")
