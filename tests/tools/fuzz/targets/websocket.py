"""A WebSocket connection, with and without compression: the same events in any chunking."""

from __future__ import annotations

from functools import partial

from mcpclient.framing.websocket import Closed, Event, Fault, WebSocketProtocol, Write
from mcpclient.framing.websocket_frames import DeflateParameters

from ..inputs import same_however_cut

LIMIT = 70_000


def target(data: bytes) -> None:
    same_however_cut(data, partial(read, deflate=None))
    for deflate in (DeflateParameters(), DeflateParameters(server_no_context_takeover=True)):
        same_however_cut(data, partial(read_before_fault, deflate=deflate))


def read_before_fault(chunks: list[bytes], deflate: DeflateParameters) -> list[Event]:
    """The messages before a fault: of several in compressed data, the cuts decide which is met."""
    events = read(chunks, deflate)
    if not events or not isinstance(events[-1], Fault):
        return events
    told = len(events) > 1 and isinstance(events[-2], Write)
    return events[: -2 if told else -1]


def read(chunks: list[bytes], deflate: DeflateParameters | None) -> list[Event]:
    protocol = WebSocketProtocol(deflate=deflate, max_message_size=LIMIT, random_bytes=bytes)
    events = [event for chunk in chunks for event in protocol.feed(chunk)]
    endings = [event for event in events if isinstance(event, (Closed, Fault))]
    assert endings == ([protocol.ending] if protocol.ending else [])
    for event in events:
        str(event)
        if isinstance(event, Write):  # a control frame: whole, masked, and small
            assert event.data[0] in (0x88, 0x8A)
            assert event.data[1] - 0x80 == len(event.data) - 6 <= 125
        else:
            assert len(getattr(event, "data", b"")) <= LIMIT
    return events
