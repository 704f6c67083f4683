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


def test_error_responses() -> None:
    """F-WIRE-2: a code is a plain integer on the wire; data only where there is some."""
    answer = messages.error_response(7, ErrorCode.METHOD_NOT_FOUND, "no")
    assert answer == {"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "no"}}
    assert type(answer["error"]["code"]) is int
    assert messages.error_response(7, 1, "no", {"a": 1})["error"]["data"] == {"a": 1}
    assert messages.error_response(7, 1, "no", 0)["error"]["data"] == 0


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


def test_what_answers_a_request() -> None:
    """F-WIRE-1: the id as it was sent, as a string or a float of it; and nothing with a method."""
    for echoed in (1, "1", 1.0):
        assert messages.is_answer({"id": echoed, "result": {}}, 1)
        assert not messages.is_answer({"id": echoed, "method": "ping"}, 1)
    for other in (None, True, 2, 1.5, "01", [1], {"id": 1}):
        assert not messages.is_answer({"id": other, "result": {}}, 1)
    assert messages.is_answer({"id": "a"}, "a")
    assert not messages.is_answer({}, "a")


def test_an_id_in_all_its_forms() -> None:
    """F-WIRE-1: one reading of ids, wherever they stand; what is no id matches nothing."""
    assert [messages.plain_id(form) for form in (7, "7", 7.0, "07", "a", -1, "0")] == [
        *(7, 7, 7, "07", "a", -1, 0)
    ]
    assert {messages.plain_id(other) for other in (None, True, 1.5)} == {None}
    assert messages.plain_id([1]) is None
