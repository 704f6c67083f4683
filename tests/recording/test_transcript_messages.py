"""F-SHOW-6, F-SHOW-8: the record of messages over a transport that writes none itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcpclient.errors import ConnectionLost, ProtocolViolation
from mcpclient.recording.transcript import MessageLog


class Written:
    """Keeps the records and notes that are written."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def record(self, direction: str, channel: str, facts: Mapping[str, Any]) -> None:
        self.records.append({"direction": direction, "channel": channel, **facts})

    def note_failure(self, channel: str, error: BaseException, **facts: Any) -> None:
        self.records.append({"note": str(error), "channel": channel, **facts})


def test_what_becomes_of_messages_is_told_and_of_two_ends_the_first() -> None:
    written = Written()
    log = MessageLog(written, "stdio")
    log.sent({"id": 1})
    log.received({"id": 2})
    log.abandoned(3)
    log.failed(ProtocolViolation("bad"), None)
    log.failed(ProtocolViolation("worse"), 4)
    log.closed()
    log.lost(ConnectionLost("late"))
    assert [{**record, "channel": ""} for record in written.records] == [
        {"direction": "sent", "channel": "", "message": {"id": 1}},
        {"direction": "received", "channel": "", "message": {"id": 2}},
        {"direction": "note", "channel": "", "abandoned": 3},
        {"note": "bad", "channel": ""},
        {"note": "worse", "channel": "", "answers": 4},
        {"direction": "sent", "channel": "", "end": "closed"},
    ]
    assert {record["channel"] for record in written.records} == {"stdio"}
    other = MessageLog(written, "stdio")
    other.lost(ConnectionLost("gone"), "never opened")
    other.closed()
    assert written.records[6:] == [{"note": "gone", "channel": "stdio", "end": "never opened"}]
