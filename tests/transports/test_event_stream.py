"""Server-sent events that carry messages: F-HTTP-4 and F-HTTP-5."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcpclient.transports.event_stream import EventStream
from tests.framing.chunkings import cuts, split
from tests.support.properties import examples

from .receivers import RecordingReceiver

NOTE = {"jsonrpc": "2.0", "method": "n"}
ANSWER = {"jsonrpc": "2.0", "id": 7, "result": {}}


def event(message: Any, id: str | None = None, kind: str | None = None) -> bytes:
    lines = [f"data: {message if isinstance(message, str) else json.dumps(message)}"]
    if id is not None:
        lines.insert(0, f"id: {id}")
    if kind is not None:
        lines.insert(0, f"event: {kind}")
    return ("\n".join(lines) + "\n\n").encode()


def stream(request_id: int | None = 7, limit: int = 1000) -> tuple[EventStream, RecordingReceiver]:
    receiver = RecordingReceiver()
    return EventStream(receiver, limit, request_id), receiver


# Resumption


def test_an_id_that_comes_again_before_a_resumption_is_no_repetition() -> None:
    """F-HTTP-5: nothing is repeated on a stream that has not broken, whatever a server numbers."""
    events, receiver = stream()
    events.feed(event(NOTE, "1") + event(NOTE, "2") + event(NOTE, "1"))
    assert receiver.messages == [NOTE] * 3


def test_an_event_without_an_id_of_its_own_is_no_repetition() -> None:
    """F-HTTP-5: it has the id of the one before it, on a resumed stream as well."""
    events, receiver = stream()
    events.feed(event(NOTE, id="a"))
    events.reconnected()
    events.feed(event(NOTE, id="a") + event(NOTE, id="b") + event(NOTE) + event(ANSWER))
    assert receiver.messages == [NOTE, NOTE, NOTE, ANSWER]


def test_an_empty_id_takes_the_position_away() -> None:
    """F-HTTP-5: as the HTML standard has it; an event without an id leaves it as it is."""
    events, _ = stream()
    events.feed(event(NOTE, id="a") + event(NOTE))
    events.reconnected()
    events.feed(event(NOTE))
    events.reconnected()
    events.feed(b"id: b\n")  # of an event that has not ended
    assert events.last_event_id == "a"
    events.feed(event(NOTE, id=""))
    assert events.last_event_id == ""
    events.feed(event(NOTE, id="b"))
    assert events.last_event_id == "b"


def test_the_servers_wish() -> None:
    """F-HTTP-4: ``retry:`` is honoured to the millisecond, on later connections too."""
    events, _ = stream()
    events.feed(b"retry: 500\n\n")
    assert events.next_delay() == 0.5
    events.reconnected()
    assert events.next_delay() == 0.5
    events.feed(b"retry: 250\n\n")
    assert [events.next_delay() for _ in range(3)] == [0.25] * 3
    assert events.next_delay() is None


@given(
    st.lists(
        st.sampled_from([b"data: ", b"id: 1", b"event: x", b"retry: 9", b"\n", b"\n\n", b"\r"])
        | st.sampled_from([b'{"id":7,"result":{}}', b'{"method":"n"}', b"[", b"\xff", b"x" * 60])
        | st.binary(max_size=6),
        max_size=30,
    ).map(b"".join),
    cuts,
    st.sampled_from([7, None]),
)
@examples(75)
def test_any_bytes_are_messages_or_recorded_faults(
    data: bytes, places: list[int], request_id: int | None
) -> None:
    """F-WIRE-7: nothing is raised, and the cuts make no difference."""
    events, receiver = stream(request_id, limit=50)
    for piece in split(data, places):
        events.feed(piece)
    whole, expected = stream(request_id, limit=50)
    whole.feed(data)
    assert repr(receiver.messages) == repr(expected.messages)
    assert repr(receiver.rejected) == repr(expected.rejected)
    assert (events.answered, events.last_event_id) == (whole.answered, whole.last_event_id)
    assert (receiver.lost, receiver.failed) == ([], [])
