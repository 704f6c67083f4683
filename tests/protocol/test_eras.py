"""The wording of a call in each era: F-LIFE-1 to F-LIFE-3 and F-HTTP-9."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import ProtocolViolation
from mcpclient.jsonrpc.codec import VerbatimObject
from mcpclient.protocol.eras import HandshakeEra, StatelessEra
from mcpclient.protocol.negotiation import ClientIdentity
from mcpclient.protocol.outgoing import Cancel
from tests.support.tables import each_row

IDENTITY = ClientIdentity({"name": "test", "version": "1"})
PREFIX = "io.modelcontextprotocol/"
HANDSHAKE = HandshakeEra("2025-11-25", IDENTITY)
STATELESS = StatelessEra("2026-07-28", IDENTITY)


def test_initialize() -> None:
    """F-LIFE-1: it has no version header, belongs to no session, and is never cancelled."""
    outgoing = HandshakeEra("2025-11-25", IDENTITY, agreed=False).opening_request(1)
    assert dict(outgoing.headers) == {}
    assert outgoing.cancel is Cancel.NOT_ALLOWED
    assert outgoing.opens_session and not outgoing.in_session


def test_a_call_that_asks_for_a_task() -> None:
    """F-API-13: tasks/cancel cancels it, and no notification does."""
    params: dict[str, Any] = {"name": "echo", "arguments": {"task": {}}}
    asking: dict[str, Any] = {**params, "task": {}}
    ways = [HANDSHAKE.request(2, "tools/call", each, None).cancel for each in (params, asking)]
    assert ways == [Cancel.NOTIFY, Cancel.NOT_ALLOWED]


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
def test_a_call_that_may_have_run_is_not_repeated(era: HandshakeEra | StatelessEra) -> None:
    """F-WIRE-5, F-MANY-5"""
    methods = ("tools/call", "tasks/cancel", "vendor/unknown", "tools/list", "ping")
    assert [era.request(1, each, {}, None).repeatable for each in methods] == [False] * 3 + [
        True
    ] * 2


def test_metadata_of_a_caller() -> None:
    """F-HTTP-9, F-LIFE-2: the revision stays as in the header; a call may have its own level."""
    level = PREFIX + "logLevel"
    given = {"_meta": {PREFIX + "protocolVersion": "1900-01-01", level: "error"}}
    outgoing = STATELESS.request(1, "tools/list", given, "debug")
    meta = outgoing.message["params"]["_meta"]
    assert meta[PREFIX + "protocolVersion"] == outgoing.headers["MCP-Protocol-Version"]
    assert meta[level] == "error"
    passed_on = VerbatimObject({"_meta": {}}, b'{"_meta":{}}')
    assert STATELESS.request(1, "tools/list", passed_on, None).message["params"] is passed_on


def test_the_probe_is_not_cancelled_and_a_subscription_stays_open() -> None:
    """F-LIFE-3, F-API-14"""
    assert STATELESS.request(1, "server/discover", None, None).cancel is Cancel.NOT_ALLOWED
    assert STATELESS.request(1, "tools/list", None, None).cancel is Cancel.CLOSE_STREAM
    assert STATELESS.request(1, "subscriptions/listen", None, None).stays_open


@each_row(
    ("method", "params", "name"),
    [
        ("prompts/get", {"name": "übung"}, "=?base64?w7xidW5n?="),
        ("tasks/get", {"taskId": "t-1"}, "t-1"),
        ("tasks/update", {"taskId": "t-1"}, "t-1"),
        ("resources/read", {"name": "x"}, None),
        ("tools/call", {"name": 5}, None),
        ("completion/complete", {"name": "x"}, None),
    ],
)
def test_the_name_header(method: str, params: dict[str, Any], name: str | None) -> None:
    """F-HTTP-9: Mcp-Name repeats the name, the URI or the id of the task."""
    assert STATELESS.request(1, method, params, None).headers.get("Mcp-Name") == name


def test_the_type_of_a_result_is_read() -> None:
    """F-LIFE-2, F-API-14: a task is a result only of a call, and where tasks are accepted."""
    task = {"resultType": "task", "taskId": "1"}
    assert STATELESS.input_requests("tools/call", task, takes_tasks=True) is None
    for method, takes_tasks in (("tools/call", False), ("prompts/get", True)):
        with pytest.raises(ProtocolViolation, match="unknown resultType 'task'"):
            STATELESS.input_requests(method, task, takes_tasks=takes_tasks)
