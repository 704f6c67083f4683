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
    LATEST_HANDSHAKE,
    LATEST_STATELESS,
    MAX_ROUNDS,
    REPEATABLE,
    STATELESS_VERSIONS,
    ClientIdentity,
    best_common,
    checked_extensions,
    extensions_of,
    input_requests_of,
    is_past_handshakes,
    pause_before_retry,
)


def test_the_revisions() -> None:
    """F-LIFE-1, F-LIFE-2: all five, and which is offered first."""
    assert HANDSHAKE_VERSIONS == ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
    assert STATELESS_VERSIONS == ("2026-07-28",)
    assert (LATEST_HANDSHAKE, LATEST_STATELESS) == ("2025-11-25", "2026-07-28")


@pytest.mark.parametrize(
    ("offered", "best"),
    [
        (["2024-11-05", "2025-06-18", "2025-03-26"], "2025-06-18"),
        (["2025-11-25", "2026-07-28"], "2025-11-25"),
        (["2026-07-28"], None),
        ([], None),
        ([None, 1, ["2025-11-25"], {"a": 1}, "2024-11-05"], "2024-11-05"),
    ],
)
def test_the_newest_of_both_sides(offered: list[object], best: str | None) -> None:
    """F-LIFE-3: order in the list is of no weight, and what is no string is passed over."""
    assert best_common(offered, HANDSHAKE_VERSIONS) == best


@pytest.mark.parametrize(
    ("version", "is_past"),
    [
        ("2025-11-25", False),
        ("2026-07-27", False),
        ("2026-07-28", True),
        ("2026-07-28-draft", True),
        ("2027-01-01", True),
        ("DRAFT-2027", False),
        ("", False),
    ],
)
def test_what_comes_after_the_handshakes(version: str, is_past: bool) -> None:
    """F-LIFE-2: such a revision is no handshake session; a name that is no date tells nothing."""
    assert is_past_handshakes(version) is is_past


def test_reading_may_be_repeated_and_acting_may_not() -> None:
    """F-WIRE-5, F-MANY-5: a call that may have run is never repeated by itself."""
    reading = {"initialize", "server/discover", "tools/list", "resources/read", "ping"}
    assert reading <= REPEATABLE
    assert REPEATABLE.isdisjoint({"tools/call", "tasks/cancel", "vendor/unknown", ""})


def test_identity_cannot_be_changed() -> None:
    """F-API-10: one identity per connection, with no capability unless one is given."""
    identity = ClientIdentity({"name": "test", "version": "1"})
    assert identity.capabilities == {}
    with pytest.raises(AttributeError):
        identity.info = {}  # type: ignore[misc]


# Extensions


def test_settings_that_are_no_object() -> None:
    with pytest.raises(UsageError, match="the settings of extension com"):
        checked_extensions({"com.example/x": True})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("capabilities", "found"),
    [
        ({}, {}),
        ({"extensions": None}, {}),
        ({"extensions": {"a/b": {}, "a/c": {"x": 1}, "a/d": True}}, {"a/b": {}, "a/c": {"x": 1}}),
    ],
)
def test_what_a_server_declares(capabilities: dict[str, Any], found: dict[str, Any]) -> None:
    """F-API-16: what is no object is no declaration."""
    assert extensions_of(capabilities) == found


# Rounds of input

REQUESTS = {"name": {"method": "elicitation/create", "params": {}}}


@pytest.mark.parametrize("result", [{}, {"resultType": "complete"}, {"inputRequests": REQUESTS}])
def test_complete_results(result: dict[str, Any]) -> None:
    """F-LIFE-2: a result without resultType is complete."""
    assert input_requests_of("tools/call", result) is None
    assert input_requests_of("tools/list", result) is None


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
