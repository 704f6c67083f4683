"""The transcript format: bytes to facts and back, headers, and broken files: F-SHOW-8."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conformance.capture.records import line_facts
from mcpclient.errors import UsageError
from mcpclient.recording.transcript import (
    Record,
    Transcript,
    bytes_of_event,
    bytes_of_payload,
    event_facts,
    payload_facts,
    read_transcripts,
    write_line,
)
from tests.support.properties import examples
from tests.support.tables import each_row

HEADER = '{"transcript": 1, "transport": "stdio", "target": "server"}\n'
RECORD = '{"time": 0.5, "direction": "sent", "channel": "stdio", "message": {}}\n'

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
JSON_TEXTS = st.builds(
    lambda value, ascii, space: json.dumps(
        value, ensure_ascii=ascii, separators=(",", ":" + space)
    ).encode("utf-8", "surrogatepass"),
    JSON,
    st.booleans(),
    st.sampled_from(["", " "]),
)
BYTES = st.binary(max_size=40) | JSON_TEXTS
FIELDS = st.lists(
    st.builds(
        lambda name, gap, value: name + b":" + gap + value,
        st.sampled_from([b"data", b"event", b"id", b"retry", b"", b"x"]),
        st.sampled_from([b"", b" "]),
        BYTES,
    ),
    max_size=4,
)
BLOCKS = st.builds(
    lambda fields, end: end.join([*fields, b"", b""]),
    FIELDS,
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
)


def again(facts: Record) -> Record:
    """The facts as they are when they have been written to a file and read from it."""
    record = json.loads(write_line(facts))
    assert isinstance(record, dict)
    return record


@given(BYTES)
@example(b'{"a": 1}')
@example(b'{"a":1,"a":2}')
@example(b'{"a":NaN}')
@example(b'["\\ud800"]')
@examples(75)
def test_any_payload_is_kept(data: bytes) -> None:
    """F-SHOW-8"""
    assert bytes_of_payload(again(payload_facts(data))) == data


@given(BYTES, st.sampled_from([b"\n", b"\r\n", b""]))
@examples(75)
def test_any_line_is_kept(data: bytes, end: bytes) -> None:
    """F-SHOW-8"""
    line = data.replace(b"\n", b"") + end
    facts = again(line_facts(line))
    assert bytes_of_payload(facts) + facts.get("line_end", "\n").encode() == line


@given(BLOCKS | BYTES)
@examples(125)
def test_any_piece_of_an_event_stream_is_kept(block: bytes) -> None:
    """F-SHOW-8"""
    assert bytes_of_event(again(event_facts(block))) == block


@each_row(
    ("block", "facts"),
    [
        (
            b'event: message\nid: 7\ndata: {"id":1}\n\n',
            {"event": {"event": "message", "id": "7", "data": {"id": 1}}},
        ),
        (b"retry: 500\r\n\r\n", {"event": {"retry": 500}, "line_end": "\r\n"}),
        (b": ping\n\n", {"event": {"": "ping"}}),
        (b"data:x\n\n", {"text": "data:x\n\n"}),
        (b"data: a\ndata: b\n\n", {"text": "data: a\ndata: b\n\n"}),
        (b"data: half", {"text": "data: half"}),
        (b"data: \xff\n\n", {"base64": "ZGF0YTog/woK"}),
    ],
)
def test_an_event_can_be_read_by_eye(block: bytes, facts: Record) -> None:
    """F-SHOW-8"""
    assert event_facts(block) == facts


def test_a_record_without_bytes_has_none() -> None:
    assert bytes_of_payload({"end": "complete"}) == b""
    assert bytes_of_event({"end": "complete"}) == b""


def test_a_line_is_one_line_of_utf_8() -> None:
    """F-SHOW-8: half a surrogate pair, which JSON has and UTF-8 has not, included."""
    line = write_line({"text": "\ud800 \u2028 é\n"})
    assert line.encode() == b'{"text": "\\ud800 \xe2\x80\xa8 \xc3\xa9\\n"}\n'
    assert json.loads(line) == {"text": "\ud800 \u2028 é\n"}


def test_a_file_may_hold_several_connections() -> None:
    """F-SHOW-8"""
    transcripts = read_transcripts([HEADER, RECORD, "\n", HEADER, RECORD, RECORD])
    assert [len(transcript.records) for transcript in transcripts] == [1, 2]
    assert [transcript.transport for transcript in transcripts] == ["stdio", "stdio"]
    assert transcripts[0].records[0]["time"] == 0.5
    assert Transcript({}).transport == ""


def test_a_last_line_that_was_cut_off_is_left_out() -> None:
    """F-SHOW-8: what a crash leaves behind is of use."""
    (transcript,) = read_transcripts([HEADER, RECORD, RECORD[:20]])
    assert len(transcript.records) == 1


@each_row(
    ("lines", "reason"),
    [
        ([], "the transcript is empty"),
        (["\n"], "the transcript is empty"),
        (["{"], "line 1 is not JSON"),
        ([HEADER, "{\n"], "line 2 is not JSON"),
        ([HEADER, RECORD[:20] + "\n", RECORD], "line 2 is not JSON"),
        ([HEADER, RECORD[:20], RECORD], "line 2 is not JSON"),
        ([HEADER, "[" * 100_000 + "\n"], "line 2 is not JSON"),
        ([RECORD], "line 1 should be the header"),
        (['{"transcript": 2}'], "has version 2; this reader knows version 1"),
        ([HEADER, "[]\n"], "line 2 is not a record"),
        ([HEADER, "5\n"], "line 2 is not a record"),
        ([HEADER, RECORD.replace("sent", "up")], "line 2 is not a record"),
        ([HEADER, RECORD.replace('"sent"', "[]")], "line 2 is not a record"),
        ([HEADER, RECORD.replace("0.5", '"soon"')], "line 2 is not a record"),
        ([HEADER, RECORD.replace('"stdio"', "1")], "line 2 is not a record"),
    ],
)
def test_what_is_no_transcript_is_refused(lines: list[str], reason: str) -> None:
    """F-SHOW-8"""
    with pytest.raises(UsageError, match=reason):
        read_transcripts(lines)


def nested(depth: int, innermost: Any) -> Any:
    """Objects and lists in turn around a value."""
    for level in range(depth):
        innermost = [innermost, level] if level % 2 else {"a": innermost, "b": {}, "é": []}
    return innermost


def test_what_everybody_can_read_stays() -> None:
    """F-SHOW-8: however wide it is."""
    message = nested(95, [{"wide": [{}] * 300}])
    assert again({"message": message}) == {"message": message}
