"""Headers and authorization of requests, and errors from responses, for HTTP-based transports."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Protocol, TypeVar, Union

from ..errors import AuthError, HttpError, McpError, PeerError, SessionExpired, UsageError, safe_str
from ..framing.headers import merged
from ..framing.http1 import ResponseHead
from ..framing.uri import Url, http_url
from ..jsonrpc.messages import ErrorCode, RequestId, is_answer, peer_error
from ..net.clocks import PausableClocks
from ..net.futures import cancel, cancel_all, settled
from ..net.http import Exchange, HttpClient, HttpRequest, ResponseSink, http_error
from ..protocol.outgoing import Outgoing

if TYPE_CHECKING:
    from ..net.http_connection import HttpConnection
    from ..net.process.programs import HeadersFrom

T = TypeVar("T")

Fields = list[tuple[str, str]]
"""Header fields, in their order."""

HeaderSource = Union[
    Mapping[str, str], Callable[[], Union[Mapping[str, str], Awaitable[Mapping[str, str]]]]
]
"""The caller's headers: a mapping, or a function, plain or async, called before every request."""

ERROR_BODY_LIMIT = 64 * 1024
"""The most bytes kept of an error response's body."""

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


class PrintedAuthorization:
    """The authorization of a request with ``headers``, which a program has printed just now."""

    def __init__(self, headers: CallerHeaders, outgoing: Outgoing | None) -> None:
        self._caller = headers
        self._outgoing = outgoing
        self._sent: Mapping[str, str] | None = headers.latest
        self._headers: dict[str, str] = {}

    def headers(self, url: str | None = None) -> Mapping[str, str]:
        return self._headers

    def note(self, head: ResponseHead) -> None:
        """Do nothing: only a refusal matters."""

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
        refusal = refusal_of(request_id, _json_or_none(body))
        if refusal is None:
            return error
        refusal.__cause__ = error
        return refusal


def speaks_of_the_session(body: bytes) -> bool:
    """Whether the body of a refusal, a JSON-RPC error or plain text, is about the session.

    Source: what servers answer after a restart, the reference server among them. The specification
    has them answer 404 then, and 400 only where a request names no session.
    """
    message = _json_or_none(body)
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


