"""F-CONF-2: a fault put into the library on purpose makes the replay fail, and it says of what."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from conformance import replay
from conformance.replay.chunkings import CHUNKINGS
from mcpclient.auth import obtaining
from mcpclient.client.connection import call_recovery
from mcpclient.jsonrpc.correlator import Correlator
from mcpclient.transports import streamable_http
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


def test_a_busy_server_that_is_asked_again_too_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_recovery, "_RETRY_AFTER", 0.0)
    monkeypatch.setattr("mcpclient.net.http_dates.retry_after_seconds", lambda *_: 0.0)
    for name in ("http/sdk1-crowded-calls", "http/sdk2-crowded-calls-2026-07-28"):
        assert_found(name, "too soon: POST /mcp tools/call came", "with Retry-After: 1")


async def nothing(*_: object, **__: object) -> None: ...


# By fault: the attribute that is replaced, the session, and the findings in it.
REPLACED: dict[str, tuple[Any, str, Any, str, list[str]]] = {
    "a wrong accept header": (
        *(streamable_http, "_POST_HEADERS"),
        [("Accept", "application/json"), ("Content-Type", "application/json")],
        "http/sdk1-terminated",
        [
            "POST /mcp initialize: header accept is application/json, "
            "recorded was application/json, text/event-stream"
        ],
    ),
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
    "a challenge that does not fit its verifier": (
        *(obtaining, "code_challenge", lambda verifier: verifier),
        "http/authorized-code",
        ["POST /token: form field code_verifier is not that of the code_challenge"],
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
