"""F-CONF-2: a fault put into the library on purpose makes the replay fail, and it says of what."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from conformance import replay
from conformance.replay.chunkings import CHUNKINGS
from mcpclient.jsonrpc.correlator import Correlator
from mcpclient.transports.event_stream import EventStream
from mcpclient.transports.streamable_http import StreamableHttpTransport

# A port is used again, and by another server.
pytestmark = pytest.mark.usefixtures("fresh_eras")

# Real seconds without any progress that count as stalled, which some of the faults lead to.
STALLED = 0.3


def assert_found(name: str, *texts: str) -> None:
    """Replay one transcript as recorded, and see that every text is part of the findings."""
    transcript = replay.transcripts([name])[name]
    meeting = replay.replay(name, transcript, CHUNKINGS[0], STALLED)
    found = asyncio.run(meeting).findings
    for text in texts:
        assert any(text in line for line in found), f"{text!r} is not in {found}"


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
        "http/sdk1-resumable-resumed",
        ["too soon: GET /mcp came "],
    ),
    "progress not delivered": (
        *(Correlator, "progress", lambda *_: False),
        "http/sdk1-progress",
        ["step 0: progress is nothing, recorded was [{"],
    ),
}


@pytest.mark.parametrize("wrong", REPLACED)
def test_what_is_replaced(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, replacement, session, found = REPLACED[wrong]
    monkeypatch.setattr(owner, name, replacement)
    assert_found(session, *found)
