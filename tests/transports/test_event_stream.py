"""Server-sent events that carry messages: F-HTTP-4 and F-HTTP-5."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.errors import MessageTooLarge
from mcpclient.transports.backoff import MAX_TRIES
from mcpclient.transports.event_stream import EventStream, is_event_stream
from tests.framing.chunkings import chunkings, cuts, split
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


def test_what_the_server_asks_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-HTTP-6: by id, in bounded memory; what is no request is no question."""
    monkeypatch.setattr("mcpclient.transports.event_stream._MAX_QUESTIONS", 2)
    events, _ = stream()
    odd = [{**NOTE, "id": None}, {**NOTE, "id": [1]}, {"jsonrpc": "2.0", "id": 3, "result": {}}]
    for message in (NOTE, *odd, {**NOTE, "id": 1}, {**NOTE, "id": "a"}, {**NOTE, "id": 2}):
        events.feed(event(message))
    assert events.questions == {1, "a"}


def test_a_question_with_a_huge_id_is_not_noted() -> None:
    """F-HTTP-6: a server could fill the memory with a thousand ids as long as messages."""
    events, receiver = stream(limit=10_000)
    for request_id in ("x" * 1024, "x" * 1025, 10**1024):
        events.feed(event({**NOTE, "id": request_id}))
    assert len(receiver.messages) == 3
    assert events.questions == {"x" * 1024, 10**1024}


def test_an_id_that_no_header_could_carry_is_none() -> None:
    """F-HTTP-5, F-WIRE-3: its event counts, and it is neither remembered nor a place to resume."""
    events, receiver = stream(limit=100_000)
    events.feed(event(NOTE, id="1") + event(NOTE, id="x" * 8193) + event(NOTE, id="y" * 8192))
    assert len(receiver.messages) == 3
    assert events.last_event_id == "y" * 8192
    events.feed(event(NOTE, id="x" * 8193))
    assert events.last_event_id == "y" * 8192
    events.reconnected()
    events.feed(event(NOTE, id="x" * 8193) + event(NOTE, id="1"))
    assert len(receiver.messages) == 5


def test_messages_until_the_answer() -> None:
    """F-HTTP-3: notifications and requests of the server's on the way, and then the answer."""
    request = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
    other = {"jsonrpc": "2.0", "id": 8, "result": {}}
    data = b": hello\n\n" + event(NOTE) + event(request) + event(other)
    for pieces in chunkings(data):
        events, receiver = stream()
        for piece in pieces:
            events.feed(piece)
        assert receiver.messages == [NOTE, request, other]
        assert not events.answered
        events.feed(event(ANSWER))
        assert receiver.messages[-1] == ANSWER
        assert events.answered


@pytest.mark.parametrize("answer", [{**ANSWER, "id": "7"}, [NOTE, ANSWER], {"id": 7, "error": {}}])
def test_forms_of_an_answer(answer: Any) -> None:
    """F-WIRE-1: an id echoed as a string, an answer in a batch, an error."""
    events, _ = stream()
    events.feed(event(answer))
    assert events.answered


def test_the_servers_own_channel_has_no_answer() -> None:
    """F-HTTP-4: the GET stream goes on, whatever comes over it."""
    events, receiver = stream(None)
    sent: list[Any] = [NOTE, ANSWER, {"id": None, "result": {}}, "no json", "x" * 2000]
    for message in sent:
        events.feed(event(message))
    assert not events.answered
    assert len(receiver.messages) == 3
    assert [request_id for _, request_id in receiver.rejected] == [None, None]


def test_other_kinds_of_event_are_no_messages() -> None:
    """F-HTTP-3: only message events, and only those with data."""
    events, receiver = stream()
    events.feed(event(ANSWER, kind="endpoint") + b"data:\n\n" + b"id: 5\n\n")
    assert (receiver.messages, receiver.rejected) == ([], [])
    assert events.last_event_id == "5"
    events.feed(event(ANSWER, kind="message"))
    assert receiver.messages == [ANSWER]


@pytest.mark.parametrize("text", ["no json", '{"id":7,"result":', "5", "[]", "{" * 3])
def test_an_answer_that_is_no_message_ends_the_waiting(text: str) -> None:
    """F-WIRE-7: the call has failed; nothing is resumed for it."""
    events, receiver = stream()
    events.feed(event(text, id="1"))
    assert [request_id for _, request_id in receiver.rejected] == [7]
    assert events.answered


