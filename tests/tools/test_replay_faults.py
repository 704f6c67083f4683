"""F-CONF-2: a fault put into the library on purpose makes the replay fail, and it says of what."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping
from typing import Any, Callable

import pytest

from conformance import replay
from conformance.replay.chunkings import CHUNKINGS
from mcpclient.auth import obtaining
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


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Message], None]], None]:
    """Let a function change every message that goes out."""
    encode = Outgoing.encode

    def install(function: Callable[[Message], None]) -> None:
        def changed(self: Outgoing) -> bytes:
            message = json.loads(encode(self))
            function(message)
            return json.dumps(message).encode()

        monkeypatch.setattr(Outgoing, "encode", changed)

    return install


Change = Callable[[Callable[[Message], None]], None]


@pytest.fixture
def without_header(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Leave one of the protocol's headers out."""
    headers = vars(Outgoing)["headers"].fget

    def install(left_out: str) -> None:
        def some(self: Outgoing) -> Mapping[str, str]:
            return {name: value for name, value in headers(self).items() if name != left_out}

        monkeypatch.setattr(Outgoing, "headers", property(some))

    return install


# Heads of requests


def test_a_missing_version_header(without_header: Callable[[str], None]) -> None:
    without_header("MCP-Protocol-Version")
    assert_found(
        "http/sdk1-terminated",
        "POST /mcp tools/call: header mcp-protocol-version is nothing, recorded was 2025-11-25",
    )


@pytest.mark.parametrize("header", ["Mcp-Method", "Mcp-Name"])
def test_a_missing_header_of_the_stateless_era(
    header: str, without_header: Callable[[str], None]
) -> None:
    without_header(header)
    assert_found(
        "http/sdk2-cancel-2026-07-28",
        f"POST /mcp tools/call: header {header.lower()} is nothing, recorded was ",
    )


def test_a_wrong_accept_header(monkeypatch: pytest.MonkeyPatch) -> None:
    headers = [("Accept", "application/json"), ("Content-Type", "application/json")]
    monkeypatch.setattr(streamable_http, "_POST_HEADERS", headers)
    assert_found(
        "http/sdk1-terminated",
        "POST /mcp initialize: header accept is application/json, "
        "recorded was application/json, text/event-stream",
    )


def test_a_session_id_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StreamableHttpTransport, "begin_session", lambda *_: None)
    assert_found(
        "http/sdk1-terminated",
        "POST /mcp tools/call: header mcp-session-id is nothing, recorded was redacted-1",
        "never sent: DELETE /mcp",
    )


def test_a_resumption_that_does_not_say_from_where(monkeypatch: pytest.MonkeyPatch) -> None:
    open_stream = StreamableHttpTransport.open_stream

    async def from_anywhere(self: Any, last_event_id: str, *args: Any, **options: Any) -> Any:
        return await open_stream(self, "", *args, **options)

    monkeypatch.setattr(StreamableHttpTransport, "open_stream", from_anywhere)
    assert_found("http/sdk1-resumable-resumed", "GET /mcp: header last-event-id is nothing")


def test_a_session_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: object) -> None: ...

    monkeypatch.setattr(StreamableHttpTransport, "_end_session", nothing)
    assert_found("http/sdk1-terminated", "never sent: DELETE /mcp")