def _json_or_none(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


class RequestAuthorization(Protocol):
    """The authorization of one request, through all its repetitions."""

    def headers(self, url: str | None = None) -> Mapping[str, str] | Awaitable[Mapping[str, str]]:
        """The headers of the next sending, plain or async, to ``url`` after a redirect."""
        ...

    def note(self, head: ResponseHead) -> None:
        """Handle a response that is not a refusal."""

    async def recover(self, head: ResponseHead) -> bool:
        """Get other credentials after a 401 or 403; return whether to send the request again."""
        ...


class Authorizer(Protocol):
    """A source of the caller's identity; it pauses ``clocks``, if any, while a human is asked."""

    clocks: PausableClocks | None

    def request(self, method: str, url: str, *, passive: bool = False) -> RequestAuthorization:
        """The authorization of a request. For a ``passive`` one nothing new is obtained."""
        ...

    async def close(self) -> None:
        """Cancel logins in progress. Idempotent."""

    def abort(self) -> None:
        """Do as `close` does, without waiting."""


Credentials = Union[Mapping[str, str], Authorizer]
"""The caller's credentials: fixed headers, or an `Authorizer`."""


def authorizer_in(credentials: Credentials | None) -> Authorizer | None:
    """Return the authorizer of requests; None for fixed headers."""
    return None if isinstance(credentials, Mapping) else credentials


Sending = Union[Exchange, "AuthorizedExchange"]
"""A request under way."""


class AuthorizedExchange:
    """One request with authorization. Its sink is called as `Exchange` calls one."""

    def __init__(
        self,
        client: HttpClient,
        request: HttpRequest,
        sink: ResponseSink,
        authorization: RequestAuthorization,
    ) -> None:
        self._client = client
        self._request = request
        self._sink = sink
        self._authorization = authorization
        self._exchange: Exchange | None = None
        self._refusal: Refusal | None = None
        self._held: HttpConnection | None = None  # a login may go on over the same connection
        self._is_given_up = False
        self._task: asyncio.Task[None] | None = None
        headers = authorization.headers()
        # Plain ones come as a dict: to ask whether one can be awaited takes as long as the rest.
        if not isinstance(headers, dict) and inspect.isawaitable(headers):
            self._task = client.tasks.start(self._send(None, headers))
        else:
            self._exchange = client.request(self._with(headers, request.url), self)

    @property
    def url(self) -> Url:
        """The URL of the request, after redirects."""
        return self._request.url if self._exchange is None else self._exchange.url

    def abort(self) -> None:
        """Cancel the request; the sink is not called any more. Idempotent."""
        self._is_given_up = True
        cancel(self._task)
        self._settle()
        if self._exchange is not None:
            self._exchange.abort()

    async def _send(
        self, refusal: Refusal | None, asked: Awaitable[Mapping[str, str]] | None = None
    ) -> None:
        """Send the request, after a refusal only with other credentials; or pass that on."""
        try:
            if refusal is None or await self._answer(self._authorization.recover(refusal.head)):
                headers = await self._answer(asked or self._authorization.headers())
                request = self._with(headers, self._request.url)
                self._refusal = None
                self._settle()
                self._exchange = self._client.request(request, self)
                return
        except McpError as error:
            if refusal is not None and error.__cause__ is None:
                # For a server without OAuth, the refusal is the best error.
                error.__cause__ = http_error(refusal.head, bytes(refusal.body), self.url)
            self._settle()
            if not self._is_given_up:
                self._sink.response_failed(error)
            return
        self._settle()
        self._sink.head_received(refusal.head)
        if refusal.body:
            self._sink.body_received(bytes(refusal.body))
        self._sink.response_ended()

    def _settle(self) -> None:
        """Forget the task, which may end this itself, and free the connection of a refusal."""
        self._task = None
        held, self._held = self._held, None
        if held is not None:
            self._client.release(held)

    async def _answer(self, asked: T | Awaitable[T]) -> T:
        """Return the authorizer's result. Raises only `McpError`, unless the request was aborted:
        any other exception would end the task, and the caller would wait for ever.
        """
        try:
            answer = await settled(asked)
            if not self._is_given_up:
                return answer
        except McpError:
            raise
        except (Exception, asyncio.CancelledError) as error:
            if not self._is_given_up:
                # Not this task was cancelled, but one that the caller's own function awaited.
                raise AuthError(f"authorization failed with {type(error).__name__}") from error
        raise asyncio.CancelledError  # the caller's own function may have swallowed it

    def _with(self, headers: Mapping[str, str], url: Url) -> HttpRequest:
        fields = merged(self._request.headers, headers.items())
        return self._request._replace(url=url, headers=fields, renew=self._renew)

    async def _renew(self, request: HttpRequest) -> HttpRequest:
        """Return the request for another sending; a proof serves only once (RFC 9449)."""
        headers = await self._answer(self._authorization.headers(http_url(request.url)))
        return self._with(headers, request.url)

    # net.http.ResponseSink

    def head_received(self, head: ResponseHead) -> None:
        if head.status in (401, 403):
            self._refusal = Refusal(head)
            return
        try:
            self._authorization.note(head)
        except AuthError as error:
            self._sink.response_failed(error)
            self.abort()
        else:
            self._sink.head_received(head)

    def body_received(self, data: bytes) -> None:
        if self._refusal is None:
            self._sink.body_received(data)
        elif self._refusal.add(data) and self._exchange is not None:
            self._exchange.abort()
            self.response_ended()

    def response_ended(self) -> None:
        if self._refusal is None:
            self._sink.response_ended()
            self._exchange = None  # it refers to this: so both are freed without the collector
        else:
            self._held = None if self._exchange is None else self._client.claim(self._exchange)
            self._task = self._client.tasks.start(self._send(self._refusal))

    def response_failed(self, error: McpError) -> None:
        if self._refusal is not None:
            # The head of a refusal is enough; its body is not needed.
            self._task = self._client.tasks.start(self._send(self._refusal))
        else:
            self._sink.response_failed(error)