def test_an_oversized_answer() -> None:
    """F-WIRE-3: a clear error for that call."""
    events, receiver = stream(limit=100)
    events.feed(event("x" * 200))
    [(error, request_id)] = receiver.rejected
    assert isinstance(error, MessageTooLarge)
    assert (error.limit, request_id) == (100, 7)
    assert events.answered


# Resumption


def test_each_event_is_delivered_once() -> None:
    """F-HTTP-5: what a resumed stream sends again is recognised by its id."""
    events, receiver = stream()
    events.feed(event(NOTE, id="a") + event({**NOTE, "params": {"b": 1}}, id="b"))
    events.reconnected()
    again = event(NOTE, id="a") + event({**NOTE, "params": {"b": 1}}, id="b")
    events.feed(again + event(ANSWER, id="c"))
    assert receiver.messages == [NOTE, {**NOTE, "params": {"b": 1}}, ANSWER]
    assert events.last_event_id == "c"


def test_an_event_without_an_id_of_its_own_is_no_repetition() -> None:
    """F-HTTP-5: it has the id of the one before it, on a resumed stream as well."""
    events, receiver = stream()
    events.feed(event(NOTE, id="a"))
    events.reconnected()
    events.feed(event(NOTE, id="a") + event(NOTE, id="b") + event(NOTE) + event(ANSWER))
    assert receiver.messages == [NOTE, NOTE, NOTE, ANSWER]


def test_a_long_replay_is_recognised_as_well() -> None:
    """F-HTTP-5: a server may send the last 256 events again."""
    events, receiver = stream(limit=100_000)
    sent = b"".join(event(NOTE, id=str(number)) for number in range(256))
    events.feed(sent)
    events.reconnected()
    events.feed(sent + event(ANSWER, id="256"))
    assert receiver.messages == [NOTE] * 256 + [ANSWER]


def test_ids_are_no_proof_on_the_first_connection() -> None:
    """F-HTTP-5: a server that gives every event the same id, or none, loses nothing."""
    events, receiver = stream()
    events.feed(event(NOTE, id="1") + event(NOTE, id="1") + event(NOTE) + event(NOTE, id="2"))
    events.feed(event(NOTE, id="1"))
    assert receiver.messages == [NOTE] * 5
    without_ids, receiver = stream()
    without_ids.feed(event(NOTE))
    without_ids.reconnected()
    without_ids.feed(event(NOTE) + event(NOTE))
    assert receiver.messages == [NOTE] * 3


def test_an_event_cut_off_is_dropped() -> None:
    """F-HTTP-5: the next connection begins anew, from the last event that was complete."""
    events, receiver = stream()
    events.feed(event(NOTE, id="1") + b'id: 2\ndata: {"jsonrpc"')
    assert events.last_event_id == "1"
    events.reconnected()
    events.feed(event(ANSWER, id="2"))
    assert receiver.messages == [NOTE, ANSWER]


def test_the_position_survives_a_connection_without_ids() -> None:
    """F-HTTP-5: Last-Event-ID is kept until there is another."""
    events, _ = stream()
    events.feed(event(NOTE, id="1"))
    events.reconnected()
    events.feed(event(NOTE))
    assert events.last_event_id == "1"


def test_backoff_without_progress() -> None:
    """F-HTTP-4: at most five tries in a row, each later than the one before."""
    events, _ = stream()
    waits = [events.next_delay() for _ in range(MAX_TRIES + 1)]
    assert waits[-1] is None
    known = [wait for wait in waits if wait is not None]
    assert len(known) == MAX_TRIES
    assert known == sorted(known)
    assert events.next_delay() is None


@pytest.mark.parametrize("progress", [event(NOTE), b"id: 5\n\n"])
def test_progress_counts_anew(progress: bytes) -> None:
    """F-HTTP-4: only a connection that brought something resets the count."""
    events, _ = stream()
    for _ in range(MAX_TRIES):
        assert events.next_delay() is not None
    events.reconnected()
    events.feed(b": only a comment\n\n")
    assert events.next_delay() is None
    events.feed(progress)
    delay = events.next_delay()
    assert delay is not None
    assert delay <= 1.25


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


def test_a_server_that_wishes_for_no_delay_gets_one() -> None:
    """F-HTTP-4: it is not asked again and again without a pause."""
    events, _ = stream()
    events.feed(b"retry: 0\n\n")
    assert (events.next_delay() or 0) > 0


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
