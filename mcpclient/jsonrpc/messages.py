"""JSON-RPC 2.0 messages: the four kinds, as the plain dicts that `json` gives.

So fields this library does not know survive, and nothing is copied on the hot path.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import Any, Union

from ..errors import (
    HandlerFailed,
    McpError,
    NotOffered,
    PeerError,
    ProtocolViolation,
    UrlElicitationRequired,
    safe_repr,
    safe_str,
)

Message = dict[str, Any]
"""One JSON-RPC message as decoded: a dict with string keys and JSON values."""

RequestId = Union[int, str]

# A number as text, and in no other form: "02" is not 2.
_NUMBER = r"0|-?[1-9][0-9]{0,18}"


class ErrorCode(enum.IntEnum):
    """Error codes of JSON-RPC 2.0 and of every MCP revision; only a peer's error carries one."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    RESOURCE_NOT_FOUND = -32002
    HEADER_MISMATCH = -32020
    MISSING_REQUIRED_CLIENT_CAPABILITY = -32021
    UNSUPPORTED_PROTOCOL_VERSION = -32022
    URL_ELICITATION_REQUIRED = -32042


def request(request_id: RequestId, method: str, params: Mapping[str, Any] | None) -> Message:
    """Return a request; ``params`` is left out when None."""
    if params is None:
        return {"jsonrpc": "2.0", "id": request_id, "method": method}
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def is_answer(message: Message, request_id: RequestId) -> bool:
    """Whether a message is the response to a request."""
    found = message.get("id")
    is_same = type(found) is type(request_id) and found == request_id  # as nearly all are
    return "method" not in message and (is_same or plain_id(found) == plain_id(request_id))


def plain_id(request_id: object) -> RequestId | None:
    """Return the id in its plain form: 7 for ``"7"`` and 7.0. None for any other type."""
    if isinstance(request_id, str):
        return int(request_id) if re.fullmatch(_NUMBER, request_id) else request_id
    if isinstance(request_id, float) and request_id.is_integer():
        return int(request_id)
    is_number = isinstance(request_id, int) and not isinstance(request_id, bool)
    return request_id if is_number else None  # type: ignore[return-value]


def notification(method: str, params: Mapping[str, Any] | None) -> Message:
    """Return a notification; ``params`` is left out when None."""
    if params is None:
        return {"jsonrpc": "2.0", "method": method}
    return {"jsonrpc": "2.0", "method": method, "params": params}


def response(request_id: RequestId, result: Mapping[str, Any]) -> Message:
    """Return the successful response to a peer's request."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_response(request_id: RequestId, code: int, message: str, data: Any = None) -> Message:
    """Return the error response to a peer's request; ``data`` is left out when None."""
    error: dict[str, Any] = {"code": int(code), "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def failure(request_id: RequestId, error: McpError) -> Message:
    """Return the error response for an error, with the fields that only a peer knows."""
    if isinstance(error, PeerError) and error.raw is not None:
        return {"jsonrpc": "2.0", "id": request_id, "error": error.raw}
    return error_response(request_id, *error_answer(error))


def error_answer(error: McpError) -> tuple[int, str, Any]:
    """Return code, message and data of the error response, without anything secret."""
    if isinstance(error, PeerError):
        return error.code, error.message, error.data
    if isinstance(error, HandlerFailed):
        return error.code, error.reason, None
    if isinstance(error, NotOffered):
        return ErrorCode.METHOD_NOT_FOUND, error.reason, None
    if isinstance(error, ProtocolViolation):
        return ErrorCode.INVALID_PARAMS, error.reason, None
    return ErrorCode.INTERNAL_ERROR, "the client could not answer", None


class CancelReason(str):
    """The reason that a peer gave for a cancellation, as the argument of `Task.cancel`.

    The other arguments of a cancellation are the caller's own, and are not sent anywhere.
    """

    __slots__ = ()

    @classmethod
    def of(cls, params: Mapping[str, Any] | None) -> CancelReason:
        """Return the reason in the params of ``notifications/cancelled``."""
        reason = (params or {}).get("reason")
        return cls(reason if isinstance(reason, str) else "cancelled")

    @classmethod
    def in_error(cls, error: BaseException) -> str:
        """Return the reason to send for a cancellation that this exception reports."""
        return next((each for each in error.args if isinstance(each, cls)), "cancelled")


def result_of(message: Message) -> dict[str, Any]:
    """Return the result in an answer. Raises `peer_error`, and `ProtocolViolation` for neither."""
    if "error" in message:
        raise peer_error(message["error"])
    result = message.get("result")
    if not isinstance(result, dict):
        raise ProtocolViolation("the server answered without a result object")
    return result


def peer_error(error: Any) -> McpError:
    """Return the `PeerError` for a JSON-RPC error object, `ProtocolViolation` for anything else."""
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, float) and code.is_integer():
        code = int(code)
    if not isinstance(code, int) or isinstance(code, bool):
        return ProtocolViolation(
            f"the server answered with a malformed error: {safe_repr(error, 450)}"
        )
    kind = UrlElicitationRequired if code == ErrorCode.URL_ELICITATION_REQUIRED else PeerError
    return kind(code, safe_str(error.get("message", "")), error.get("data"), error)
