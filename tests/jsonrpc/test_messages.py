"""The four kinds of message: F-WIRE-1 and F-WIRE-2."""

from __future__ import annotations

from mcpclient.jsonrpc import messages
from mcpclient.jsonrpc.messages import ErrorCode


def test_the_four_kinds() -> None:
    """F-WIRE-1: requests, notifications, results and errors, with nothing that was not given."""
    assert messages.request(1, "ping", None) == {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert messages.request("a", "m", {}) == {
        "jsonrpc": "2.0",
        "id": "a",
        "method": "m",
        "params": {},
    }
    assert messages.notification("n", None) == {"jsonrpc": "2.0", "method": "n"}
    assert messages.notification("n", {"a": 1}) == {
        "jsonrpc": "2.0",
        "method": "n",
        "params": {"a": 1},
    }
    assert messages.response("7", {}) == {"jsonrpc": "2.0", "id": "7", "result": {}}


def test_codes_by_name() -> None:
    """F-WIRE-2: every code of JSON-RPC and of all revisions."""
    assert {code.name: code.value for code in ErrorCode} == {
        "PARSE_ERROR": -32700,
        "INVALID_REQUEST": -32600,
        "METHOD_NOT_FOUND": -32601,
        "INVALID_PARAMS": -32602,
        "INTERNAL_ERROR": -32603,
        "RESOURCE_NOT_FOUND": -32002,
        "HEADER_MISMATCH": -32020,
        "MISSING_REQUIRED_CLIENT_CAPABILITY": -32021,
        "UNSUPPORTED_PROTOCOL_VERSION": -32022,
        "URL_ELICITATION_REQUIRED": -32042,
    }
