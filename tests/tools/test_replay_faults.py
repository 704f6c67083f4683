"""F-CONF-2: a fault put into the library on purpose makes the replay fail, and it says of what."""

from __future__ import annotations

from typing import Any

import pytest

from conformance import replay
from conformance.replay.chunkings import CHUNKINGS
from conformance.replay.idle_clock import run_unhurried
from mcpclient.framing import http1
from mcpclient.jsonrpc.correlator import Correlator
from mcpclient.transports.event_stream import EventStream
from mcpclient.transports.streamable_http import StreamableHttpTransport

# A port is used again, and by another server.
pytestmark = pytest.mark.usefixtures("fresh_eras")

# Real seconds without any progress that count as stalled, which some of the faults lead to.
STALLED = 0.3


# By fault: the attribute that is replaced, the session, and the findings in it.
REPLACED: dict[str, tuple[Any, str, Any, str, list[str]]] = {
    "a session id not repeated": (
        *(StreamableHttpTransport, "begin_session", lambda *_: None),
        "http/sdk1-terminated",
        [
            "POST /mcp tools/call: header mcp-session-id is nothing, recorded was redacted-1",
            "never sent: DELETE /mcp",
        ],
    ),
    "a stream resumed too soon": (
        *(EventStream, "next_delay", lambda self, longest=0.0: 0.001),
        "own-http/scripted-resumes-and-wants-to-wait-reaction",
        ["too soon: GET /mcp came ", "GET /mcp came after 0.00 s, recorded were 0.7"],
    ),
    "an exception that escapes": (
        *(Correlator, "progress", lambda *_: 1 // 0),
        "http/sdk1-progress",
        ["an exception escaped: ZeroDivisionError", "step 0: progress is nothing, recorded was [{"],
    ),
    "a connection kept": (
        *(http1, "_keeps_alive", lambda *_: True),
        "own-http/scripted-answers-with-lengths-reaction",
        ["the connection of http-4 was to close, and "],
    ),
}


@pytest.mark.parametrize("wrong", REPLACED)
def test_what_is_replaced(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, replacement, session, texts = REPLACED[wrong]
    monkeypatch.setattr(owner, name, replacement)
    transcript = replay.transcripts([session])[session]
    meeting = replay.replay(session, transcript, CHUNKINGS[0], STALLED)
    found = run_unhurried(meeting).findings
    for text in texts:
        assert any(text in line for line in found), f"{text!r} is not in {found}"
