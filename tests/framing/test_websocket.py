"""The protocol after the handshake: messages, control frames, faults and the two ways to end."""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.errors import ConnectionLost, UsageError
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
MEBIBYTE = 1024 * 1024


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
    """The events, with what is to be written unmasked."""
    shown: list[Event | tuple[int, bytes]] = []
    for event in events:
        if isinstance(event, Write):
            shown += unmask(event.data)
        else:
            shown.append(event)
    return shown


def fault_of(events: list[Event]) -> Fault:
    """The fault that ends the events, once the server is told its code."""
    *_, written, fault = unmasked(events)
    assert isinstance(fault, Fault)
    assert written == (FINAL | CLOSE, fault.code.to_bytes(2, "big") + fault.reason.encode())
    assert len(fault.reason.encode()) <= 123
    return fault


# Messages.


def test_the_unmasked_frames_of_the_rfc() -> None:
    """F-WIRE-6: section 5.7."""
    protocol = WebSocketProtocol()
    assert protocol.feed(bytes.fromhex("810548656c6c6f")) == [TextMessage("Hello")]
    assert protocol.feed(bytes.fromhex("010348656c80026c6f")) == [TextMessage("Hello")]
    ping = unmasked(protocol.feed(bytes.fromhex("890548656c6c6f")))
    assert ping == [(FINAL | PONG, b"Hello")]
    for size, head in ((256, "827e0100"), (65536, "827f0000000000010000")):
        assert protocol.feed(bytes.fromhex(head) + bytes(size)) == [BinaryMessage(bytes(size))]


STREAM = b"".join(
    (
        frame(FINAL | TEXT, "naïve".encode()),
        frame(FINAL | TEXT),
        frame(FINAL | BINARY),
        frame(TEXT, b"\xf0\x9f"),
        frame(FINAL | PING, b"between"),
        frame(CONTINUATION),
        frame(CONTINUATION, b"\x98"),
        frame(FINAL | PONG, bytes(125)),
        frame(FINAL | CONTINUATION, b"\x80!"),
        frame(BINARY),
        frame(FINAL | CONTINUATION, b"\xff" * 200),
        frame(FINAL | BINARY, bytes(70_000)),
        close(1001, b"bye"),
    )
)
MEANING = [
    TextMessage("naïve"),
    TextMessage(""),
    BinaryMessage(b""),
    (FINAL | PONG, b"between"),
    TextMessage("😀!"),
    BinaryMessage(b"\xff" * 200),
    BinaryMessage(bytes(70_000)),
    (FINAL | CLOSE, b"\x03\xe9"),
    Closed(1001, "bye", clean=True),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000, len(STREAM)])
def test_a_stream_means_the_same_however_it_is_cut(size: int) -> None:
    """F-WIRE-6"""
    protocol = WebSocketProtocol()
    events: list[Event] = []
    for start in range(0, len(STREAM), size):
        events += protocol.feed(STREAM[start : start + size])
    assert unmasked(events) == MEANING
    assert [type(event) for event in unmasked(events)] == [type(event) for event in MEANING]
    assert protocol.ending == MEANING[-1]


@examples(40)
@given(text=st.text(max_size=300), data=st.binary(max_size=300))
def test_messages_go_out_masked_and_whole(text: str, data: bytes) -> None:
    """F-WIRE-6"""
    protocol = WebSocketProtocol()
    written = protocol.send_text(text) + protocol.send_text(text.encode())
    written += protocol.send_binary(data)
    text_frame = (FINAL | TEXT, text.encode())
    assert unmask(written) == [text_frame, text_frame, (FINAL | BINARY, data)]


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
    assert protocol.send_text("")[-4:] == b"\x01\x02\x03\x04"
    assert protocol.send_ping()[-4:] == b"\x05\x06\x07\x08"
    (written,) = protocol.feed(frame(FINAL | PING))
    assert isinstance(written, Write)
    assert written.data[-4:] == b"\x09\x0a\x0b\x0c"
    assert protocol.send_close()[2:6] == b"\x0d\x0e\x0f\x10"
    assert asked == [4, 4, 4, 4]


def test_masks_are_unpredictable_by_default() -> None:
    """F-WIRE-6"""
    protocol = WebSocketProtocol()
    assert len({protocol.send_text("") for _ in range(20)}) == 20


def test_text_that_utf8_cannot_carry_is_refused_before_anything_is_sent() -> None:
    """F-WIRE-6"""
    with pytest.raises(UsageError, match="surrogate"):
        WebSocketProtocol().send_text("\ud800")


# Compression.


