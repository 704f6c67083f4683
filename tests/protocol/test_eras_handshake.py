"""How the handshake era words a call: F-LIFE-1 and F-API-8."""

from __future__ import annotations

from mcpclient.jsonrpc import messages
from mcpclient.protocol.eras import HandshakeEra
from mcpclient.protocol.negotiation import ClientIdentity, EraRules
from mcpclient.protocol.outgoing import Cancel

IDENTITY = ClientIdentity({"name": "test", "version": "1"}, {"roots": {}})
VERSION_HEADER = {"MCP-Protocol-Version": "2025-06-18"}


def test_initialize() -> None:
    """F-LIFE-1: it offers a revision in the body, has no version header, and is never cancelled."""
    era = HandshakeEra("2025-11-25", IDENTITY, agreed=False)
    outgoing = era.opening_request(1)
    assert outgoing.message == {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"roots": {}},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    assert dict(outgoing.headers) == {}
    assert outgoing.cancel is Cancel.NOT_ALLOWED
    assert outgoing.opens_session and not outgoing.in_session
    assert outgoing.repeatable


def test_capabilities_of_this_era() -> None:
    """F-LIFE-1: some capabilities exist only where the server may send requests of its own."""
    identity = ClientIdentity({}, {"roots": {}}, {"roots": {"listChanged": True}, "tasks": {}})
    params = HandshakeEra("2025-11-25", identity, agreed=False).opening_request(1).message["params"]
    assert params["capabilities"] == {"roots": {"listChanged": True}, "tasks": {}}


def test_a_call() -> None:
    """F-LIFE-1: params as they are, the version in a header, cancelled by a notification."""
    era: EraRules = HandshakeEra("2025-06-18", IDENTITY)
    params = {"name": "echo", "arguments": {}, "_meta": {"progressToken": 1}}
    outgoing = era.request(2, "tools/call", params, "debug")
    assert outgoing.message == messages.request(2, "tools/call", params)
    assert dict(outgoing.headers) == VERSION_HEADER
    assert outgoing.cancel is Cancel.NOTIFY
    assert outgoing.resumable
    assert not outgoing.repeatable
    assert not outgoing.opens_session and outgoing.in_session
    assert not era.is_stateless
    assert "params" not in era.request(3, "ping", None, None).message


def test_a_call_that_asks_for_a_task() -> None:
    """F-API-13: tasks/cancel cancels it, and no notification does."""
    era = HandshakeEra("2025-11-25", IDENTITY)
    params = {"name": "echo", "arguments": {"task": {}}}
    assert era.request(2, "tools/call", params, None).cancel is Cancel.NOTIFY
    assert era.request(3, "tools/call", {**params, "task": {}}, None).cancel is Cancel.NOT_ALLOWED


def test_everything_else_has_the_version_too() -> None:
    """F-LIFE-1: notifications and answers carry the agreed revision over HTTP."""
    era = HandshakeEra("2025-06-18", IDENTITY)
    answer = messages.response(9, {})
    assert dict(era.notification("notifications/initialized", None).headers) == VERSION_HEADER
    assert dict(era.answer(answer).headers) == VERSION_HEADER
    assert era.answer(answer).message is answer
    assert era.headers == VERSION_HEADER


def test_cancellation() -> None:
    """F-API-8: the server is told which request, by the id as it was sent, and why."""
    outgoing = HandshakeEra("2025-06-18", IDENTITY).cancellation(7, "timed out")
    assert outgoing.message == messages.notification(
        "notifications/cancelled", {"requestId": 7, "reason": "timed out"}
    )
    assert outgoing.request_id is None


def test_the_type_of_a_result_is_a_field_like_any_other() -> None:
    """F-LIFE-2: it is read in the stateless era only."""
    era = HandshakeEra("2025-06-18", IDENTITY)
    for kind in ("input_required", "task", "complete", "vendor", None):
        result = {"resultType": kind, "inputRequests": {"q": {"method": "roots/list"}}}
        for takes_tasks in (False, True):
            assert era.input_requests("tools/call", result, takes_tasks=takes_tasks) is None
