"""Server-sent events: F-WIRE-4."""

from __future__ import annotations

import re
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from mcpclient.framing.sse import MAX_RETRY, Event, EventDecoder, OversizedEvent, ServerSentEvent
from tests.support.properties import examples
from tests.support.tables import each_row

from .chunkings import chunkings, cuts, split


def decode(pieces: list[bytes], limit: int = 1000) -> tuple[list[Event], str, int | None]:
    decoder = EventDecoder(limit)
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return events, decoder.last_event_id, decoder.retry


def message(data: str, event: str = "message", id: str = "") -> ServerSentEvent:
    return ServerSentEvent(event, data, id)


class Case(NamedTuple):
    stream: bytes
    events: list[Event]
    last_event_id: str = ""
    retry: int | None = None


CASES: dict[str, Case] = {
    # The examples of the WHATWG text, section 9.2.6.
    "whatwg stock ticker": Case(b"data: YHOO\ndata: +2\ndata: 10\n\n", [message("YHOO\n+2\n10")]),
    "whatwg four blocks": Case(
        b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
        [message("first event", id="1"), message("second event")],
    ),
    "whatwg third event when ended": Case(b"data:  third event\n\n", [message(" third event")]),
    "whatwg empty data": Case(b"data\n\ndata\ndata\n\ndata:", [message(""), message("\n")]),
    "whatwg optional space": Case(b"data:test\n\ndata: test\n\n", [message("test")] * 2),
    # Line ends.
    "crlf": Case(b"event: a\r\ndata: b\r\n\r\n", [message("b", "a")]),
    "cr": Case(b"event: a\rdata: b\r\r", [message("b", "a")]),
    "mixed line ends": Case(
        b"data: 1\r\n\ndata: 2\n\r\ndata: 3\r\rdata: 4\n\rdata: 5\r\n\r",
        [message(str(number)) for number in range(1, 6)],
    ),
    "many empty lines": Case(b"\n\r\n\r\r\n\ndata: x\n\n\n\n\r\r", [message("x")]),
    # A byte order mark.
    "one mark": Case(b"\xef\xbb\xbfdata: x\n\n", [message("x")]),
    "two marks": Case(b"\xef\xbb\xbf\xef\xbb\xbfdata: x\n\n", []),
    "mark later": Case(b"data: a\n\n\xef\xbb\xbfdata: x\n\n", [message("a")]),
    "half a mark": Case(b"\xef\xbbdata: x\n\ndata: y\n\n", [message("y")]),
    "mark and blank": Case(b"\xef\xbb\xbf\r\n\r\ndata: x\n\n", [message("x")]),
    # Fields.
    "last type counts": Case(b"event: a\nevent: b\ndata: x\n\n", [message("x", "b")]),
    "type does not stay": Case(
        b"event: a\ndata: x\n\nevent: b\n\ndata: y\n\n", [message("x", "a"), message("y")]
    ),
    "empty type": Case(b"event\nevent:\ndata: x\n\n", [message("x")]),
    "unknown fields": Case(b"datax: 1\n data: 2\nData: 3\nx\n:\n\n", []),
    "comments": Case(b": data: no\ndata: a\n:\n:data: no\ndata: b\n\n", [message("a\nb")]),
    "colons in data": Case(b"data: a: b:\ndata::\n\n", [message("a: b:\n:")]),
    "only one space": Case(b"data:   a \nevent:  b\n\n", [message("  a ", " b")]),
    "no space at all": Case(
        b"id:7\nevent:b\nretry:50\ndata:a\n\n", [message("a", "b", "7")], "7", 50
    ),
    # The event id.
    "id stays": Case(
        b"id: 7\ndata: a\n\ndata: b\n\n", [message("a", id="7"), message("b", id="7")], "7"
    ),
    "id without data": Case(b"id: 7\n\n", [], "7"),
    "id of an unfinished event": Case(b"id: 7\ndata: a\n\nid: 8\n", [message("a", id="7")], "7"),
    "id with NUL": Case(b"id: 7\nid: 8\0\ndata: a\n\n", [message("a", id="7")], "7"),
    "id reset": Case(b"id: 7\n\nid\ndata: a\n\n", [message("a")]),
    "id after data": Case(b"data: a\nid: 7\n\n", [message("a", id="7")], "7"),
    "id in UTF-8": Case("id: \u20ac\n\n".encode(), [], "\u20ac"),
    # The reconnection time.
    "retry": Case(b"retry: 1500\n", [], "", 1500),
    "retry zero": Case(b"retry: 000\n", [], "", 0),
    "retry last counts": Case(b"retry: 1\nretry: 0002\n\n", [], "", 2),
    "retry too large": Case(b"retry: 99999999999999999999\n", [], "", MAX_RETRY),
    "retry of as many digits as the limit": Case(b"retry: 0%d\n" % 12345678, [], "", 12345678),
    "retry just too large": Case(b"retry: %d\n" % (MAX_RETRY + 1), [], "", MAX_RETRY),
    "retry no number": Case(
        b"retry: 5\nretry: +1\nretry: 1.5\nretry: 1 \nretry\nretry:  1\nretry: 1_0\n"
        + "retry: \u0661\n".encode(),
        [],
        "",
        5,
    ),
    # Text.
    "other separators": Case(
        "data: \u2028a\u2029b\x85c\x0bd\x0ce\x1cf\n\n".encode(),
        [message("\u2028a\u2029b\x85c\x0bd\x0ce\x1cf")],
    ),
    "wide characters": Case(
        "event: \u00e9\ndata: \u20ac\U0001f600\n\n".encode(),
        [message("\u20ac\U0001f600", "\u00e9")],
    ),
    "broken UTF-8": Case(
        b"data: a\xffb\xe2\x82\ndata: \xac\xf0\x9f\x98\n\n",
        [message("a\ufffdb\ufffd\n\ufffd\ufffd")],
    ),
    "broken UTF-8 beside the data": Case(
        b"event: \xe2\x82\nid: \xff\ndata: a\n\n", [message("a", "\ufffd", "\ufffd")], "\ufffd"
    ),
    "NUL in data": Case(b"data: a\0b\n\n", [message("a\0b")]),
    "no events": Case(b"", []),
    "unfinished": Case(b"data: a\n\ndata: b\n", [message("a")]),
}


