"""The vocabulary of both eras: revisions, what may be repeated, extensions, rounds of input.

It proves F-LIFE-1, F-LIFE-2, F-WIRE-5, F-API-10, F-API-12 and F-API-16.
"""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import ProtocolViolation, UsageError
from mcpclient.protocol.negotiation import (
    HANDSHAKE_VERSIONS,
    INPUT_METHODS,
    MAX_ROUNDS,
    best_common,
    checked_extensions,
    declares,
    extensions_of,
    input_requests_of,
    is_outdated,
    is_past_handshakes,
    pause_before_retry,
    retry_params,
)
from tests.support.tables import each_row


def test_settings_that_are_no_object() -> None:
    with pytest.raises(UsageError, match="the settings of extension com"):
        checked_extensions({"com.example/x": True})  # type: ignore[dict-item]


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


def test_the_newest_revision_of_both_sides() -> None:
    """F-LIFE-3: the order of the list does not matter, and only strings count."""
    offered = ["2024-11-05", "2025-06-18", None, ["2025-11-25"], "2025-03-26"]
    assert best_common(offered, HANDSHAKE_VERSIONS) == "2025-06-18"
    assert best_common(["2026-07-28"], HANDSHAKE_VERSIONS) is None


def test_revisions_by_their_dates() -> None:
    """F-LIFE-2: a name that is not a date says nothing; the draft of an SDK is known."""
    past = ["2026-07-28", "2026-07-28-draft", "2027-01-01"]
    others = ["2025-11-25", "2026-07-27", "DRAFT-2027", ""]
    assert list(filter(is_past_handshakes, [*past, *others])) == past
    assert list(filter(is_outdated, ["2024-10-07", "2024-10-08", "2025-11-25", "x"])) == [
        "2024-10-08"
    ]


def test_what_a_server_declares() -> None:
    """F-API-16: extensions are objects; other capabilities may be true as well."""
    extensions = {"a/b": {}, "a/c": {"x": 1}, "a/d": True}
    assert list(extensions_of({"extensions": extensions})) == ["a/b", "a/c"]
    tasks = {"tasks": {"list": {}, "cancel": True, "update": False}}
    assert [declares(tasks, "tasks", each) for each in ("list", "cancel", "update", "get")] == [
        *(True, True, False, False)
    ]
    with pytest.raises(UsageError, match="an extension is named like"):
        checked_extensions({"com.example/x!": {}})


def test_nothing_is_sent_that_was_not_asked_for() -> None:
    """F-API-12: no state where none came, no answers where nothing was asked."""
    assert retry_params({"name": "t"}, {"inputRequests": {}, "requestState": None}, {}) == {
        "name": "t"
    }
