"""What both HTTP transports do alike: the caller's headers, and errors made of answers."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Mapping
from typing import Any, Callable, Union

from ..errors import HttpError, McpError, PeerError, SessionExpired, UsageError
from ..framing.http1 import ResponseHead
from ..framing.uri import Url
from ..jsonrpc.messages import ErrorCode, RequestId, is_answer
from ..protocol.outgoing import Outgoing

__all__ = [
    "ERROR_BODY_LIMIT",
    "CallerHeaders",
    "HeaderSource",
    "answer_error",
    "peer_error",
]

HeaderSource = Union[
    Mapping[str, str], Callable[[], Union[Mapping[str, str], Awaitable[Mapping[str, str]]]]
]
"""Headers of the caller's: fixed, or a function, plain or async, asked before every request."""

ERROR_BODY_LIMIT = 64 * 1024
"""How many bytes of an error's body are kept."""

# What the protocol and HTTP itself say about a message; a caller's headers cannot change it.
_RESERVED = frozenset(
    {
        "accept",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "transfer-encoding",
    }
)

# Answers a modern server gives in the name of a request whose id it could not or did not read.
_MODERN_CODES = frozenset(
    {
        ErrorCode.HEADER_MISMATCH,
        ErrorCode.MISSING_REQUIRED_CLIENT_CAPABILITY,
        ErrorCode.UNSUPPORTED_PROTOCOL_VERSION,
    }
)


class CallerHeaders:
    """The headers the caller wants on every request, and those of single calls.

    ``credentials`` are headers that say who he is; they go before others of the same name.
    """

    def __init__(
        self, source: HeaderSource, url: Url, credentials: Mapping[str, str] | None = None
    ) -> None:
        self._provider = source if callable(source) else None
        self._credentials = _checked(credentials or {})
        own = {} if url.credentials is None else {"Authorization": url.credentials}
        fixed = _merged([*own.items()], [] if callable(source) else _checked(source))
        self._fixed = _merged(fixed, self._credentials)

    @property
    def may_wait(self) -> bool:
        """Whether a provider has to be asked, which may take time."""
        return self._provider is not None

    def fixed_for(self, outgoing: Outgoing | None) -> list[tuple[str, str]]:
        """Return the headers of a message, where no provider is involved."""
        if outgoing is None or not outgoing.caller_headers:
            return self._fixed
        return _merged(self._fixed, _checked(outgoing.caller_headers))

    async def provided_for(self, outgoing: Outgoing | None) -> list[tuple[str, str]]:
        """Ask the provider, and return the headers of a message."""
        assert self._provider is not None
        provided = self._provider()
        if inspect.isawaitable(provided):
            provided = await provided
        headers = _merged(_merged(self._fixed, _checked(provided)), self._credentials)
        if outgoing is not None and outgoing.caller_headers:
            headers = _merged(headers, _checked(outgoing.caller_headers))
        return headers


def _checked(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    for name, value in headers.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise UsageError(f"header {name!r}: names and values of headers are strings")
    return [(name, value) for name, value in headers.items() if name.lower() not in _RESERVED]


def _merged(base: list[tuple[str, str]], over: list[tuple[str, str]]) -> list[tuple[str, str]]:
    names = {name.lower() for name, _ in over}
    return [*((name, value) for name, value in base if name.lower() not in names), *over]


def answer_error(
    head: ResponseHead,
    body: bytes,
    url: Url,
    request_id: RequestId | None = None,
    *,
    in_session: bool = False,
) -> McpError:
    """Return the exception for a response whose status is no success.

    A JSON-RPC error in the body that answers this very request is the peer's error, as it would be
    on any other transport; its cause is the HTTP error. Everything else is an `HttpError`.
    """
    error_type = SessionExpired if head.status == 404 and in_session else HttpError
    error = error_type(head.status, head.headers, body[:ERROR_BODY_LIMIT], url.shown)
    if head.status in (401, 403) or error_type is SessionExpired:
        return error
    refusal = peer_error(_json_or_none(body), request_id)
    if refusal is None:
        return error
    refusal.__cause__ = error
    return refusal


def peer_error(message: Any, request_id: RequestId | None) -> PeerError | None:
    """Return the JSON-RPC error that answers ``request_id``, if the message is one."""
    error = message.get("error") if isinstance(message, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        return None
    answers = request_id is not None and is_answer(message, request_id)
    if not answers and not (message.get("id") is None and error["code"] in _MODERN_CODES):
        return None
    return PeerError(error["code"], str(error.get("message", "")), error.get("data"))


def _json_or_none(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
