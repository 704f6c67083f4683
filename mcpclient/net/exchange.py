"""One HTTP/1.1 request and its response, over as many connections as that takes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from ..errors import AuthError, ConnectFailed, HttpError, McpError, UsageError
from ..framing.content_coding import ContentDecoder
from ..framing.headers import merged
from ..framing.http1 import ResponseHead
from ..framing.uri import Url, http_url, resolve_url
from .futures import cancel, settled

if TYPE_CHECKING:
    from ..recording.transcript import HttpChannel
    from .clocks import PausableClocks
    from .http import HttpClient
    from .http_connection import HttpConnection

T = TypeVar("T")

ERROR_BODY_LIMIT = 64 * 1024
"""The most bytes kept of an error response's body."""

_MAX_REDIRECTS = 5
_NOTED = frozenset(("set-cookie", "content-encoding"))  # the fields that an exchange acts on


class ResponseSink(Protocol):
    """The receiver of one response. No call follows `response_ended` or `response_failed`."""

    def head_received(self, head: ResponseHead) -> None:
        """Handle the status and the headers."""

    def body_received(self, data: bytes) -> None:
        """Handle a piece of the body."""

    def response_ended(self) -> None:
        """Handle the end of the response."""

    def response_failed(self, error: McpError) -> None:
        """Handle the loss of the connection before the end of the response."""


class HttpRequest(NamedTuple):
    """One request.

    ``repeatable``: sending it twice does no harm, so that it may be sent again when its connection
    turns out to be dead.
    """

    method: str
    url: Url
    headers: Sequence[tuple[str, str]]
    body: bytes | None = None
    repeatable: bool = True

    def __repr__(self) -> str:  # it holds secrets
        return object.__repr__(self)


class RequestAuthorization(Protocol):
    """The authorization of one request, through all its repetitions."""

    def headers(self, url: str | None = None) -> Mapping[str, str] | Awaitable[Mapping[str, str]]:
        """The headers of the next sending, plain or async, to ``url`` after a redirect."""
        ...

    def note(self, head: ResponseHead) -> None:
        """Handle a response that is not a refusal."""
        return

    async def recover(self, head: ResponseHead) -> bool:
        """Get other credentials after a 401 or 403; return whether to send the request again."""
        ...


class Authorizer(Protocol):
    """A source of the caller's identity; it pauses ``clocks``, if any, while a human is asked."""

    clocks: PausableClocks | None = None

    def request(self, method: str, url: str, *, passive: bool = False) -> RequestAuthorization:
        """The authorization of a request. For a ``passive`` one nothing new is obtained."""
        ...

    async def close(self) -> None:
        """Cancel logins in progress, if there are any. Idempotent."""
        return

    def abort(self) -> None:
        """Do as `close` does, without waiting."""
        return


def http_error(
    head: ResponseHead, body: bytes, url: Url, kind: type[HttpError] = HttpError
) -> HttpError:
    """Return the exception for a response that is not a success.

    Credentials of the request that the server repeats, and whatever in its answer looks like a
    secret, are masked in the exception's text.
    """
    error = kind(head.status, head.headers, body, url.shown)
    if head.request and (body or error.authenticate):
        from ..recording.redaction import Redactor

        redactor = Redactor()
        line, *lines = head.request.decode("latin-1").split("\r\n")
        fields = (each.partition(": ") for each in lines)
        redactor.url(line.split(" ")[1])
        redactor.headers(((name, value) for name, _, value in fields), sent=True)
        error.mask(redactor.text)
    return error