@each_row("name", CASES)
def test_every_case_in_every_chunking(name: str) -> None:
    """F-WIRE-4: the WHATWG algorithm, however the stream is cut."""
    stream, *expected = CASES[name]
    for pieces in chunkings(stream):
        assert decode(pieces) == tuple(expected), pieces


@each_row("name", CASES)
def test_what_follows_does_not_change_what_was(name: str) -> None:
    """F-WIRE-4: with more of the stream behind it, the same events come first."""
    stream, events, _, _ = CASES[name]
    found, _, _ = decode([stream + b"\n\ndata: more\n\n"])
    assert found[: len(events)] == events
    assert isinstance(found[-1], ServerSentEvent)
    assert found[-1].data == "more"


def by_the_book(stream: bytes) -> tuple[list[ServerSentEvent], str, int | None]:
    """Follow the WHATWG algorithm step by step, with the whole stream at hand."""
    text = stream.decode("utf-8", "replace")
    lines = re.split("\r\n|\n|\r", text[1:] if text.startswith("\ufeff") else text)[:-1]
    data = event = last_id = last_event_id = ""
    retry: int | None = None
    events = []
    for line in lines:
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if not line:
            last_event_id = last_id
            if data:
                events.append(ServerSentEvent(event or "message", data[:-1], last_event_id))
            data = event = ""
        elif field == "event":
            event = value
        elif field == "data":
            data += value + "\n"
        elif field == "id" and "\0" not in value:
            last_id = value
        elif field == "retry" and re.fullmatch("[0-9]+", value):
            retry = min(int(value), MAX_RETRY)
    return events, last_event_id, retry


FRAGMENTS = (
    (b"data", b"event", b"id", b"retry", b":", b": ", b" ", b"\r", b"\n", b"\r\n", b"\n\n", b"12"),
    (b"x", b"\0", b"\xef\xbb\xbf", b"\xe2\x82\xac", b"\xf0\x9f", b"\xff", b"\xe2\x80\xa8"),
)
fragments = st.sampled_from([fragment for row in FRAGMENTS for fragment in row])
streams = st.one_of(st.lists(fragments, max_size=40).map(b"".join), st.binary(max_size=60))


@given(streams, cuts)
@examples(150)
def test_any_bytes_agree_with_the_book(stream: bytes, places: list[int]) -> None:
    """F-WIRE-4: no bytes raise, and the events equal the algorithm's own."""
    assert decode(split(stream, places)) == by_the_book(stream)


# With a limit of 8 bytes of data.
OVERSIZED: dict[str, Case] = {
    "just fits": Case(b"data: 12345678\n\n", [message("12345678")]),
    "just too large": Case(b"data: 123456789\n\n", [OversizedEvent(8)]),
    "without the space": Case(b"data:123456789\n\n", [OversizedEvent(8)]),
    "lines just fit": Case(b"data: 123\ndata: 5678\n\n", [message("123\n5678")]),
    "lines too large": Case(b"data: 1234\ndata: 5678\n\n", [OversizedEvent(8)]),
    "empty lines count": Case(b"data\n" * 9 + b"\n", [message("\n" * 8)]),
    "empty lines too many": Case(b"data\n" * 10 + b"\n", [OversizedEvent(8)]),
    "not known yet": Case(b"data:123456789", []),
    "reported before the line ends": Case(b"data:1234567890", [OversizedEvent(8)]),
    "reported before the event ends": Case(b"data: 123456789\n", [OversizedEvent(8)]),
    "reported once, then goes on": Case(
        b"data: 123456789\ndata: 123456789\ndata: 1\nevent: x\n\ndata: next\n\n",
        [OversizedEvent(8), message("next")],
    ),
    "id before it counts": Case(
        b"id: 7\ndata: 1234567890123\n\ndata: a\n\n", [OversizedEvent(8), message("a", id="7")], "7"
    ),
    "id after it counts": Case(b"data: 1234567890123\nid: 7\n\n", [OversizedEvent(8)], "7"),
    "each is reported": Case(b"data: 1234567890123\n\n" * 2, [OversizedEvent(8)] * 2),
    "any long line": Case(
        b"data: a\n:" + b"x" * 50 + b"\r\n\r\ndata: b\n\n", [OversizedEvent(8), message("b")]
    ),
}


@each_row("name", OVERSIZED)
def test_oversized_events(name: str) -> None:
    """F-WIRE-4: a large event costs that event, is reported once, and its id is remembered."""
    stream, *expected = OVERSIZED[name]
    for pieces in chunkings(stream):
        assert decode(pieces, 8) == tuple(expected), pieces
