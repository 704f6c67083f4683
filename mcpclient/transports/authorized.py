"""Requests that carry authorization, and are sent again when the server wants a different one.

An `AuthorizedExchange` stands between a transport and its HTTP client: the transport's sink sees
one response, however often the request had to be sent to get it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Protocol, TypeVar, Union

from ..errors import AuthError, McpError
from ..framing.headers import merged
from ..framing.http1 import ResponseHead
from ..framing.uri import Url, http_url
from ..net.clocks import PausableClocks
from ..net.http import Exchange, HttpClient, HttpRequest, ResponseSink, http_error
from .http_messages import Refusal

T = TypeVar("T")


class RequestAuthorization(Protocol):
    """The authorization of one request, through all its repetitions."""

    async def headers(self, url: str | None = None) -> Mapping[str, str]:
        """The headers to send with the request, asked for before every sending.

        ``url``: where it goes this time, after a redirect.
        """
        ...

    def note(self, head: ResponseHead) -> None:
        """Handle a response that is not a refusal."""

    async def recover(self, head: ResponseHead) -> bool:
        """Whether to send the request again after a 401 or 403, having done what that takes."""
        ...


class Authorizer(Protocol):
    """A source of the caller's identity, request by request.

    ``clocks``: the clocks to stop while a human is asked; None: none.
    """

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


def authorizer_in(
    credentials: Credentials | None,
) -> tuple[Authorizer | None, Mapping[str, str] | None]:
    """Split credentials into the authorizer for `start_request` and fixed headers; one is None."""
    if credentials is None or isinstance(credentials, Mapping):
        return None, credentials
    return credentials, None


Sending = Union[Exchange, "AuthorizedExchange"]
"""A request under way."""


def start_request(
    client: HttpClient,
    request: HttpRequest,
    sink: ResponseSink,
    authorizer: Authorizer | None,
    *,
    passive: bool = False,
) -> Sending:
    """Start a request; its response goes to ``sink``. ``passive``: see `Authorizer.request`."""
    if authorizer is None:
        return client.request(request, sink)
    authorization = authorizer.request(request.method, http_url(request.url), passive=passive)
    return AuthorizedExchange(client, request, sink, authorization)


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
        self._is_given_up = False
        self._task: asyncio.Task[None] | None = client.tasks.start(self._send())

    @property
    def url(self) -> Url:
        """The URL of the request, after redirects."""
        return self._request.url if self._exchange is None else self._exchange.url

    def abort(self) -> None:
        """Cancel the request; the sink is not called any more. Idempotent."""
        self._is_given_up = True
        if self._task is not None:
            self._task.cancel()
            self._task = None
        if self._exchange is not None:
            self._exchange.abort()

    async def _send(self) -> None:
        try:
            headers = await self._answer(self._authorization.headers())
            request = self._with(headers, self._request.url)
            self._refusal = None
            self._task = None
            self._exchange = self._client.request(request, self)
        except Exception as error:
            self._fail(error)

    async def _answer(self, asked: Awaitable[T]) -> T:
        """Return the authorizer's result. Raises only `McpError`, unless the request was aborted:
        any other exception would end the task, and the caller would wait for ever.
        """
        try:
            answer = await asked
        except McpError:
            raise
        except (Exception, asyncio.CancelledError) as error:
            if self._is_given_up:
                raise
            # This was not cancelled: a task that the caller's own function awaited was.
            raise _as_ours(error) from error
        if self._is_given_up:  # the caller's own function may have swallowed that
            raise asyncio.CancelledError
        return answer

    def _with(self, headers: Mapping[str, str], url: Url) -> HttpRequest:
        """Return the request with the authorization, to be sent to ``url``."""
        return HttpRequest(
            self._request.method,
            url,
            merged(self._request.headers, headers.items()),
            self._request.body,
            repeatable=self._request.repeatable,
            renew=self._renew,
        )

    async def _renew(self, request: HttpRequest) -> HttpRequest:
        """Return the request for another sending; a proof serves only once (RFC 9449)."""
        headers = await self._answer(self._authorization.headers(http_url(request.url)))
        return self._with(headers, request.url)

    async def _recover(self, refusal: Refusal) -> None:
        head, body = refusal.head, bytes(refusal.body)
        try:
            again = await self._answer(self._authorization.recover(head))
        except Exception as error:
            if error.__cause__ is None:  # about a server without OAuth, the refusal says the most
                error.__cause__ = http_error(head, body, self.url)
            self._fail(error)
            return
        if again:
            await self._send()
            return
        self._task = None
        self._sink.head_received(head)
        if body:
            self._sink.body_received(body)
        self._sink.response_ended()

    def _fail(self, error: Exception) -> None:
        self._task = None
        if not self._is_given_up:
            self._sink.response_failed(_as_ours(error))

    # net.http.ResponseSink

    def head_received(self, head: ResponseHead) -> None:
        if head.status in (401, 403):
            self._refusal = Refusal(head)
        else:
            self._authorization.note(head)
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
            self._exchange = None  # which refers to this: so both are freed without the collector
        else:
            self._task = self._client.tasks.start(self._recover(self._refusal))

    def response_failed(self, error: McpError) -> None:
        if self._refusal is not None:
            # The rest of a refusal tells nothing that its head has not told.
            self._task = self._client.tasks.start(self._recover(self._refusal))
        else:
            self._sink.response_failed(error)


def _as_ours(error: BaseException) -> McpError:
    """Return the error, or one in its place where it is a bug."""
    if isinstance(error, McpError):
        return error
    failure = AuthError(f"authorization failed with {type(error).__name__}")
    failure.__cause__ = error
    return failure