def deflate(payload: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return (compressor.compress(payload) + compressor.flush(zlib.Z_SYNC_FLUSH))[:-4]


@pytest.mark.parametrize("size", [1, 5, 10_000])
def test_compressed_and_plain_messages_may_alternate(size: int) -> None:
    """F-WIRE-6: also in fragments, of which only the first says that it is compressed."""
    payload = deflate(b"compressed " * 5000)
    stream = b"".join(
        (
            frame(FINAL | RSV1 | BINARY, deflate(b"one")),
            frame(FINAL | TEXT, b"two"),
            frame(RSV1 | TEXT, payload[:10]),
            frame(CONTINUATION),
            frame(FINAL | PING),
            frame(FINAL | CONTINUATION, payload[10:]),
            frame(FINAL | RSV1 | TEXT, b"\0"),
        )
    )
    protocol = WebSocketProtocol(deflate=DeflateParameters())
    events: list[Event] = []
    for start in range(0, len(stream), size):
        events += protocol.feed(stream[start : start + size])
    assert unmasked(events) == [
        BinaryMessage(b"one"),
        TextMessage("two"),
        (FINAL | PONG, b""),
        TextMessage("compressed " * 5000),
        TextMessage(""),
    ]


def test_large_messages_go_out_compressed() -> None:
    """F-WIRE-6"""
    protocol = WebSocketProtocol(deflate=DeflateParameters())
    decompressor = zlib.decompressobj(wbits=-15)
    text = "a long message " * 1000
    for _ in range(2):
        ((first, payload),) = unmask(protocol.send_text(text))
        assert first == FINAL | RSV1 | TEXT
        assert len(payload) < 200
        assert decompressor.decompress(payload + b"\x00\x00\xff\xff") == text.encode()
    assert unmask(protocol.send_text("short")) == [(FINAL | TEXT, b"short")]


def test_bad_compressed_data_is_a_fault() -> None:
    """F-WIRE-6"""
    protocol = WebSocketProtocol(deflate=DeflateParameters())
    fault = fault_of(protocol.feed(frame(FINAL | RSV1 | TEXT, b"\xff" * 20)))
    assert fault.code == 1007
    assert "cannot be read" in fault.reason


# Faults.


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
    assert protocol.feed_eof() == []


@pytest.mark.parametrize(
    "first", [FINAL | RSV2 | TEXT, FINAL | RSV1 | RSV2 | TEXT, FINAL | RSV1 | PONG]
)
def test_compression_allows_no_other_reserved_bit(first: int) -> None:
    """F-WIRE-6"""
    protocol = WebSocketProtocol(deflate=DeflateParameters())
    assert fault_of(protocol.feed(frame(first))).code == 1002


def test_a_continuation_may_not_say_that_it_is_compressed() -> None:
    """F-WIRE-6: RFC 7692 section 6.1."""
    protocol = WebSocketProtocol(deflate=DeflateParameters())
    stream = frame(RSV1 | TEXT, b"\0") + frame(FINAL | RSV1 | CONTINUATION, b"\0")
    assert fault_of(protocol.feed(stream)).code == 1002


@pytest.mark.parametrize(
    "stream",
    [
        frame(FINAL | TEXT, b"\xff"),
        frame(FINAL | TEXT, b"cut \xf0\x9f"),
        frame(TEXT, b"cut \xf0\x9f") + frame(FINAL | CONTINUATION),
        # The message goes on, the fault does not wait for it.
        frame(TEXT, b"\xf4") + frame(CONTINUATION, b"\x90"),
        frame(FINAL | TEXT, bytes(500) + b"\xff" + bytes(500))[:600],
        close(1000, b"\xff"),
    ],
)
def test_text_that_is_not_utf8_is_a_fault_at_once(stream: bytes) -> None:
    """F-WIRE-6"""
    fault = fault_of(WebSocketProtocol().feed(stream))
    assert fault.code == 1007
    assert "not UTF-8" in fault.reason


@pytest.mark.parametrize(
    "stream",
    [
        frame(FINAL | TEXT, bytes(101)),
        frame(FINAL | TEXT, bytes(101))[:2],
        b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff",
        frame(BINARY, bytes(60)) + frame(CONTINUATION, bytes(41))[:2],
        frame(FINAL | RSV1 | TEXT, deflate(bytes(101))),
    ],
)
def test_a_message_over_the_limit_is_a_fault_as_soon_as_its_size_is_known(stream: bytes) -> None:
    """F-WIRE-6"""
    protocol = WebSocketProtocol(deflate=DeflateParameters(), max_message_size=100)
    assert protocol.feed(frame(FINAL | TEXT, b"x" * 100)) == [TextMessage("x" * 100)]
    assert protocol.feed(frame(FINAL | RSV1 | BINARY, deflate(bytes(100)))) == [
        BinaryMessage(bytes(100))
    ]
    fault = fault_of(protocol.feed(stream))
    assert fault == Fault(1009, "the server sent a message larger than 100 bytes")


@pytest.mark.parametrize("first", [FINAL | TEXT, FINAL | BINARY])
def test_a_large_message_is_held_no_more_than_three_times(first: int) -> None:
    """F-WIRE-6: in pieces of the size a socket gives."""
    size = 8 * MEBIBYTE
    stream = frame(first, b"x" * size)
    protocol = WebSocketProtocol()
    tracemalloc.start()
    try:
        for start in range(0, len(stream), 65536):
            events = protocol.feed(stream[start : start + 65536])
        received_peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(events) == 1
    assert received_peak < 3 * size
    tracemalloc.start()
    try:
        assert len(protocol.send_binary(stream)) == len(stream) + 14
        sent_peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sent_peak < 2 * size


@examples(60)
@given(chunks=st.lists(st.binary(max_size=40), max_size=10), has_deflate=st.booleans())
def test_no_bytes_make_it_raise_or_speak_after_the_end(
    chunks: list[bytes], has_deflate: bool
) -> None:
    """F-WIRE-6"""
    protocol = WebSocketProtocol(deflate=DeflateParameters() if has_deflate else None)
    events = [event for chunk in chunks for event in protocol.feed(chunk)]
    events += protocol.feed_eof()
    endings = [event for event in events if isinstance(event, (Closed, Fault))]
    assert endings == [events[-1]] == [protocol.ending]


# The two ways to end.


def test_the_server_closes() -> None:
    """F-WS-2: the answer repeats the code; what follows is ignored."""
    protocol = WebSocketProtocol()
    events = protocol.feed(frame(TEXT, b"half") + close(1011, b"broken") + frame(FINAL | PING))
    assert unmasked(events) == [
        (FINAL | CLOSE, b"\x03\xf3"),
        Closed(1011, "broken", clean=True),
    ]
    assert protocol.feed(frame(FINAL | TEXT, b"late")) == []
    assert protocol.feed_eof() == []
    assert protocol.send_close() == b""


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
    assert unmasked(events) == [(FINAL | CLOSE, b""), Closed(1005, "", clean=True)]


def test_the_client_closes() -> None:
    """F-WIRE-6: messages on the way are ignored whatever they hold; there is one close frame."""
    protocol = WebSocketProtocol(max_message_size=10)
    protocol.feed(frame(TEXT, b"half"))
    assert unmask(protocol.send_close()) == [(FINAL | CLOSE, b"\x03\xe8")]
    assert protocol.send_close() == b""
    stream = b"".join(
        (
            frame(FINAL | CONTINUATION, b"\xff"),
            frame(FINAL | TEXT, b"\xff"),
            frame(FINAL | BINARY, bytes(100)),
            frame(FINAL | PING, b"?"),
        )
    )
    assert protocol.feed(stream) == []
    assert protocol.feed(close(1001)) == [Closed(1001, "", clean=True)]


def test_a_fault_while_closing_sends_no_second_close_frame() -> None:
    """F-WIRE-6"""
    protocol = WebSocketProtocol()
    protocol.send_close()
    (fault,) = protocol.feed(frame(FINAL | 3))
    assert isinstance(fault, Fault)


@pytest.mark.parametrize("has_closed", [True, False])
def test_the_stream_ends_without_a_close_frame(has_closed: bool) -> None:
    """F-WS-2: also in the middle of a message, and while the server's close is awaited."""
    protocol = WebSocketProtocol()
    if has_closed:
        protocol.send_close()
    protocol.feed(frame(TEXT, b"half") + b"\x80")
    assert protocol.feed_eof() == [Closed(1006, "", clean=False)]
    assert protocol.feed_eof() == []


def test_nothing_can_be_sent_once_the_connection_is_closing_or_over() -> None:
    """F-WS-2: the error says how it ended."""
    closed_by_us, closed_by_server = WebSocketProtocol(), WebSocketProtocol()
    closed_by_us.send_close()
    closed_by_server.feed(close(1012))
    with pytest.raises(ConnectionLost, match="is closing"):
        closed_by_us.send_text("x")
    with pytest.raises(ConnectionLost, match="1012 \\(service restart\\)"):
        closed_by_server.send_binary(b"x")
    with pytest.raises(ConnectionLost, match="1012"):
        closed_by_server.send_ping()


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (
            Closed(1000, "", clean=True),
            "the server closed the WebSocket connection with code 1000 (normal closure)",
        ),
        (
            Closed(4000, "try later", clean=True),
            "the server closed the WebSocket connection with code 4000 (private code): try later",
        ),
        (Closed(1006, "", clean=False), "the connection ended without a WebSocket close frame"),
        (
            Fault(1002, "the server masked a frame"),
            "WebSocket error 1002: the server masked a frame",
        ),
    ],
)
def test_an_ending_says_in_words_what_happened(ending: Closed | Fault, text: str) -> None:
    """F-WS-2, F-LIFE-7"""
    assert str(ending) == text
