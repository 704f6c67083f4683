"""F-SHOW-10: one line for each record, whatever it holds."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.inspector.journal import Journal


def row(record: dict[str, Any], journal: Journal | None = None, number: int = 0) -> Any:
    full = {"time": 1.0, "direction": "received", "channel": "stdio", **record}
    return (journal or Journal()).row(number, full, 9)


def test_a_header_begins_a_connection() -> None:
    made = Journal().row(3, {"transcript": 1, "transport": "stdio", "target": "npx"}, 50)
    assert made[:7] == (3, 0.0, "client", "header", "connection over stdio", "npx", 50)


def test_an_answer_knows_its_request() -> None:
    journal = Journal()
    call = {"id": 1, "method": "tools/call", "params": {"name": "echo"}}
    asked = row({"direction": "sent", "message": call}, journal, 5)
    assert (asked.lane, asked.kind, asked.label, asked.detail) == (
        *("client", "request", "tools/call", "echo"),
    )
    answer = row({"time": 1.25, "message": {"id": 1, "result": {"content": [1, 2]}}}, journal, 6)
    assert (answer.lane, answer.kind, answer.label) == ("server", "answer", "tools/call")
    assert (answer.detail, answer.partner, answer.milliseconds) == ("2 content", 5, 250.0)
    again = row({"message": {"id": 1, "result": {}}}, journal, 7)
    assert (again.label, again.partner) == ("answer", None)


def test_the_next_connection_begins_with_new_ids() -> None:
    journal = Journal()
    row({"direction": "sent", "message": {"id": 1, "method": "ping"}}, journal, 0)
    journal.row(1, {"transcript": 1, "transport": "stdio", "target": "npx"}, 50)
    answer = row({"message": {"id": 1, "result": {}}}, journal, 2)
    assert (answer.label, answer.partner) == ("answer", None)


def test_both_sides_may_use_the_same_id() -> None:
    journal = Journal()
    row({"direction": "sent", "message": {"id": 1, "method": "ping"}}, journal, 0)
    row({"message": {"id": 1, "method": "roots/list"}}, journal, 1)
    assert row({"direction": "sent", "message": {"id": 1, "result": {}}}, journal, 2).partner == 1
    assert row({"message": {"id": 1, "result": {}}}, journal, 3).partner == 0


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (
            {"message": {"method": "n/x", "params": {"data": "d"}}},
            ("server", "notification", "n/x", "d"),
        ),
        ({"message": {"method": "n/x", "params": []}}, ("server", "notification", "n/x", "")),
        (
            {"message": {"id": 1, "error": {"code": -1, "message": "no"}}},
            ("server", "error", "answer", "-1: no"),
        ),
        (
            {"message": {"id": 1, "result": {"isError": True}}},
            ("server", "error", "answer", "the tool failed"),
        ),
        ({"message": [{}, {}]}, ("server", "notification", "batch", "2 messages")),
        ({"message": 7}, ("server", "notification", "batch", "not a message")),
        ({"channel": "stderr", "text": "a\nline"}, ("stderr", "text", "a line", "")),
        (
            {"channel": "http-1", "event": {"data": {"method": "n/y"}}},
            ("server", "notification", "n/y", ""),
        ),
        (
            {"channel": "http-1", "event": {"data": [{}, {}]}},
            ("server", "notification", "batch", "2 messages"),
        ),
        (
            {"channel": "http-1", "event": {"id": "7", "data": "x"}},
            ("http", "http", "event", "7, x"),
        ),
        (
            {"channel": "http-1", "http": {"status": 202, "reason": "Accepted"}},
            ("http", "http", "202 Accepted", ""),
        ),
        (
            {"channel": "http-1", "direction": "sent", "http": {"method": "GET", "target": "/mcp"}},
            ("http", "http", "GET /mcp", ""),
        ),
        ({"channel": "http-1", "end": "complete"}, ("http", "http", "end", "complete")),
        (
            {"frame": "close", "reason": "bye", "channel": "websocket"},
            ("server", "text", "close frame", "bye"),
        ),
        (
            {"direction": "sent", "base64": "AA=="},
            ("client", "text", "bytes that are not UTF-8", ""),
        ),
        (
            {"direction": "note", "error": {"type": "ConnectionLost", "text": "gone"}},
            ("client", "error", "ConnectionLost", "gone"),
        ),
        (
            {"direction": "note", "abandoned": 4},
            ("client", "note", "the caller stopped waiting", "for the response to 4"),
        ),
        ({"direction": "note", "channel": "http-2", "end": "x"}, ("http", "note", "end", "x")),
    ],
)
def test_every_kind_of_record(record: dict[str, Any], expected: tuple[str, ...]) -> None:
    made = row(record)
    assert (made.lane, made.kind, made.label, made.detail) == expected


def test_texts_are_cut() -> None:
    made = row({"message": {"method": "m" * 500, "params": {"name": "n" * 500}}})
    assert (len(made.label), len(made.detail)) == (121, 201)


def test_requests_without_an_answer_are_forgotten_in_the_end() -> None:
    journal = Journal()
    for number in range(10_001):
        row({"direction": "sent", "message": {"id": number, "method": "m"}}, journal, number)
    assert row({"message": {"id": 0, "result": {}}}, journal).partner is None
    assert row({"message": {"id": 10_000, "result": {}}}, journal).partner == 10_000


SENT = {"direction": "sent", "message": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}


def answer(identity: Any, **result: Any) -> dict[str, Any]:
    return {"message": {"jsonrpc": "2.0", "id": identity, "result": result}}


def test_a_response_nobody_waits_for_is_a_fault() -> None:
    """F-SHOW-14: of an unknown id, of one answered before, of an id of another type."""
    journal = Journal()
    row(SENT, journal, 0)
    assert row(answer("1", tools=[]), journal, 1).fault == "its id '1' was not that of a request"
    assert row(answer(1, tools=[]), journal, 2).fault == ""
    assert row(answer(1, tools=[]), journal, 3).fault == "its id 1 was answered before"


def test_who_attaches_later_has_not_seen_all_requests() -> None:
    """F-SHOW-14: an unknown id is no violation there."""
    journal = Journal()
    row({"direction": "sent", "channel": "recalled", "message": {"id": "opening"}}, journal, 0)
    assert row(answer(7), journal, 1).fault == ""


def test_the_result_has_to_fit_its_request_and_only_the_servers() -> None:
    journal = Journal()
    row(SENT, journal, 0)
    assert row(answer(1), journal, 1).fault == "its result has no list 'tools'"
    asked = {"message": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}
    row(asked, journal, 2)
    assert row({"direction": "sent", **answer(1)}, journal, 3).fault == ""


@pytest.mark.parametrize(
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
    assert row(record).fault == fault


def test_a_login_follows_rules_of_its_own() -> None:
    """F-SHOW-14: only the answers to MCP's requests are judged as such."""
    journal = Journal()
    head = {"method": "POST", "target": "/token"}
    row({"direction": "sent", "channel": "http-1", "http": head, "text": "a=b"}, journal, 0)
    got = {"status": 400, "reason": "Bad Request"}
    refusal = {"channel": "http-1", "http": got, "message": {"error": "invalid_grant"}}
    assert row({"time": 1.5, **refusal}, journal, 1).fault == ""
    exchange = journal.exchanges["http-1"]
    assert (exchange["method"], exchange["status"]) == ("POST", 400)
    assert exchange["milliseconds"] == 500.0
    message = SENT["message"]
    row({"direction": "sent", "channel": "http-2", "http": head, "message": message}, journal, 2)
    assert row({"channel": "http-2", "http": got, "message": {"a": 1}}, journal, 3).fault


def test_json_that_is_not_compact_is_a_message() -> None:
    """F-SHOW-14: as servers in Python write it."""
    journal = Journal()
    row(SENT, journal, 5)
    text = '{"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}'
    assert row({"text": text}, journal, 6).partner == 5
    event = {"event": {"data": '{"jsonrpc": "2.0", "method": "notifications/x"}'}}
    assert row(event, journal, 7).label == "notifications/x"


def test_a_log_message_shows_logger_level_and_text() -> None:
    params = {"level": "error", "logger": "db", "data": {"disk": "full"}}
    message = {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
    made = row({"message": message})
    assert (made.label, made.level, made.detail) == ("db", "error", '{"disk": "full"}')


def test_rows_know_the_time_of_day() -> None:
    journal = Journal()
    header = {"transcript": 1, "transport": "stdio", "recorded": "2026-07-28T12:00:00Z"}
    assert journal.row(0, header, 9).at == 1785240000.0
    assert row({}, journal, 1).at == 1785240001.0
    assert journal.row(2, {"transcript": 1, "transport": "stdio"}, 9).at is None
