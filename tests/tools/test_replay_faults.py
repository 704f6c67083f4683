"""F-CONF-2: a fault put into the library on purpose makes the replay fail, and it says of what."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping
from typing import Any

import pytest

from conformance import replay
from conformance.replay.chunkings import CHUNKINGS
from mcpclient.auth import obtaining
from mcpclient.client.connection import call_recovery
from mcpclient.client.connection.session import Session
from mcpclient.framing import websocket_frames
from mcpclient.jsonrpc.correlator import Correlator
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports import streamable_http
from mcpclient.transports.event_stream import EventStream
from mcpclient.transports.legacy_sse import LegacySseTransport
from mcpclient.transports.stdio import StdioTransport
from mcpclient.transports.streamable_http import StreamableHttpTransport

# A port is used again, and by another server.
pytestmark = pytest.mark.usefixtures("fresh_eras")

# Real seconds without any progress that count as stalled, which some of the faults lead to.
STALLED = 0.3

Message = dict[str, Any]


def assert_found(name: str, *texts: str) -> None:
    """Replay one transcript as recorded, and see that every text is part of what was found."""
    transcript = replay.transcripts([name])[name]
    meeting = replay.replay(name, transcript, CHUNKINGS[0], STALLED)
    found = asyncio.run(meeting).findings
    for text in texts:
        assert any(text in line for line in found), f"{text!r} is not in {found}"


# When requests come


def test_a_busy_server_that_is_asked_again_too_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_recovery, "_RETRY_AFTER", 0.0)
    monkeypatch.setattr(call_recovery, "retry_after_seconds", lambda value, default: 0.0)
    for name in ("http/sdk1-crowded-calls", "http/sdk2-crowded-calls-2026-07-28"):
        assert_found(name, "too soon: POST /mcp tools/call came", "with Retry-After: 1")


# Heads of requests


@pytest.mark.parametrize(
    ("header", "session", "said"),
    [
        ("MCP-Protocol-Version", "http/sdk1-terminated", "nothing, recorded was 2025-11-25"),
        ("Mcp-Method", "http/sdk2-cancel-2026-07-28", "nothing, recorded was "),
        ("Mcp-Name", "http/sdk2-cancel-2026-07-28", "nothing, recorded was "),
    ],
)
def test_a_missing_header_of_the_protocol(
    header: str, session: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = vars(Outgoing)["headers"].fget

    def some(self: Outgoing) -> Mapping[str, str]:
        return {name: value for name, value in headers(self).items() if name != header}

    monkeypatch.setattr(Outgoing, "headers", property(some))
    assert_found(session, f"POST /mcp tools/call: header {header.lower()} is {said}")


async def nothing(*_: object, **__: object) -> None: ...


def plain_frame(first_byte: int, payload: bytes, mask_key: bytes) -> bytes:
    return bytes((first_byte, 126)) + len(payload).to_bytes(2, "big") + payload


# By what is wrong: the attribute that is replaced, the session, and what is found in it.
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
    "a session not ended": (
        *(StreamableHttpTransport, "_end_session", nothing),
        "http/sdk1-terminated",
        ["never sent: DELETE /mcp"],
    ),
    # Where the reference client leaves it behind, ours has to end it all the same.
    "a session that only the library ends": (
        *(StreamableHttpTransport, "_end_session", nothing),
        "http/sdk1-cancel",
        ["a known difference did not occur: the session is ended with DELETE"],
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
    "initialized is never sent": (
        *(Session, "notify", nothing),
        "http/sdk1-terminated",
        [
            "(POST /mcp notifications/initialized) never came from the client",
            "never sent: POST /mcp notifications/initialized",
        ],
    ),
    "a cancellation never sent": (
        *(Session, "_abandon", lambda *_: None),
        "http/sdk1-cancel",
        ["never sent: POST /mcp notifications/cancelled"],
    ),
    "progress not delivered": (
        *(Correlator, "progress", lambda *_: False),
        "http/sdk1-progress",
        ["step 0: progress is nothing, recorded was [{"],
    ),
    "a frame that is not masked": (
        *(websocket_frames, "encode_frame", plain_frame),
        "ws/sdk1-cancel",
        ["a frame of the client's is not masked"],
    ),
}


@pytest.mark.parametrize("wrong", REPLACED)
def test_what_is_replaced(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, replacement, session, found = REPLACED[wrong]
    monkeypatch.setattr(owner, name, replacement)
    assert_found(session, *found)


def test_a_resumption_that_does_not_say_from_where(monkeypatch: pytest.MonkeyPatch) -> None:
    open_stream = StreamableHttpTransport.open_stream

    async def from_anywhere(self: Any, last_event_id: str, *args: Any, **options: Any) -> Any:
        return await open_stream(self, "", *args, **options)

    monkeypatch.setattr(StreamableHttpTransport, "open_stream", from_anywhere)
    assert_found("http/sdk1-resumable-resumed", "GET /mcp: header last-event-id is nothing")


# Messages


def test_an_id_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    init = Correlator.__init__

    def with_one_id(self: Correlator) -> None:
        init(self)
        self._ids = itertools.repeat(1)  # type: ignore[assignment]

    monkeypatch.setattr(Correlator, "__init__", with_one_id)
    assert_found("http/sdk1-terminated", "id 1 was used before: POST /mcp tools/call")


def test_a_request_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Session.begin

    def twice(self: Session, method: str, *args: Any, **options: Any) -> Any:
        if method == "ping":
            self.give_up(begin(self, method, *args, **options))
        return begin(self, method, *args, **options)

    monkeypatch.setattr(Session, "begin", twice)
    assert_found("http/sdk1-json-tour", "never recorded: POST /mcp ping")


# By what is wrong: the method, or the member that tells an answer; the path of a member of such
# messages, without its value as it is to be (else it is left out); the session, and what is found.
CHANGED: dict[str, tuple[str, tuple[str, ...], list[Any], str, list[str]]] = {
    "a cancellation of another request": (
        *("notifications/cancelled", ("params", "requestId"), [10_000], "http/sdk1-cancel"),
        ["POST /mcp notifications/cancelled: params.requestId is "],
    ),
    "changed params": (
        *("tools/call", ("params", "arguments", "text"), ["twice"], "http/sdk1-terminated"),
        ["POST /mcp tools/call: params.arguments.text is twice, recorded was once"],
    ),
    "a param too many": (
        *("tools/call", ("params", "more"), [True], "http/sdk1-terminated"),
        ["tools/call: params.more is true, recorded was nothing"],
    ),
    "a missing progress token": (
        *("tools/call", ("params", "_meta"), [], "http/sdk1-progress"),
        ["POST /mcp tools/call: params._meta.progressToken is nothing"],
    ),
    "missing metadata of the stateless era": (
        "method",
        ("params", "_meta", "io.modelcontextprotocol/clientCapabilities"),
        *([], "http/sdk2-cancel-2026-07-28"),
        ["params._meta.io.modelcontextprotocol/clientCapabilities is nothing, recorded was {}"],
    ),
    "state not given back": (
        *("tools/call", ("params", "requestState"), [], "http/sdk2-asks-2026-07-28"),
        ["tools/call: params.requestState is nothing, recorded was "],
    ),
    "a wrong answer to the server": (
        *("result", ("result", "content", "text"), ["No."], "http/sdk1-sampling"),
        ["answer to 0: result.content.text is No., recorded was It rains."],
    ),
    "an answer under another id": (
        *("result", ("id",), ["else"], "http/sdk1-roots"),
        [
            "never recorded: POST /mcp answer to 'else'",
            "(POST /mcp answer to 0) never came from the client",
        ],
    ),
    "an error with another code": (
        *("error", ("error", "code"), [-32603], "http/sdk1-undeclared"),
        ["error.code is -32603, recorded was -32601"],
    ),
    "capabilities not declared": (
        *("initialize", ("params", "capabilities", "sampling"), [], "http/sdk1-sampling"),
        ["initialize: params.capabilities.sampling is nothing"],
    ),
}


@pytest.mark.parametrize("wrong", CHANGED)
def test_a_changed_message(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, (*path, last), value, session, found = CHANGED[wrong]
    encode = Outgoing.encode

    def changed(self: Outgoing) -> bytes:
        message = json.loads(encode(self))
        if kind in message or message.get("method") == kind:
            member = message
            for name in path:
                member = member.get(name, {})
            if isinstance(member, dict):  # of an answer with tools, the content is a list
                member.pop(last, None)
                member.update((last, each) for each in value)
        return json.dumps(message).encode()

    monkeypatch.setattr(Outgoing, "encode", changed)
    assert_found(session, *found)


# What the user gets


def test_a_notification_not_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    take = Session._take_notification

    def some(self: Session, method: str, params: Mapping[str, Any]) -> None:
        if method != "notifications/prompts/list_changed":
            take(self, method, params)

    monkeypatch.setattr(Session, "_take_notification", some)
    assert_found(
        "http/sdk1-changes",
        "step 2 (wait_for) stalled for 0.3 s: everything up to here was as recorded",
        "notifications: how many is 2, recorded was 3",
    )


def test_a_notification_delivered_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    deliver = EventStream._deliver

    def twice(self: EventStream, text: str) -> None:
        deliver(self, text)
        deliver(self, text)

    monkeypatch.setattr(EventStream, "_deliver", twice)
    assert_found("http/sdk1-changes", "notifications: how many is 6, recorded was 3")


def test_a_result_that_lost_something(monkeypatch: pytest.MonkeyPatch) -> None:
    settle = Correlator.settle

    def lossy(self: Correlator, message: Message) -> bool:
        if "content" in message.get("result", {}):
            message = {**message, "result": {**message["result"], "content": []}}
        return settle(self, message)

    monkeypatch.setattr(Correlator, "settle", lossy)
    assert_found("http/sdk1-terminated", "step 0: result.content is [], recorded was [{")


# Other transports


@pytest.mark.needs_posix
def test_lines_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StdioTransport, "_frame", lambda self, message: message)
    assert_found("stdio/sdk1-cancel", "a line of the client's has no end")


def test_posts_to_another_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    send = LegacySseTransport.send

    def elsewhere(self: LegacySseTransport, outgoing: Any) -> Any:
        assert self._sink is not None
        self._sink.endpoint = asyncio.get_running_loop().create_future()
        self._sink.endpoint.set_result(self.url)
        return send(self, outgoing)

    monkeypatch.setattr(LegacySseTransport, "send", elsewhere)
    assert_found("sse/sdk1-cancel", "never recorded: POST /sse initialize")
