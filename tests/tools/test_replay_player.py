"""F-CONF-2: the player of transcripts: what it takes for equal, what it finds, and how it cuts."""

from __future__ import annotations

import asyncio
from typing import Any

from conformance import replay
from conformance.replay.chunkings import CHUNKINGS
from conformance.replay.comparing import Comparison
from conformance.replay.differences import Known
from conformance.replay.names import Names
from conformance.replay.player import Player
from mcpclient.recording.transcript import Transcript

# Real seconds without any progress that count as stalled.
STALLED = 0.2

Message = dict[str, Any]


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


# Playing: a recorded session with a mistake in it

NAME = "http/sdk1-terminated"


def recorded() -> Transcript:
    """A session that opens, calls a tool once, and ends."""
    return replay.transcripts([NAME])[NAME]


def played(made: Transcript) -> list[str]:
    return asyncio.run(replay.replay(NAME, made, CHUNKINGS[0], STALLED)).findings


def test_a_stall_names_the_message_that_never_came() -> None:
    made = recorded()
    number = next(n for n, one in enumerate(made.records) if one["channel"] == "http-4")
    listing = {"jsonrpc": "2.0", "id": 9, "method": "tools/list"}
    never = {**made.records[number], "channel": "http-9", "message": listing}
    before, after = made.records[:number], made.records[number:]
    findings = played(Transcript(made.header, [*before, never, *after]))
    assert (
        "step 0 (call_tool) stalled for 0.2 s: "
        "record 11 (POST /mcp tools/list) never came from the client"
    ) in findings
    assert "never sent: POST /mcp tools/list" in findings


def test_a_message_that_was_never_recorded_is_found() -> None:
    made = recorded()
    steps = [made.header["script"]["steps"][0], {"do": "list_tools"}]
    script = {**made.header["script"], "steps": steps}
    findings = played(Transcript({**made.header, "script": script}, made.records))
    assert "never recorded: POST /mcp tools/list" in findings


async def test_messages_in_another_order_are_found() -> None:
    player = Player(recorded(), CHUNKINGS[0], Names(), Known(NAME, []))
    initialize, stream = player.lines[0], player.lines[6]
    player.took(initialize.record)
    player.took(stream.record)
    assert player.findings == [
        "too early: GET /mcp came before record 2 (status 200) was received",
        "order: GET /mcp came before POST /mcp notifications/initialized",
    ]


def test_a_chunking_loses_nothing() -> None:
    pieces = ["Grüße\n".encode(), b"", b"x" * 3000]
    for chunking in CHUNKINGS:
        assert b"".join(chunking.blocks(pieces)) == b"".join(pieces)
