"""The vocabulary of both eras: revisions, what may be repeated, extensions, rounds of input.

It proves F-LIFE-1, F-LIFE-2, F-WIRE-5, F-API-10, F-API-12 and F-API-16.
"""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import ProtocolViolation, UsageError
from mcpclient.protocol.eras import HandshakeEra, StatelessEra
from mcpclient.protocol.negotiation import (
    HANDSHAKE_VERSIONS,
    INPUT_METHODS,
    LATEST_HANDSHAKE,
    LATEST_STATELESS,
    MAX_ROUNDS,
    REPEATABLE,
    STATELESS_VERSIONS,
    ClientIdentity,
    Era,
    best_common,
    checked_extensions,
    era_of,
    extensions_of,
    input_requests_of,
    is_past_handshakes,
    pause_before_retry,
    retry_params,
)


def test_the_revisions() -> None:
    """F-LIFE-1, F-LIFE-2: all five, and which is offered first."""
    assert HANDSHAKE_VERSIONS == ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
    assert STATELESS_VERSIONS == ("2026-07-28",)
    assert (LATEST_HANDSHAKE, LATEST_STATELESS) == ("2025-11-25", "2026-07-28")


def test_eras() -> None:
    """F-LIFE-3: every known revision has one, an unknown one has none."""
    assert [era_of(version) for version in HANDSHAKE_VERSIONS] == [Era.HANDSHAKE] * 4
    assert era_of("2026-07-28") is Era.STATELESS
    assert era_of("2026-07-29") is None
    assert era_of("") is None


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


def test_each_era_knows_what_opens_a_connection() -> None:
    """F-SHOW-10: so that a session that is watched from its middle on can be replayed."""
    identity = ClientIdentity({"name": "n", "version": "1"}, {"roots": {}})
    handshake = HandshakeEra("2025-11-25", identity).opening_request("a").message
    assert (handshake["id"], handshake["method"]) == ("a", "initialize")
    assert handshake["params"]["capabilities"] == {"roots": {}}
    stateless = StatelessEra("2026-07-28", identity).opening_request("a").message
    assert (stateless["id"], stateless["method"]) == ("a", "server/discover")


# Extensions


def test_extensions_are_declared_as_given() -> None:
    """F-API-16: a name with a prefix, and settings that are an object."""
    given = {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}, "com.example/a.b_c": {}}
    assert checked_extensions(given) == given


@pytest.mark.parametrize("name", ["ui", "/ui", "a b/c", "1.example/x", "com..x/y", "com.x/", ""])
def test_a_name_that_no_extension_has(name: str) -> None:
    """F-API-16: a mistake is the caller's to know of, not the server's."""
    with pytest.raises(UsageError, match="named like"):
        checked_extensions({name: {}})


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
