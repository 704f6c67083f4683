"""F-SHOW-10, F-SHOW-14: what crossed the wire, in bounded memory, with its faults."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcpclient.inspector.journal import Journal
from mcpclient.recording.transcript import read_transcripts
from tests.support.tables import each_row

HEADER = '{"transcript": 1, "transport": "stdio", "target": "x"}\n'


def line(number: int, **more: Any) -> str:
    record = {"time": number / 10, "direction": "received", "channel": "stdio"}
    message = {"jsonrpc": "2.0", "method": "n/tick", "params": {"data": f"Tick {number}"}}
    return json.dumps({**record, "message": message, **more}) + "\n"


def filled(count: int, **limits: int) -> Journal:
    journal = Journal(**limits)
    journal.append(HEADER)
    for number in range(1, count + 1):
        journal.append(line(number))
    return journal


def test_a_transcript_of_it_can_be_read_again() -> None:
    """F-SHOW-8: also when the middle is missing."""
    whole = filled(30)
    assert len(read_transcripts(whole.transcript())[0].records) == 30
    cut = filled(200, most_records=100)
    transcripts = read_transcripts(cut.transcript())
    assert transcripts[0].header["target"] == "x"
    texts = [record.get("end", "") for record in transcripts[0].records]
    assert any("records are missing here" in text for text in texts)
    assert list(Journal().transcript()) == []


def message(number: int, direction: str, **more: Any) -> str:
    return line(number, direction=direction, message={"jsonrpc": "2.0", **more})


def test_faults_failures_levels_and_methods_are_found() -> None:
    """F-SHOW-14: and faults are counted."""
    journal = filled(0)
    journal.append(message(1, "sent", id=1, method="tools/list"))
    journal.append(message(2, "received", id=1, result=[]))
    journal.append(message(3, "sent", id=2, method="ping"))
    journal.append(message(4, "received", id=2, error={"code": 1, "message": "m"}))
    for number, level in ((5, "info"), (6, "error"), (7, "odd")):
        params = {"level": level, "data": "x"}
        journal.append(message(number, "received", method="notifications/message", params=params))
    assert journal.counts["fault"] == 1

    def found(**chosen: Any) -> list[int]:
        return asyncio.run(journal.find("", ["client", "server"], -1, **chosen))

    assert found(only="fault") == [2]
    assert found(only="failure") == [2, 4]
    assert found(only="warning") == [6]
    assert found(only="debug") == [5, 6]
    assert found(only="nonsense") == []
    assert found(method="tools/list") == [1, 2]
    assert found(method="tools/list", only="fault") == [2]


def test_lines_of_stderr_are_a_block() -> None:
    """F-SHOW-14: from the first to the last that nothing interrupts."""
    journal = filled(1)
    for number, text in enumerate(("Traceback:", "  a", "KeyError"), 2):
        journal.append(line(number, channel="stderr", message=None, text=text))
    journal.append(line(5))
    journal.append(line(6, channel="stderr", message=None, text="later"))
    assert journal.block(3) == ["Traceback:", "  a", "KeyError"]
    assert journal.block(6) == ["later"]


@each_row("number", [0, 1, 250, 1_000])
def test_a_record_that_is_not_kept_is_in_no_block(number: int) -> None:
    """F-SHOW-14: the text of another record is not shown in its place."""
    journal = Journal(most_records=100)
    for index in range(200):
        journal.append(line(index, channel="stderr", message=None, text=str(index)))
    assert 1 < journal.first < journal.next < 250
    assert journal.block(number) == []


def row(record: dict[str, Any], journal: Journal | None = None, number: int = 0) -> Any:
    full = {"time": 1.0, "direction": "received", "channel": "stdio", **record}
    return (journal or Journal()).row(number, full, 9)


@each_row(
    ("record", "expected"),
    [
        ({"message": {"method": "n/x", "params": {"data": "d"}}}, "server notification: n/x | d"),
        ({"message": {"method": "n/x", "params": []}}, "server notification: n/x |"),
        (
            {"message": {"id": 1, "error": {"code": -1, "message": "no"}}},
            "server error: answer | -1: no",
        ),
        (
            {"message": {"id": 1, "result": {"_meta": [1], "note": "three", "tools": [{}]}}},
            "server answer: answer | 1 tool",
        ),
        (
            {"message": {"id": 1, "result": {"isError": True}}},
            "server error: answer | the tool failed",
        ),
        ({"message": [{}, {}]}, "server notification: batch | 2 messages"),
        ({"message": 7}, "server notification: batch | not a message"),
        ({"channel": "stderr", "text": "a\nline"}, "stderr text: a line |"),
        ({"channel": "http-1", "event": {"data": {"method": "n/y"}}}, "server notification: n/y |"),
        (
            {"channel": "http-1", "event": {"data": [{}, {}]}},
            "server notification: batch | 2 messages",
        ),
        ({"channel": "http-1", "event": {"id": "7", "data": "x"}}, "http http: event | 7, x"),
        (
            {"channel": "http-1", "http": {"status": 202, "reason": "Accepted"}},
            "http http: 202 Accepted |",
        ),
        (
            {"channel": "http-1", "direction": "sent", "http": {"method": "GET", "target": "/mcp"}},
            "http http: GET /mcp |",
        ),
        ({"channel": "http-1", "end": "complete"}, "http http: end | complete"),
        (
            {"frame": "close", "reason": "bye", "channel": "websocket"},
            "server text: close frame | bye",
        ),
        ({"direction": "sent", "base64": "AA=="}, "client text: bytes that are not UTF-8 |"),
        (
            {"direction": "note", "error": {"type": "ConnectionLost", "text": "gone"}},
            "client error: ConnectionLost | gone",
        ),
        (
            {"direction": "note", "abandoned": 4},
            "client note: the caller stopped waiting | for the response to 4",
        ),
        ({"direction": "note", "channel": "http-2", "end": "x"}, "http note: end | x"),
    ],
)
def test_every_kind_of_record(record: dict[str, Any], expected: str) -> None:
    """F-SHOW-10: its lane, its kind, its label and its detail."""
    made = row(record)
    assert f"{made.lane} {made.kind}: {made.label} | {made.detail}".rstrip() == expected


def test_the_next_connection_begins_with_new_ids() -> None:
    journal = Journal()
    row({"direction": "sent", "message": {"id": 1, "method": "ping"}}, journal, 0)
    journal.row(1, {"transcript": 1, "transport": "stdio", "target": "npx"}, 50)
    answer = row({"message": {"id": 1, "result": {}}}, journal, 2)
    assert (answer.label, answer.partner) == ("answer", None)
    row({"direction": "sent", "channel": "http-1", "http": {"method": "POST"}}, journal, 3)
    journal.row(4, {"transcript": 1, "transport": "http", "target": "https://a.example"}, 50)
    row({"channel": "http-1", "http": {"status": 200}}, journal, 5)
    assert not journal.exchanges


def test_requests_without_an_answer_are_forgotten_in_the_end() -> None:
    journal = Journal()
    for number in range(10_001):
        row({"direction": "sent", "message": {"id": number, "method": "m"}}, journal, number)
    assert row({"message": {"id": 0, "result": {}}}, journal).partner is None
    assert row({"message": {"id": 10_000, "result": {}}}, journal).partner == 10_000


SENT = {"direction": "sent", "message": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}


def answer(identity: Any, **result: Any) -> dict[str, Any]:
    return {"message": {"jsonrpc": "2.0", "id": identity, "result": result}}


def faults(row: Any) -> str:
    return "; ".join(each.text for each in row.faults)


def test_who_attaches_later_has_not_seen_all_requests() -> None:
    """F-SHOW-14: an unknown id is not a violation there."""
    journal = Journal()
    row({"direction": "sent", "channel": "recalled", "message": {"id": "opening"}}, journal, 0)
    assert faults(row(answer(7), journal, 1)) == ""
    row(SENT, journal, 2)
    row(answer(1, tools=[]), journal, 3)
    assert faults(row(answer(1, tools=[]), journal, 4)) == "its id 1 was answered before"


@each_row(
    ("record", "fault"),
    [
        ({"text": "Listening"}, "a line on stdout is not JSON-RPC"),
        ({"text": '{"jsonrpc": '}, "a line on stdout is broken JSON"),
        ({"base64": "/w=="}, "a line on stdout is not JSON-RPC"),
        ({"text": '{"a": 1}'}, "it is not a JSON-RPC message"),
        ({"message": [{"jsonrpc": "2.0", "method": "a"}, 7]}, "it is not a JSON object"),
        ({"channel": "stderr", "text": "{"}, ""),
        ({"direction": "sent", "text": "x"}, ""),
        ({"end": "complete"}, ""),
        ({"event": {"event": "ping"}}, ""),
    ],
)
def test_output_that_is_not_a_message_is_a_fault(record: dict[str, Any], fault: str) -> None:
    assert faults(row(record)) == fault


def test_a_login_follows_rules_of_its_own() -> None:
    """F-SHOW-14: only the answers to MCP's requests are judged as such."""
    journal = Journal()
    head = {"method": "POST", "target": "/token"}
    row({"direction": "sent", "channel": "http-1", "http": head, "text": "a=b"}, journal, 0)
    got = {"status": 400, "reason": "Bad Request"}
    refusal = {"channel": "http-1", "http": got, "message": {"error": "invalid_grant"}}
    assert row({"time": 1.5, **refusal}, journal, 1).faults == ()
    exchange = journal.exchanges["http-1"]
    assert (exchange["method"], exchange["status"]) == ("POST", 400)
    assert exchange["milliseconds"] == 500.0
    message = SENT["message"]
    row({"direction": "sent", "channel": "http-2", "http": head, "message": message}, journal, 2)
    assert row({"channel": "http-2", "http": got, "message": {"a": 1}}, journal, 3).faults
