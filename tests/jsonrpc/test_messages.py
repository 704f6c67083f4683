"""The four kinds of message: F-WIRE-1 and F-WIRE-2."""

from __future__ import annotations

from mcpclient.jsonrpc.messages import ErrorCode


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