def test_a_session_that_only_the_library_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the reference client leaves it behind, ours has to end it all the same."""

    async def nothing(*_: object) -> None: ...

    monkeypatch.setattr(StreamableHttpTransport, "_end_session", nothing)
    assert_found(
        "http/sdk1-cancel", "a known difference did not occur: the session is ended with DELETE"
    )


def test_a_stream_resumed_too_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EventStream, "next_delay", lambda self, longest=0.0: 0.001)
    assert_found("http/sdk1-resumable-resumed", "too soon: GET /mcp came ")


def test_a_challenge_that_does_not_fit_its_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obtaining, "code_challenge", lambda verifier: verifier)
    assert_found(
        "http/authorized-code",
        "POST /token: form field code_verifier is not that of the code_challenge",
    )


# Messages


def test_initialized_is_never_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: object, **__: object) -> None: ...

    monkeypatch.setattr(Session, "notify", nothing)
    assert_found(
        "http/sdk1-terminated",
        "(POST /mcp notifications/initialized) never came from the client",
        "never sent: POST /mcp notifications/initialized",
    )


def test_an_id_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    init = Correlator.__init__

    def with_one_id(self: Correlator) -> None:
        init(self)
        self._ids = itertools.repeat(1)  # type: ignore[assignment]

    monkeypatch.setattr(Correlator, "__init__", with_one_id)
    assert_found("http/sdk1-terminated", "id 1 was used before: POST /mcp tools/call")


def test_a_cancellation_never_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "_abandon", lambda *_: None)
    assert_found("http/sdk1-cancel", "never sent: POST /mcp notifications/cancelled")


def test_a_cancellation_of_another_request(change: Change) -> None:
    def other(message: Message) -> None:
        if message.get("method") == "notifications/cancelled":
            message["params"]["requestId"] += 1

    change(other)
    assert_found("http/sdk1-cancel", "POST /mcp notifications/cancelled: params.requestId is ")


def test_a_request_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Session.begin

    def twice(self: Session, method: str, *args: Any, **options: Any) -> Any:
        if method == "ping":
            self.give_up(begin(self, method, *args, **options))
        return begin(self, method, *args, **options)

    monkeypatch.setattr(Session, "begin", twice)
    assert_found("http/sdk1-json-tour", "never recorded: POST /mcp ping")


def test_changed_params(change: Change) -> None:
    def other(message: Message) -> None:
        if message.get("method") == "tools/call":
            message["params"]["arguments"]["text"] = "twice"

    change(other)
    assert_found(
        "http/sdk1-terminated",
        "POST /mcp tools/call: params.arguments.text is twice, recorded was once",
    )


def test_a_param_too_many(change: Change) -> None:
    def more(message: Message) -> None:
        if message.get("method") == "tools/call":
            message["params"]["more"] = True

    change(more)
    assert_found("http/sdk1-terminated", "tools/call: params.more is true, recorded was nothing")


def test_a_missing_progress_token(change: Change) -> None:
    def without(message: Message) -> None:
        if message.get("method") == "tools/call":
            message["params"].pop("_meta", None)

    change(without)
    assert_found(
        "http/sdk1-progress", "POST /mcp tools/call: params._meta.progressToken is nothing"
    )


def test_missing_metadata_of_the_stateless_era(change: Change) -> None:
    def without(message: Message) -> None:
        meta = message.get("params", {}).get("_meta", {})
        meta.pop("io.modelcontextprotocol/clientCapabilities", None)

    change(without)
    assert_found(
        "http/sdk2-cancel-2026-07-28",
        "params._meta.io.modelcontextprotocol/clientCapabilities is nothing, recorded was {}",
    )


def test_state_not_given_back(change: Change) -> None:
    def without(message: Message) -> None:
        message.get("params", {}).pop("requestState", None)

    change(without)
    assert_found(
        "http/sdk2-asks-2026-07-28", "tools/call: params.requestState is nothing, recorded was "
    )


def test_a_wrong_answer_to_the_server(change: Change) -> None:
    def other(message: Message) -> None:
        content = message.get("result", {}).get("content")
        if isinstance(content, dict):  # of an answer with tools it is a list
            content["text"] = "No."

    change(other)
    assert_found(
        "http/sdk1-sampling", "answer to 0: result.content.text is No., recorded was It rains."
    )


def test_an_answer_under_another_id(change: Change) -> None:
    def other(message: Message) -> None:
        if "result" in message:
            message["id"] = "else"

    change(other)
    assert_found(
        "http/sdk1-roots",
        "never recorded: POST /mcp answer to 'else'",
        "(POST /mcp answer to 0) never came from the client",
    )


def test_an_error_with_another_code(change: Change) -> None:
    def other(message: Message) -> None:
        if "error" in message:
            message["error"]["code"] = -32603

    change(other)
    assert_found("http/sdk1-undeclared", "error.code is -32603, recorded was -32601")


def test_capabilities_not_declared(change: Change) -> None:
    def without(message: Message) -> None:
        message.get("params", {}).get("capabilities", {}).pop("sampling", None)

    change(without)
    assert_found("http/sdk1-sampling", "initialize: params.capabilities.sampling is nothing")


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


def test_progress_not_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Correlator, "progress", lambda *_: False)
    assert_found("http/sdk1-progress", "step 0: progress is nothing, recorded was [{")


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


def test_a_frame_that_is_not_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    def plain(first_byte: int, payload: bytes, mask_key: bytes) -> bytes:
        return bytes((first_byte, 126)) + len(payload).to_bytes(2, "big") + payload

    monkeypatch.setattr(websocket_frames, "encode_frame", plain)
    assert_found("ws/sdk1-cancel", "a frame of the client's is not masked")
