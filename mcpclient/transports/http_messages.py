"""Headers and authorization of requests, and errors from responses, for HTTP-based transports."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, TypeVar, Union

from ..errors import HttpError, McpError, PeerError, SessionExpired, UsageError, safe_str
from ..framing.headers import merged
from ..framing.http1 import ResponseHead
from ..framing.uri import Url, http_url
from ..jsonrpc.codec import parse_json
from ..jsonrpc.messages import ErrorCode, RequestId, is_answer, peer_error
from ..net.exchange import ERROR_BODY_LIMIT, Authorizer, RequestAuthorization, http_error
from ..net.futures import cancel_all
from ..protocol.outgoing import Outgoing

if TYPE_CHECKING:
    from ..net.process.programs import HeadersFrom

T = TypeVar("T")

Fields = list[tuple[str, str]]
"""Header fields, in their order."""

HeaderSource = Union[
    Mapping[str, str], Callable[[], Union[Mapping[str, str], Awaitable[Mapping[str, str]]]]
]
"""The caller's headers: a mapping, or a function, plain or async, called before every request."""

# The most bytes searched of a refusal that is not a JSON-RPC error: the ones we know are short.
_SHORT_BODY = 1024

# Headers that belong to the protocol or to HTTP itself; a caller's are left out.
_RESERVED = frozenset(
    (
        *("accept", "connection", "content-length", "content-type", "host", "last-event-id"),
        *("mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "transfer-encoding"),
    )
)

# The words of servers about an unknown session, in a 400: "No valid session ID provided",
# "Session not found", "Server not initialized".
_SESSION = re.compile(r"\bsessions?\b|\bsession[_-]?id\b|\bnot initialized\b", re.IGNORECASE)

# Error codes that a modern server sends with the id of a request it did not fully read.
_MODERN_CODES = frozenset(
    {
        ErrorCode.HEADER_MISMATCH,
        ErrorCode.MISSING_REQUIRED_CLIENT_CAPABILITY,
        ErrorCode.UNSUPPORTED_PROTOCOL_VERSION,
    }
)


class CallerHeaders:
    """The caller's headers, for every request and for single calls.

    Headers among the ``credentials`` replace others of the same name, except headers of a single
    call. Headers that the protocol itself sets are left out.

    ``may_wait``: whether a provider has to be asked, which may take time. ``printed``: that, where
    it is a program. ``latest``: the headers that it has returned last.
    """

    def __init__(
        self, source: HeaderSource | None, url: Url, credentials: Credentials | None = None
    ) -> None:
        source = source or {}
        self._authorizer = authorizer_in(credentials)
        self.printed: HeadersFrom | None = None
        self.latest: Mapping[str, str] = {}
        if callable(source):
            from ..net.process.programs import HeadersFrom

            if isinstance(source, HeadersFrom):
                source = self.printed = source.for_url(str(url))
        self._provider = source if callable(source) else None
        self.may_wait: bool = callable(source)
        self._credentials = _checked(credentials) if isinstance(credentials, Mapping) else []
        self._url = url
        self._named = ""  # of that URL, for the authorizer
        own = {} if url.credentials is None else {"Authorization": url.credentials}
        fixed = merged([*own.items()], [] if callable(source) else _checked(source))
        self._fixed = merged(fixed, self._credentials)

    def fixed_for(
        self, outgoing: Outgoing | None, provided: Sequence[tuple[str, str]] = ()
    ) -> Fields:
        """Return the headers of a message, where the provider has returned the ``provided``."""
        headers = self._fixed
        if provided:
            headers = merged(merged(headers, provided), self._credentials)
        if outgoing is not None and outgoing.caller_headers:
            headers = merged(headers, _checked(outgoing.caller_headers))
        return headers

    async def provided_for(self, outgoing: Outgoing | None) -> Fields:
        """Return the headers of a message; the provider is asked, where there is one."""
        if self._provider is None:
            return self.fixed_for(outgoing)
        self.latest = await _asked(self._provider)
        return self.fixed_for(outgoing, _checked(self.latest))

    def authorization(
        self, method: str, url: Url, outgoing: Outgoing | None = None, *, passive: bool = False
    ) -> RequestAuthorization | None:
        """Return the authorization of a request, where these headers may not be all it needs."""
        if self._authorizer is not None:
            if url is not self._url or not self._named:
                self._url, self._named = url, http_url(url)
            return self._authorizer.request(method, self._named, passive=passive)
        return None if self.printed is None else PrintedAuthorization(self, outgoing)


class PrintedAuthorization(RequestAuthorization):
    """The authorization of a request with ``headers``, which a program has printed just now."""

    def __init__(self, headers: CallerHeaders, outgoing: Outgoing | None) -> None:
        self._caller = headers
        self._outgoing = outgoing
        self._sent: Mapping[str, str] | None = headers.latest
        self._headers: dict[str, str] = {}

    def headers(self, url: str | None = None) -> Mapping[str, str]:
        return self._headers

    async def recover(self, head: ResponseHead) -> bool:
        """Return True once, after a 401, if the program prints other headers now."""
        sent, self._sent = self._sent, None
        source = self._caller.printed
        if source is None or sent is None or head.status != 401:
            return False
        if await source.replacing(sent) == sent:
            return False
        self._headers = dict(await self._caller.provided_for(self._outgoing))
        return True


async def _asked(provider: Callable[[], Any]) -> Any:
    """Call the caller's function, plain or async, and return its result or raise its exception.

    If the function is cancelled, and not this task, that is a `UsageError`: a `CancelledError`
    would end the task silently, and its waiter would wait for ever.
    """

    async def ask() -> Any:
        provided = provider()
        return await provided if inspect.isawaitable(provided) else provided

    asking = asyncio.ensure_future(ask())
    try:
        await asyncio.wait({asking})
    finally:
        await cancel_all([asking])
    if asking.cancelled():
        raise UsageError("the request was not sent: the function for headers was cancelled")
    return asking.result()


def _checked(headers: Mapping[str, str]) -> Fields:
    if not isinstance(headers, Mapping):
        kind = type(headers).__name__
        raise UsageError(f"headers are a mapping, or a function that returns one, not {kind}")
    for name, value in headers.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise UsageError(f"header {name!r}: its name and its value have to be strings")
    return [(name, value) for name, value in headers.items() if name.lower() not in _RESERVED]


class Refusal:
    """A response that is not a success: its head, and the beginning of its body."""

    def __init__(self, head: ResponseHead) -> None:
        self.head = head
        self.body: bytearray = bytearray()

    def add(self, data: bytes) -> bool:
        """Keep a piece of the body; return whether that is enough: the rest may have no end."""
        self.body += data[: ERROR_BODY_LIMIT - len(self.body)]
        return len(self.body) == ERROR_BODY_LIMIT

    def error(
        self,
        url: Url,
        request_id: RequestId | None = None,
        *,
        in_session: bool = False,
        has_worked: bool = False,
    ) -> McpError:
        """Return the exception for it.

        When the body is a JSON-RPC error that answers this very request, that is the exception, as
        on any other transport, with the HTTP error as its cause. Everything else is an `HttpError`:
        a `SessionExpired` for a 404 ``in_session``, and for a 400 that speaks of the session where
        that ``has_worked`` before, so that the request itself cannot be at fault.
        """
        status, body = self.head.status, bytes(self.body)
        says_so = status == 400 and has_worked and speaks_of_the_session(body)
        is_expired = in_session and (status == 404 or says_so)
        error = http_error(self.head, body, url, SessionExpired if is_expired else HttpError)
        if status in (401, 403) or is_expired:
            return error
        refusal = refusal_of(request_id, parse_json(body))
        if refusal is None:
            return error
        refusal.__cause__ = error
        return refusal


def speaks_of_the_session(body: bytes) -> bool:
    """Whether the body of a refusal, a JSON-RPC error or plain text, is about the session.

    Source: what servers answer after a restart, the reference server among them. The specification
    has them answer 404 then, and 400 only where a request names no session.
    """
    message = parse_json(body)
    error = message.get("error") if isinstance(message, dict) else None
    if isinstance(error, dict):
        text = safe_str(error.get("message", ""))
        return error.get("code") != ErrorCode.INVALID_PARAMS and bool(_SESSION.search(text))
    return bool(_SESSION.search(body[:_SHORT_BODY].decode("utf-8", "replace")))


def refusal_of(request_id: RequestId | None, message: Any) -> PeerError | None:
    """Return the JSON-RPC error that answers ``request_id``, or None if ``message`` is not one."""
    error = peer_error(message.get("error") if isinstance(message, dict) else None)
    if not isinstance(error, PeerError):
        return None
    answers = request_id is not None and is_answer(message, request_id)
    is_modern = message.get("id") is None and error.code in _MODERN_CODES
    return error if answers or is_modern else None


Credentials = Union[Mapping[str, str], Authorizer]
"""The caller's credentials: fixed headers, or an `Authorizer`."""


def authorizer_in(credentials: Credentials | None) -> Authorizer | None:
    """Return the authorizer of requests; None for fixed headers."""
    return None if isinstance(credentials, Mapping) else credentials
