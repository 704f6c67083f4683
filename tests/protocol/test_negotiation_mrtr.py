"""Rounds of input: F-API-12 and F-LIFE-2."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import ProtocolViolation
from mcpclient.protocol.negotiation import (
    INPUT_METHODS,
    MAX_ROUNDS,
    input_requests_of,
    pause_before_retry,
    retry_params,
)

REQUESTS = {"name": {"method": "elicitation/create", "params": {}}}


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
def test_what_is_asked(method: str) -> None:
    """F-API-12: the requests of an input-required result, on the three methods that may have it."""
    result = {"resultType": "input_required", "inputRequests": REQUESTS}
    assert input_requests_of(method, result) == REQUESTS


@pytest.mark.parametrize("result", [{}, {"resultType": "complete"}, {"inputRequests": REQUESTS}])
def test_complete_results(result: dict[str, Any]) -> None:
    """F-LIFE-2: a result without resultType is complete."""
    assert input_requests_of("tools/call", result) is None
    assert input_requests_of("tools/list", result) is None


@pytest.mark.parametrize("more", [{}, {"inputRequests": {}}, {"inputRequests": None}])
def test_state_alone_asks_for_a_retry(more: dict[str, Any]) -> None:
    """F-API-12: a server may want nothing but its state back."""
    result = {"resultType": "input_required", "requestState": "s", **more}
    assert input_requests_of("tools/call", result) == {}


@pytest.mark.parametrize(
    ("method", "result", "complaint"),
    [
        ("tools/call", {"resultType": "task"}, "unknown resultType 'task'"),
        ("tools/call", {"resultType": None}, "unknown resultType None"),
        ("tools/call", {"resultType": ["complete"]}, "unknown resultType"),
        ("tools/list", {"resultType": "input_required", "inputRequests": REQUESTS}, "must not"),
        ("tools/call", {"resultType": "input_required"}, "without saying which"),
        ("tools/call", {"resultType": "input_required", "inputRequests": []}, "without saying"),
        ("tools/call", {"resultType": "input_required", "inputRequests": {}}, "without saying"),
        ("tools/call", {"resultType": "input_required", "requestState": None}, "without saying"),
    ],
)
def test_violations(method: str, result: dict[str, Any], complaint: str) -> None:
    """F-LIFE-2: an unknown resultType is an error, and so is a question out of place."""
    with pytest.raises(ProtocolViolation, match=complaint) as caught:
        input_requests_of(method, result)
    assert str(caught.value).startswith(method)


def test_the_retry() -> None:
    """F-API-12: the call's own params, the answers, and the state as it came, byte for byte."""
    params = {"name": "t", "arguments": {"a": 1}}
    state = ' {"not": "parsed"}\u2028\\u0041 '
    result = {"resultType": "input_required", "requestState": state, "inputRequests": REQUESTS}
    retry = retry_params(params, result, {"name": {"action": "accept"}})
    assert retry == {
        "name": "t",
        "arguments": {"a": 1},
        "inputResponses": {"name": {"action": "accept"}},
        "requestState": state,
    }
    assert params == {"name": "t", "arguments": {"a": 1}}


def test_nothing_is_sent_that_was_not_asked_for() -> None:
    """F-API-12: no state where none came, no answers where nothing was asked."""
    assert retry_params({"name": "t"}, {"inputRequests": {}}, {}) == {"name": "t"}
    assert retry_params({}, {"requestState": None}, {}) == {}
    assert retry_params({}, {"requestState": ""}, {}) == {"requestState": ""}


def test_rounds_are_bounded() -> None:
    """F-API-12: ten rounds."""
    assert MAX_ROUNDS == 10
    assert {"elicitation/create", "roots/list", "sampling/createMessage"} == INPUT_METHODS


def test_a_server_that_is_not_ready_is_not_hurried() -> None:
    """F-API-12: the first retry without answers goes out at once, later ones wait longer."""
    pauses = [pause_before_retry(number) for number in range(1, MAX_ROUNDS + 1)]
    assert pauses[:4] == [0.0, 0.1, 0.2, 0.4]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 2.0
