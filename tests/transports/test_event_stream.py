"""Server-sent events that carry messages: F-HTTP-4 and F-HTTP-5."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.transports.backoff import MAX_TRIES
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


def test_the_servers_own_channel_has_no_answer() -> None:
    """F-HTTP-4: the GET stream goes on, whatever comes over it."""
    events, receiver = stream(None)
    sent: list[Any] = [NOTE, ANSWER, {"id": None, "result": {}}, "no json", "x" * 2000]
    for message in sent:
        events.feed(event(message))
    assert not events.answered
    assert len(receiver.messages) == 3
    assert [request_id for _, request_id in receiver.rejected] == [None, None]


def test_what_the_server_asks_is_remembered_in_bounded_memory() -> None:
    """F-HTTP-6: by id, of at most 1,024 characters each."""
    events, _ = stream(limit=10_000)
    for request_id in ("x" * 1024, "x" * 1025, None, [1], *range(1000)):
        events.feed(event({**NOTE, "id": request_id}))
    assert events.questions == {"x" * 1024, *range(999)}


def test_an_id_that_no_header_could_carry_is_no_position() -> None:
    """F-HTTP-5, F-WIRE-3: its event counts, and a server may send the same id again."""
    events, receiver = stream(limit=100_000)
    for request_id in ("1", "x" * 8193, "y" * 8192, "x" * 8193):
        events.feed(event(NOTE, id=request_id))
    assert events.last_event_id == "y" * 8192
    assert len(receiver.messages) == 4


def test_an_event_that_is_cut_off_is_dropped() -> None:
    """F-HTTP-5: the next connection begins anew, from the last event that was complete."""
    events, receiver = stream()
    events.feed(event(NOTE, id="1") + b'id: 2\ndata: {"jsonrpc"')
    assert events.last_event_id == "1"
    events.reconnected()
    events.feed(event(ANSWER, id="2"))
    assert receiver.messages == [NOTE, ANSWER]


@pytest.mark.parametrize("progress", [event(NOTE), b"id: 5\n\n"])
def test_only_progress_resets_the_count_of_tries(progress: bytes) -> None:
    """F-HTTP-4: a message, or a new position."""
    events, _ = stream()
    assert None not in [events.next_delay() for _ in range(MAX_TRIES)]
    events.reconnected()
    events.feed(b": only a comment\n\n")
    assert events.next_delay() is None
    events.feed(progress)
    assert (events.next_delay() or 9) <= 1.25


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
    """F-HTTP-4: ``retry:`` holds to the millisecond, also on later connections, except for 0."""
    events, _ = stream()
    events.feed(b"retry: 0\n\n")
    assert events.next_delay() == 0.05
    events.feed(b"retry: 500\n\n")
    assert events.next_delay() == 0.5
    events.reconnected()
    assert events.next_delay() == 0.5
    events.feed(b"retry: 250\n\n")
    assert [events.next_delay() for _ in range(2)] == [0.25] * 2
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
