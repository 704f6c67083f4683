"""Multi round-trip requests: a result that asks for input, and the retry that carries it.

Source: the "Multi Round-Trip Requests" page of revision 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ProtocolViolation, safe_repr

MAX_ROUNDS = 10
"""The most requests for input in response to one call."""

INPUT_METHODS = frozenset({"elicitation/create", "roots/list", "sampling/createMessage"})
"""The methods of the requests for input."""

_MAX_PAUSE = 2.0

# The only requests that may be answered with a request for input.
_SUPPORTED = ("tools/call", "prompts/get", "resources/read")


def input_requests_of(method: str, result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the requests for input that a result holds; None when the result is complete.

    Raises `ProtocolViolation` for a ``resultType`` this client does not know, and for a request
    for input where none is allowed. A result without ``resultType`` is complete.
    """
    kind = result.get("resultType", "complete")
    if kind == "complete":
        return None
    if kind != "input_required":
        fault = f"the server answered with unknown resultType {safe_repr(kind)}"
        raise ProtocolViolation(f"{method}: {fault}")
    if method not in _SUPPORTED:
        raise ProtocolViolation(f"{method}: the server asked for input where it must not")
    requests = result.get("inputRequests")
    if requests is None:
        requests = {}
    if not isinstance(requests, dict) or not (requests or _has_state(result)):
        raise ProtocolViolation(f"{method}: the server asked for input without saying which")
    return requests


def retry_params(
    params: Mapping[str, Any], result: Mapping[str, Any], responses: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the params of the retry: the call's own, the answers, and the server's state."""
    retry = {**params}
    if responses:
        retry["inputResponses"] = responses
    if _has_state(result):
        retry["requestState"] = result["requestState"]
    return retry


def pause_before_retry(round_number: int) -> float:
    """Return how many seconds to wait before a retry that brings no answers, only the state.

    The first goes out at once, as the page allows. A server that is not ready by then is asked less
    and less often: after 0, 0.1, 0.2, 0.4, … up to 2 seconds.
    """
    return min(0.05 * 2 ** (round_number - 1), _MAX_PAUSE) if round_number > 1 else 0.0


def _has_state(result: Mapping[str, Any]) -> bool:
    # A state is a string. Some servers write null where there is none.
    return result.get("requestState") is not None
