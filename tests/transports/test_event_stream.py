"""Server-sent events that carry messages: F-HTTP-4 and F-HTTP-5."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.errors import MessageTooLarge
from mcpclient.transports.event_stream import EventStream, is_event_stream
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


@pytest.mark.parametrize(
    ("content_type", "is_one"),
    [
        ("text/event-stream", True),
        ("Text/Event-Stream; charset=utf-8", True),
        (" text/event-stream ;x", True),
        ("application/json", False),
        ("text/event-streams", False),
        ("", False),
    ],
)
def test_content_types(content_type: str, is_one: bool) -> None:
    """F-HTTP-3: JSON or an event stream, whatever its parameters."""
    assert is_event_stream(content_type) is is_one


def test_an_oversized_answer() -> None:
    """F-WIRE-3: a clear error for that call."""
    events, receiver = stream(limit=100)
    events.feed(event("x" * 200))
    [(error, request_id)] = receiver.rejected
    assert isinstance(error, MessageTooLarge)
    assert (error.limit, request_id) == (100, 7)
    assert events.answered


# Resumption


def test_an_event_without_an_id_of_its_own_is_no_repetition() -> None:
    """F-HTTP-5: it has the id of the one before it, on a resumed stream as well."""
    events, receiver = stream()
    events.feed(event(NOTE, id="a"))
    events.reconnected()
    events.feed(event(NOTE, id="a") + event(NOTE, id="b") + event(NOTE) + event(ANSWER))
    assert receiver.messages == [NOTE, NOTE, NOTE, ANSWER]


def test_an_event_cut_off_is_dropped() -> None:
    """F-HTTP-5: the next connection begins anew, from the last event that was complete."""
    events, receiver = stream()
    events.feed(event(NOTE, id="1") + b'id: 2\ndata: {"jsonrpc"')
    assert events.last_event_id == "1"
    events.reconnected()
    events.feed(event(ANSWER, id="2"))
    assert receiver.messages == [NOTE, ANSWER]


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
