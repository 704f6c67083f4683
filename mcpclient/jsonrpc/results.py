"""What the answer to a request comes to: a result, or the error to raise."""

from __future__ import annotations

from typing import Any

from ..errors import (
    McpError,
    PeerError,
    ProtocolViolation,
    UrlElicitationRequired,
    safe_repr,
    safe_str,
)
from .messages import ErrorCode, Message


def result_of(message: Message) -> dict[str, Any]:
    """Return the result in an answer, or raise the error.

    Raises `PeerError`, `UrlElicitationRequired`, and `ProtocolViolation` for what is neither.
    """
    if "error" in message:
        raise peer_error(message["error"])
    result = message.get("result")
    if not isinstance(result, dict):
        raise ProtocolViolation("the server answered without a result object")
    return result


def peer_error(error: Any) -> McpError:
    """Return the exception for a JSON-RPC error object, wherever it stands.

    A `PeerError`, or its kind for the code; a `ProtocolViolation` for what is no error object.
    """
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, float) and code.is_integer():
        code = int(code)
    if not isinstance(code, int) or isinstance(code, bool):
        return ProtocolViolation(
            f"the server answered with a malformed error: {safe_repr(error, 450)}"
        )
    kind = UrlElicitationRequired if code == ErrorCode.URL_ELICITATION_REQUIRED else PeerError
    return kind(code, safe_str(error.get("message", "")), error.get("data"))