class Exchange:
    """One request and its response, over as many connections as redirects and retries take.

    The request is sent at once, its response goes to ``sink``. Raises `UsageError` for bad headers.
    With an ``authorization``, it is sent again after a 401 or 403, for as long as that has other
    credentials; a login may take several requests over the same connection.

    It has a channel of the recorder for every time it is sent. A response that is in progress when
    recording begins is recorded from there on, with the heads of its request and of its own.
    """

    def __init__(
        self,
        client: HttpClient,
        request: HttpRequest,
        sink: ResponseSink,
        authorization: RequestAuthorization | None = None,
    ) -> None:
        self._client = client
        self._sink = sink
        self._connection: HttpConnection | None = None
        self._dialing: asyncio.Task[None] | None = None
        self._decoder: ContentDecoder | None = None
        self._redirect: Url | None = None
        self._redirects = 0
        self._sent_again = False
        self._done = False
        self._recorder = client.recorder
        self._channel: HttpChannel | None = None
        self._authorization = authorization
        self._headers = request.headers  # without credentials
        self._refused: ResponseHead | None = None
        self._refusal = bytearray()  # the body
        self._held: HttpConnection | None = None  # a login may go on over it
        self._begin(request)

    @property
    def url(self) -> Url:
        """The URL of the request, after redirects."""
        return self._request.url

    def abort(self) -> None:
        """Close the connection of the request; the sink is not called again. Idempotent."""
        if not self._done:
            self._end_record("closed")
        self._done = True
        cancel(self._dialing)
        self._let_go()
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.abort()

    def _begin(self, request: HttpRequest, url: str | None = None, *, fresh: bool = False) -> None:
        """Send a request, with the headers of its authorization; ``url``: not the first time."""
        self._request = request
        if self._authorization is None:
            self._send(request, fresh=fresh)
            return
        headers = self._authorization.headers(url)
        # Plain ones come as a dict: to ask whether one can be awaited takes as long as the rest.
        if isinstance(headers, dict) and url is None:
            self._send(self._with(headers))
        else:
            self._dialing = self._client.tasks.start(self._send_with(headers, fresh=fresh))

    def _again(self, request: HttpRequest, *, fresh: bool = False) -> None:
        # A proof serves only once (RFC 9449).
        self._begin(request, http_url(request.url), fresh=fresh)

    def _with(self, headers: Mapping[str, str]) -> HttpRequest:
        method, url, _, body, repeatable = self._request  # `_replace` takes four times as long
        fields = merged(self._headers, headers.items())
        return HttpRequest(method, url, fields, body, repeatable)

    async def _send_with(
        self, headers: Mapping[str, str] | Awaitable[Mapping[str, str]], *, fresh: bool
    ) -> None:
        try:
            self._send(self._with(await self._answer(headers)), fresh=fresh)
        except McpError as error:
            self._fail(error)

    async def _answer(self, asked: T | Awaitable[T]) -> T:
        """Return the authorization's result. Raises only `McpError`, unless this was aborted: any
        other exception would end the task, and the caller would wait for ever.
        """
        try:
            answer = await settled(asked)
            if not self._done:
                return answer
        except McpError:
            raise
        except (Exception, asyncio.CancelledError) as error:
            if not self._done:
                # Not this task was cancelled, but one that the caller's own function awaited.
                raise AuthError(f"authorization failed with {type(error).__name__}") from error
        raise asyncio.CancelledError  # the caller's own function may have swallowed it

    def _send(self, request: HttpRequest, *, fresh: bool = False) -> None:
        """Send a request; ``fresh``: on a new connection, as it was lost with an idle one."""
        self._request = request
        self._bytes = self._client.encode(request)
        self._head: ResponseHead | None = None
        if self._recorder.is_on:
            self._begin_record(fresh=fresh)
        connection = None if fresh else self._client.idle_connection(request.url)
        self._reused = connection is not None
        if connection is None:
            self._dialing = self._client.tasks.start(self._dial())
        else:
            self._connection = connection
            connection.run(self, request.method, self._bytes)

    def _begin_record(self, *, fresh: bool = False) -> None:
        channel = self._recorder.writer.http_channel()
        again = f"it was sent again as {channel.name}: the server had closed the connection"
        self._end_record(again if fresh else "complete")
        channel.sent(self._bytes)
        if self._head is not None:
            channel.head_received(self._head)
        self._channel = channel

    def _end_record(self, how: str, error: McpError | None = None) -> None:
        if self._channel is not None:
            self._channel.end(how, error)

    async def _dial(self) -> None:
        try:
            connection = await self._client.new_connection(self._request.url)
        except McpError as error:
            self._fail(error)
        except Exception as error:  # such as a TypeError for an option: the request must fail
            reason = f"{type(error).__name__}: {error}"
            self._fail(ConnectFailed(self._request.url.shown, reason, (error,)))
        else:
            self._dialing = None
            self._connection = connection
            connection.run(self, self._request.method, self._bytes)

    def _fail(self, error: McpError) -> None:
        if self._done:
            return
        self._connection = None
        self._end_record(str(error), error)
        if self._refused is not None:
            self._judge(self._refused)  # the head of a refusal is enough; its body is not needed
        else:
            self._done = True
            self._sink.response_failed(error)

    # After a refusal

    def _judge(self, refused: ResponseHead) -> None:
        self._refused = self._decoder = None
        self._sent_again = False
        self._dialing = self._client.tasks.start(self._recover(refused))

    async def _recover(self, refused: ResponseHead) -> None:
        """Send the request again if there are other credentials, or pass the refusal on."""
        authorization, refusal = self._authorization, bytes(self._refusal)
        self._refusal.clear()
        assert authorization is not None
        try:
            has_others: bool = await self._answer(authorization.recover(refused))
            if has_others:
                request = self._with(await self._answer(authorization.headers()))
                # No await from here on: an abort must find the connection that the request is on.
                self._let_go()
                self._send(request)
                return
        except McpError as error:
            if error.__cause__ is None:  # for a server without OAuth, the refusal is the best error
                error.__cause__ = http_error(refused, refusal, self.url)
            self._let_go()
            self._fail(error)
            return
        self._let_go()
        self._done = True
        self._sink.head_received(refused)
        if refusal:
            self._sink.body_received(refusal)
        self._sink.response_ended()

    def _let_go(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._client.release(held)

    # What the connection reports

    def head_received(self, head: ResponseHead) -> None:
        if self._channel is None and self._recorder.is_on:
            self._begin_record()
        self._head = head
        if self._channel is not None:
            self._channel.head_received(head)
        status, headers = head.status, head.headers
        if status >= 300:
            head = head._replace(request=self._bytes.partition(b"\r\n\r\n")[0])
            if status == 401 and self._connection is not None:
                head = head._replace(certificate=self._connection.certificate)
            elif status in (307, 308) and self._client.check is None:
                self._redirect = self._redirect_target(head)
        if not _NOTED.isdisjoint(headers):
            if "set-cookie" in headers and self._client.check is None:
                self._client.cookies.store(self._request.url, headers)
            if "content-encoding" in headers and self._redirect is None:
                self._decoder = ContentDecoder(headers["content-encoding"])  # its sink has bounds
        if self._redirect is not None:
            return
        if self._authorization is not None:
            if status in (401, 403):
                self._refused = head
                return
            try:
                self._authorization.note(head)
            except AuthError as error:
                self._reject(error)
                return
        self._sink.head_received(head)

    def _redirect_target(self, head: ResponseHead) -> Url | None:
        """Return the target of a redirect; None for any other response (RFC 9110, section 15.4)."""
        location = head.headers.get("location")
        if location is None or self._redirects >= _MAX_REDIRECTS:
            return None
        try:
            url = resolve_url(self._request.url, location)
        except UsageError:
            return None
        return url if url.origin == self._request.url.origin else None

    def body_received(self, data: bytes) -> Iterator[None] | None:
        """Handle a piece of the body; a returned iterator is exhausted before the next event."""
        if self._redirect is not None:
            return None
        if self._decoder is not None:
            return self._decode(data, self._decoder)
        self._deliver(data)
        return None

    def _decode(self, data: bytes, decoder: ContentDecoder) -> Iterator[None]:
        for piece in decoder.decode(data):
            if self._done:
                return
            if piece:
                self._deliver(piece)
            yield
        if decoder.fault is not None:
            self._reject(decoder.fault)

    def _deliver(self, data: bytes) -> None:
        """Pass on a piece of the body. It is recorded as transports see it."""
        if self._channel is None and self._recorder.is_on:
            self._begin_record()
        if self._channel is not None:
            self._channel.body_received(data)
        if self._refused is None:
            self._sink.body_received(data)
            return
        self._refusal += data[: ERROR_BODY_LIMIT - len(self._refusal)]
        if len(self._refusal) == ERROR_BODY_LIMIT:  # the rest may have no end
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.abort()
            self._end_record("closed")
            self._judge(self._refused)

    def response_ended(self) -> None:
        connection, self._connection = self._connection, None
        if self._redirect is not None:
            self._redirects += 1
            request, self._redirect = self._request._replace(url=self._redirect), None
            self._again(request)
            return
        if self._decoder is not None:
            self._decoder.finish()
            if self._decoder.fault is not None:
                self._reject(self._decoder.fault)
        if self._refused is not None:
            self._end_record("complete")
            if connection is not None and self._client.claim(connection):
                self._held = connection
            self._judge(self._refused)
        elif not self._done:
            self._done = True
            self._end_record("complete")
            self._sink.response_ended()

    def connection_failed(self, error: McpError, *, answer_begun: bool, sent: bool) -> None:
        """Fail, or send the request again where the connection was dead before it arrived.

        ``sent``: the system accepted at least one byte of it.
        """
        self._connection = None
        if self._done:
            return
        is_stale = self._reused and not answer_begun and self._request.repeatable
        if not self._sent_again and (is_stale or not sent):
            # The server closed an idle connection while this request was on its way.
            self._sent_again = True
            self._again(self._request, fresh=True)
        else:
            self._fail(error)

    def _reject(self, error: McpError) -> None:
        connection = self._connection
        self._fail(error)
        if connection is not None:
            connection.abort()
