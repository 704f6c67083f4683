"""The protocol after the handshake: messages, control frames, faults and the two ways to end."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.framing.websocket import (
    BinaryMessage,
    Closed,
    Event,
    Fault,
    TextMessage,
    WebSocketProtocol,
    Write,
)
from mcpclient.framing.websocket_frames import DeflateParameters
from tests.support.properties import examples

FINAL, RSV1, RSV2, RSV3 = 0x80, 0x40, 0x20, 0x10
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA


def frame(first: int, payload: bytes = b"") -> bytes:
    """A server's frame."""
    length = len(payload)
    if length < 126:
        return bytes((first, length)) + payload
    if length < 0x10000:
        return bytes((first, 126)) + length.to_bytes(2, "big") + payload
    return bytes((first, 127)) + length.to_bytes(8, "big") + payload


def close(code: int, reason: bytes = b"") -> bytes:
    return frame(FINAL | CLOSE, code.to_bytes(2, "big") + reason)


def unmask(data: bytes) -> list[tuple[int, bytes]]:
    """First byte and payload of each of the client's frames, read by the letter of the RFC."""
    frames = []
    while data:
        first, second, data = data[0], data[1], data[2:]
        assert second & 0x80, "a client masks every frame"
        length = second & 0x7F
        if length > 125:
            size = 2 if length == 126 else 8
            length, data = int.from_bytes(data[:size], "big"), data[size:]
        key, masked, data = data[:4], data[4 : 4 + length], data[4 + length :]
        frames.append((first, bytes(octet ^ key[index % 4] for index, octet in enumerate(masked))))
    return frames


def unmasked(events: Iterable[Event]) -> list[Event | tuple[int, bytes]]:
    """The events, with the frames to be written unmasked."""
    shown: list[Event | tuple[int, bytes]] = []
    for event in events:
        if isinstance(event, Write):
            shown += unmask(event.data)
        else:
            shown.append(event)
    return shown


def fault_of(events: list[Event]) -> Fault:
    """The fault that ends the events, once its code is sent."""
    *_, written, fault = unmasked(events)
    assert isinstance(fault, Fault)
    assert written == (FINAL | CLOSE, fault.code.to_bytes(2, "big") + fault.reason.encode())
    assert len(fault.reason.encode()) <= 123
    return fault


def test_the_unmasked_frames_of_the_rfc() -> None:
    """F-WIRE-6: section 5.7."""
    protocol = WebSocketProtocol()
    assert protocol.feed(bytes.fromhex("810548656c6c6f")) == [TextMessage("Hello")]
    assert protocol.feed(bytes.fromhex("010348656c80026c6f")) == [TextMessage("Hello")]
    ping = unmasked(protocol.feed(bytes.fromhex("890548656c6c6f")))
    assert ping == [(FINAL | PONG, b"Hello")]
    for size, head in ((256, "827e0100"), (65536, "827f0000000000010000")):
        assert protocol.feed(bytes.fromhex(head) + bytes(size)) == [BinaryMessage(bytes(size))]


@examples(40)
@given(text=st.text(max_size=300), data=st.binary(max_size=300))
def test_messages_go_out_masked_and_whole(text: str, data: bytes) -> None:
    """F-WIRE-6"""
    protocol = WebSocketProtocol()
    written = protocol.send_text(text.encode()) + protocol.send_binary(data)
    assert unmask(written) == [(FINAL | TEXT, text.encode()), (FINAL | BINARY, data)]


def test_every_frame_has_a_fresh_mask() -> None:
    """F-WIRE-6: from the given source, four bytes for each frame."""
    keys = iter(
        [b"\x01\x02\x03\x04", b"\x05\x06\x07\x08", b"\x09\x0a\x0b\x0c", b"\x0d\x0e\x0f\x10"]
    )
    asked: list[int] = []

    def random_bytes(size: int) -> bytes:
        asked.append(size)
        return next(keys)

    protocol = WebSocketProtocol(random_bytes=random_bytes)
    assert protocol.send_text(b"")[-4:] == b"\x01\x02\x03\x04"
    assert protocol.send_ping()[-4:] == b"\x05\x06\x07\x08"
    (written,) = protocol.feed(frame(FINAL | PING))
    assert isinstance(written, Write)
    assert written.data[-4:] == b"\x09\x0a\x0b\x0c"
    assert protocol.send_close()[2:6] == b"\x0d\x0e\x0f\x10"
    assert asked == [4, 4, 4, 4]


