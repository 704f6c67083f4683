"""What an answer comes to, whatever a server puts in it."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import PeerError, ProtocolViolation, UrlElicitationRequired
from mcpclient.jsonrpc.messages import peer_error, result_of


def test_a_result_is_an_object() -> None:
    """F-WIRE-2"""
    assert result_of({"id": 1, "result": {"a": [1]}}) == {"a": [1]}
    for answer in ({"id": 1}, {"id": 1, "result": None}, {"id": 1, "result": [{}]}):
        with pytest.raises(ProtocolViolation, match="without a result object"):
            result_of(answer)


@pytest.mark.parametrize("code", [-32601, -32601.0])
def test_an_error_is_raised_with_all_it_says(code: float) -> None:
    """F-WIRE-2: also beside a result, and where the code has become a float."""
    error = {"code": code, "message": "no such method", "data": {"why": 1}}
    with pytest.raises(PeerError) as caught:
        result_of({"id": 1, "result": {}, "error": error})
    found = caught.value
    assert (found.code, found.message, found.data) == (-32601, "no such method", {"why": 1})
    assert isinstance(found.code, int)


def test_a_wish_for_a_visit_is_told_apart() -> None:
    """F-API-10"""
    assert type(peer_error({"code": -32042})) is UrlElicitationRequired
    assert type(peer_error({"code": -32041})) is PeerError


@pytest.mark.parametrize(
    "error", [None, 5, "x" * 10**6, {}, {"code": "1"}, {"code": 1.5}, {"code": True}, True]
)
def test_an_error_that_is_none_is_shown_and_cut(error: Any) -> None:
    """F-WIRE-2"""
    violation = peer_error(error)
    assert isinstance(violation, ProtocolViolation)
    assert "malformed error" in str(violation) and len(str(violation)) < 600
