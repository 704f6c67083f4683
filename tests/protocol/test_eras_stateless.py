"""How the stateless era words a call: F-LIFE-2, F-HTTP-9, F-API-8 and F-API-22."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import ProtocolViolation
from mcpclient.jsonrpc import messages
from mcpclient.protocol.eras import StatelessEra
from mcpclient.protocol.negotiation import ClientIdentity, EraRules
from mcpclient.protocol.outgoing import Cancel

IDENTITY = ClientIdentity({"name": "test", "version": "1"}, {"elicitation": {}})
PREFIX = "io.modelcontextprotocol/"
META = {
    PREFIX + "protocolVersion": "2026-07-28",
    PREFIX + "clientInfo": {"name": "test", "version": "1"},
    PREFIX + "clientCapabilities": {"elicitation": {}},
}


def era() -> StatelessEra:
    return StatelessEra("2026-07-28", IDENTITY)


def test_every_request_says_who_asks() -> None:
    """F-LIFE-2: metadata in the body, mirrored in the headers."""
    rules: EraRules = era()
    outgoing = rules.request(1, "tools/list", None, None)
    assert outgoing.message == messages.request(1, "tools/list", {"_meta": META})
    assert dict(outgoing.headers) == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/list",
    }
    assert outgoing.cancel is Cancel.CLOSE_STREAM
    assert outgoing.repeatable
    assert not outgoing.resumable
    assert not outgoing.opens_session
    assert not outgoing.stays_open
    assert rules.is_stateless


def test_metadata_without_capabilities() -> None:
    """F-LIFE-2: clientCapabilities is required, an empty object where there are none."""
    bare = StatelessEra("2026-07-28", ClientIdentity({"name": "x", "version": "1"}))
    meta = bare.request(1, "ping", None, None).message["params"]["_meta"]
    assert meta[PREFIX + "clientCapabilities"] == {}


def test_a_callers_metadata_travels() -> None:
    """F-API-22: trace context and progress token go along; the params given are not changed."""
    given = {"name": "echo", "_meta": {"traceparent": "00-1", "progressToken": 4}}
    message = era().request(4, "tools/call", given, None).message
    assert message["params"]["_meta"] == {**META, "traceparent": "00-1", "progressToken": 4}
    assert given["_meta"] == {"traceparent": "00-1", "progressToken": 4}


def test_the_revision_in_body_and_header_is_one() -> None:
    """F-HTTP-9: a caller's metadata cannot make the two differ, which servers must reject."""
    given = {"_meta": {PREFIX + "protocolVersion": "1900-01-01", PREFIX + "clientInfo": {}}}
    outgoing = era().request(1, "tools/list", given, None)
    meta = outgoing.message["params"]["_meta"]
    assert meta[PREFIX + "protocolVersion"] == outgoing.headers["MCP-Protocol-Version"]
    assert meta[PREFIX + "clientInfo"] == {}


def test_the_log_level_goes_with_each_request() -> None:
    """F-LIFE-2: there is no session that could remember it; a single call may have its own."""
    request = era().request
    level = PREFIX + "logLevel"
    assert request(1, "tools/list", None, "debug").message["params"]["_meta"][level] == "debug"
    assert level not in request(1, "tools/list", None, None).message["params"]["_meta"]
    own = {"_meta": {level: "error"}}
    assert request(1, "tools/list", own, "debug").message["params"]["_meta"][level] == "error"


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "get_weather"}, "get_weather"),
        ("prompts/get", {"name": "übung"}, "=?base64?w7xidW5n?="),
        ("resources/read", {"uri": "file:///a%20b?c"}, "file:///a%20b?c"),
        ("tasks/get", {"taskId": "t-1"}, "t-1"),
        ("tasks/update", {"taskId": "t-1"}, "t-1"),
        ("tasks/cancel", {"taskId": "t-1"}, "t-1"),
        ("resources/read", {"name": "x"}, None),
        ("tools/call", {"name": 5}, None),
        ("completion/complete", {"name": "x"}, None),
    ],
)
def test_the_name_header(method: str, params: dict[str, Any], name: str | None) -> None:
    """F-HTTP-9: Mcp-Name repeats name or uri, unchanged where a header can carry it."""
    headers = era().request(1, method, params, None).headers
    assert headers["Mcp-Method"] == method
    assert headers.get("Mcp-Name") == name


def test_parameters_in_headers() -> None:
    """F-HTTP-9: annotated arguments of a tool that was listed, of tool calls only."""
    rules = era()
    schema = {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    assert rules.header_parameters is not None
    rules.header_parameters.learn({"name": "sql", "inputSchema": schema})
    params = {"name": "sql", "arguments": {"region": "us-west1"}}
    assert rules.request(1, "tools/call", params, None).headers["Mcp-Param-Region"] == "us-west1"
    assert "Mcp-Param-Region" not in rules.request(1, "prompts/get", params, None).headers


def test_two_requests_of_their_own_kind() -> None:
    """F-LIFE-3, F-API-14: the probe is not cancelled, and a subscription stays open."""
    assert era().request(1, "server/discover", None, None).cancel is Cancel.NOT_ALLOWED
    assert era().request(1, "subscriptions/listen", None, None).stays_open


def test_what_is_no_request() -> None:
    """F-API-8: cancellation where there is no stream to close, and the refusal of a request."""
    cancelled = era().cancellation(3, "cancelled")
    assert cancelled.message == messages.notification(
        "notifications/cancelled", {"requestId": 3, "reason": "cancelled"}
    )
    assert dict(cancelled.headers) == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "notifications/cancelled",
    }
    refusal = messages.error_response(1, -32601, "no")
    assert era().answer(refusal).message is refusal
    assert dict(era().answer(refusal).headers) == {"MCP-Protocol-Version": "2026-07-28"}


def test_the_type_of_a_result_is_read() -> None:
    """F-LIFE-2, F-API-14: a request for input, a task where tasks are taken, or an error."""
    asked = {"q": {"method": "roots/list"}}
    result = {"resultType": "input_required", "inputRequests": asked}
    assert era().input_requests("tools/call", result, takes_tasks=False) == asked
    task = {"resultType": "task", "taskId": "1"}
    assert era().input_requests("tools/call", task, takes_tasks=True) is None
    for method, takes_tasks in (("tools/call", False), ("prompts/get", True)):
        with pytest.raises(ProtocolViolation, match="unknown resultType 'task'"):
            era().input_requests(method, task, takes_tasks=takes_tasks)


def test_nothing_belongs_to_a_session() -> None:
    """F-LIFE-2: not even where initialize was answered with a session id before."""
    rules = era()
    for outgoing in (
        rules.request(1, "ping", None, None),
        rules.notification("notifications/cancelled", None),
        rules.answer({"id": 1}),
    ):
        assert not outgoing.in_session
