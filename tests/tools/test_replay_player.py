"""F-CONF-2: the player of transcripts: what it takes for equal, what it finds, and how it cuts."""

from __future__ import annotations

import asyncio
from typing import Any

from conformance import replay
from conformance.replay.chunkings import CHUNKINGS
from conformance.replay.comparing import Comparison
from conformance.replay.differences import Known
from conformance.replay.meeting import Report
from conformance.replay.names import Names
from conformance.replay.player import Player
from mcpclient.recording.transcript import Record, Transcript

# Real seconds without any progress that count as stalled.
STALLED = 0.2

Message = dict[str, Any]


# Comparing


def compared(recorded: Message, ours: Message, names: Names | None = None) -> list[str]:
    records = ({"channel": "stdio", "message": message} for message in (recorded, ours))
    return Comparison(names or Names()).record(*records).found


def call(id: object, **params: Any) -> Message:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def test_ids_tokens_and_empty_members_may_differ() -> None:
    recorded = call(0, name="a", arguments={}, _meta={"progressToken": 0})
    assert compared(recorded, call("x", name="a", _meta={"progressToken": "t"})) == []


def test_nothing_else_may_differ() -> None:
    recorded = call(0, name="a", arguments={"n": 1, "list": [1]})
    assert compared(recorded, call(1, name="a", arguments={"n": True, "list": [1]})) == [
        "params.arguments.n is true, recorded was 1"
    ]
    assert compared(recorded, call(1, name="a", arguments={"n": 1, "list": [1, 2]})) == [
        "params.arguments.list is [1, 2], recorded was [1]"
    ]
    assert compared(recorded, call(1, name="a", arguments={"n": 1, "list": [1]}, more=None)) == [
        "params.more is null, recorded was nothing"
    ]


def test_a_secret_is_the_same_wherever_it_comes() -> None:
    names = Names({50000: 4321})
    assert names.is_text("Bearer redacted-1", "Bearer mine")
    assert names.is_text("http://localhost:50000/?t=redacted-1", "http://localhost:4321/?t=mine")
    assert not names.is_text("redacted-1", "another")
    names.heard(["redacted-2"])
    assert not names.is_text("redacted-2", "mine")
    assert names.played("redacted-1 redacted-2 127.0.0.1:50000") == "mine redacted-2 127.0.0.1:4321"


# Playing: sessions of pings, made by hand


HOST = ["host", "127.0.0.1:50000"]
HEADERS = [
    HOST,
    ["accept", "application/json, text/event-stream"],
    ["content-type", "application/json"],
    ["mcp-protocol-version", "2025-11-25"],
]
INFO = {"name": "by-hand", "version": "1"}
CONNECTED = {"protocol_version": "2025-11-25", "capabilities": {}}
PING = {"do": "ping"}


def note(**facts: Any) -> Record:
    return {"time": 0, "direction": "note", "channel": "script", **facts}


def exchange(
    number: int, message: Message | None, answer: Message | None, status: int, opens: bool = False
) -> list[Record]:
    """Return the records of one request and its whole response."""
    channel = {"time": 0, "channel": f"http-{number}"}
    stream = [HOST, ["accept", "text/event-stream"], HEADERS[3]]
    method, headers = ("POST", HEADERS) if message else ("GET", stream)
    request = {"method": method, "target": "/mcp", "headers": headers[: 3 if opens else None]}
    length = ["Content-Length", "0"]
    response: dict[str, Any] = {"status": status, "reason": "", "headers": [length]}
    if answer:
        response["headers"] = [length, ["Content-Type", "application/json"]]
    sent = {**channel, "direction": "sent", "http": request}
    received = {**channel, "direction": "received", "http": response, "end": "complete"}
    return [
        {**sent, "message": message} if message else sent,
        {**received, "message": answer} if answer else received,
    ]


def asked(number: int, method: str, result: Message, **params: Any) -> list[Record]:
    """Return the records of a request over the channel of this number, which is its id as well."""
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    answer = {"jsonrpc": "2.0", "id": number, "result": result}
    if params:
        message["params"] = params
    return exchange(number, message, answer, 200, opens=method == "initialize")


def session(pings: int) -> Transcript:
    """Return a session with this many pings, one after the other."""
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": INFO}
    result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": INFO}
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    records = [
        *asked(1, "initialize", result, **params),
        *exchange(2, None, None, 405),
        *exchange(3, initialized, None, 202),
        note(connected={**CONNECTED, "server": INFO}),
    ]
    for step in range(pings):
        records += [
            note(step=step, do="ping", begins=True),
            *asked(4 + step, "ping", {}),
            note(step=step, outcome={"result": {}}),
        ]
    header = {
        "transcript": 1,
        "transport": "http",
        "target": "http://127.0.0.1:50000/mcp",
        "protocol_version": "2025-11-25",
        "client": {"info": INFO},
        "script": {"steps": [PING] * pings, "revision": "2025-11-25", "client": {}},
    }
    return Transcript(header, [*records, note(closed=True)])


def played(made: Transcript) -> Report:
    return asyncio.run(replay.replay("http/by-hand", made, CHUNKINGS[0], STALLED, []))


def test_a_stall_names_the_message_that_never_came() -> None:
    made = session(pings=1)
    made.records[7:7] = asked(9, "tools/list", {})[:1]
    assert played(made).findings == [
        "what comes before step 0 (ping) stalled for 0.2 s: "
        "record 8 (POST /mcp tools/list) never came from the client",
        "never sent: POST /mcp tools/list",
        "never sent: POST /mcp ping",
    ]


def test_a_message_that_was_never_recorded_is_found() -> None:
    made = session(pings=1)
    made.header["script"]["steps"] = [PING, {"do": "list_tools"}]
    findings = played(made).findings
    assert findings[0] == "never recorded: POST /mcp tools/list"
    assert findings[1].startswith("step 1 has no outcome in the transcript")


async def test_messages_in_another_order_are_found() -> None:
    player = Player(session(pings=0), CHUNKINGS[0], Names(), Known("http/by-hand", []))
    initialize, answer, stream, _, initialized, *_ = player.lines
    player.took(initialize.record)
    answer.begun = True
    player.took(initialized.record)
    player.took(stream.record)

    assert player.findings == [
        "too early: POST /mcp notifications/initialized came before record 4 (status 405) was "
        "received",
        "order: POST /mcp notifications/initialized came before GET /mcp",
    ]


# Cutting


def test_a_chunking_loses_nothing() -> None:
    pieces = ["Grüße\n".encode(), b"", b"x" * 3000]
    for chunking in CHUNKINGS:
        assert b"".join(chunking.blocks(pieces)) == b"".join(pieces)
