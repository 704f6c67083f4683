"""F-SHOW-14: violations of the protocol in what a server sends."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.inspector.journal import message_fault, result_fault

ERROR = {"code": -32603, "message": "m"}


@pytest.mark.parametrize(
    "message",
    [
        {"id": 1, "result": {}},
        {"id": "a", "error": ERROR},
        {"id": None, "error": ERROR},
        {"id": 1, "method": "ping"},
        {"method": "notifications/x", "params": {}},
    ],
)
def test_proper_messages_have_no_fault(message: Any) -> None:
    assert message_fault({"jsonrpc": "2.0", **message}) == ""


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ([], "it is not a JSON object"),
        ({"event": "ready"}, "it is not a JSON-RPC message"),
        ({"id": 1, "result": {}}, 'it has no "jsonrpc": "2.0"'),
        ({"jsonrpc": 2.0, "id": 1, "result": {}}, 'it has no "jsonrpc": "2.0"'),
        ({"jsonrpc": "2.0", "id": True, "result": {}}, "its id is neither a string nor an integer"),
        ({"jsonrpc": "2.0", "id": None, "result": {}}, "its id is neither a string nor an integer"),
        ({"jsonrpc": "2.0", "method": 7}, "its method is not a string"),
        ({"jsonrpc": "2.0", "method": "x", "params": []}, "its params are not an object"),
        ({"jsonrpc": "2.0", "method": "x", "result": {}}, "it has a method and a result"),
        ({"jsonrpc": "2.0", "result": {}}, "it has neither a method nor an id"),
        ({"jsonrpc": "2.0", "id": 1}, "it has neither result and error"),
        ({"jsonrpc": "2.0", "id": 1, "result": {}, "error": ERROR}, "it has both result and error"),
        ({"jsonrpc": "2.0", "id": 1, "error": "no"}, "its error has no message"),
        (
            {"jsonrpc": "2.0", "id": 1, "error": {**ERROR, "code": "1"}},
            "its error has no integer as its code",
        ),
    ],
)
def test_a_fault_is_named(message: Any, fault: str) -> None:
    assert message_fault(message) == fault


@pytest.mark.parametrize(
    ("method", "result", "fault"),
    [
        ("ping", [], "its result is not an object"),
        ("tools/list", {}, "its result has no list 'tools'"),
        ("initialize", {"protocolVersion": 1}, "its result has no string 'protocolVersion'"),
        ("tools/call", {"content": ["a"]}, "its content has a block without a type"),
        ("tools/call", {"content": [{"type": "text", "text": "a"}]}, ""),
        ("tools/call", {"resultType": "input_required"}, ""),
        ("tools/call", {"task": {"taskId": "t"}}, ""),
        ("x/y", {}, ""),
    ],
)
def test_the_shape_of_a_result_is_that_of_its_method(method: str, result: Any, fault: str) -> None:
    assert result_fault(method, result) == fault
