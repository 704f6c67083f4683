"""The vocabulary of both eras: revisions, what may be repeated, extensions, rounds of input.

It proves F-LIFE-1, F-LIFE-2, F-WIRE-5, F-API-10, F-API-12 and F-API-16.
"""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import ProtocolViolation, UsageError
from mcpclient.protocol.negotiation import (
    INPUT_METHODS,
    MAX_ROUNDS,
    checked_extensions,
    input_requests_of,
    pause_before_retry,
)
from tests.support.tables import each_row

# Extensions


def test_settings_that_are_no_object() -> None:
    with pytest.raises(UsageError, match="the settings of extension com"):
        checked_extensions({"com.example/x": True})  # type: ignore[dict-item]


# Rounds of input

REQUESTS = {"name": {"method": "elicitation/create", "params": {}}}


@each_row(
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