def deflate(payload: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return (compressor.compress(payload) + compressor.flush(zlib.Z_SYNC_FLUSH))[:-4]


@pytest.mark.quick_rows(28)
@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (b"\x81\x85\x00\x00\x00\x00Hello", "masked"),
        (b"\x81\x7e\x00\x05Hello", "longer than needed"),
        (b"\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff", "top bit"),
        (frame(FINAL | RSV1 | TEXT, b"x"), "reserved bits"),
        (frame(FINAL | RSV2 | TEXT, b"x"), "reserved bits"),
        (frame(FINAL | RSV3 | BINARY), "reserved bits"),
        (frame(FINAL | RSV1 | PING), "reserved bits in a control frame"),
        (frame(FINAL | RSV2 | CLOSE), "reserved bits in a control frame"),
        *((frame(FINAL | opcode), f"opcode {opcode}") for opcode in (3, 4, 5, 6, 7)),
        *((frame(FINAL | opcode), f"opcode {opcode}") for opcode in (11, 12, 13, 14, 15)),
        (frame(PING), "fragmented a control frame"),
        (frame(FINAL | PONG, bytes(126)), "more than 125 bytes"),
        (frame(FINAL | CONTINUATION, b"x"), "continuation of no message"),
        (frame(TEXT, b"x") + frame(FINAL | TEXT, b"y"), "inside another"),
        (frame(BINARY) + frame(BINARY), "inside another"),
        (close(1005), "illegal code 1005"),
        (close(1006), "illegal code 1006"),
        (close(1015), "illegal code 1015"),
        (close(999), "illegal code 999"),
        (frame(FINAL | CLOSE, b"\x03"), "half a code"),
    ],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_what_breaks_the_framing_is_a_protocol_error(stream: bytes, reason: str, size: int) -> None:
    """F-WIRE-6, F-WS-2: messages before it are delivered, bytes behind it are ignored."""
    protocol = WebSocketProtocol()
    stream = frame(FINAL | BINARY, b"fine") + stream
    events: list[Event] = []
    for start in range(0, len(stream), size):
        events += protocol.feed(stream[start : start + size])
    assert events[0] == BinaryMessage(b"fine")
    fault = fault_of(events)
    assert fault.code == 1002
    assert reason in fault.reason
    assert protocol.ending == fault
    assert protocol.feed(frame(FINAL | TEXT, b"late")) == []


def test_what_the_server_is_told_of_a_fault_fits_a_control_frame() -> None:
    """F-WIRE-6: here the words of zlib make 124 bytes; the event has all of them."""
    stream = b"\xa4'8*\x95\xc7CM\xaa\\\xd4\xe8\xa2\xc6\xc7\xca\x86"
    protocol = WebSocketProtocol(deflate=DeflateParameters())
    written, fault = unmasked(protocol.feed(frame(FINAL | 0x40 | TEXT, stream)))
    assert isinstance(fault, Fault) and fault.reason.endswith("missing end-of-block")
    assert written == (FINAL | CLOSE, b"\x03\xef" + fault.reason.encode()[:123])


def test_the_server_closes_without_a_code() -> None:
    """F-WS-2: the answer has none either."""
    events = WebSocketProtocol().feed(frame(FINAL | CLOSE))
    assert unmasked(events) == [(FINAL | CLOSE, b""), Closed(1005, "")]


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (
            Closed(1000, ""),
            "the server closed the WebSocket connection with code 1000 (normal closure)",
        ),
        (
            Closed(4000, "try later"),
            "the server closed the WebSocket connection with code 4000 (private code): try later",
        ),
        (
            Fault(1002, "the server masked a frame"),
            "WebSocket error 1002: the server masked a frame",
        ),
    ],
)
def test_an_ending_says_in_words_what_happened(ending: Closed | Fault, text: str) -> None:
    """F-WS-2, F-LIFE-7"""
    assert str(ending) == text
