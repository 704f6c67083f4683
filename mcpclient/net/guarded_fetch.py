"""HTTP requests to URLs that a server named: they go only to addresses that were checked before.

A host name is resolved once, each of its addresses is checked, and the connection goes to a checked
address and to no other: so a name cannot mean one thing to the check and another to the connection
(DNS rebinding). No redirect is followed, and the body and the time are bounded.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from ..auth.effects import Fetch, Response
from ..auth.url_guard import UrlPolicy, check_address, origin_of
from ..display import shown_url
from ..errors import (
    AuthError,
    CallTimeout,
    ConnectFailed,
    ConnectionLost,
    McpError,
    ProtocolViolation,
    SsrfError,
)
from ..framing.http1 import GatheredResponse, encode_request
from ..framing.uri import Url, parse_url
from ..lazy import OnDemand
from ..recording.transcript import HttpChannel
from .dialing import Dialer, TlsContexts, addresses_of, explain_failure, explain_loss
from .network_options import NetworkOptions

if TYPE_CHECKING:
    import ssl
else:
    ssl = OnDemand("ssl")

FETCH_TIMEOUT = 30.0
"""Seconds that one request may take in all."""


class GuardedFetcher:
    """Performs `Fetch`. ``options``: how the client reaches its server.

    They hold for URLs at the server's own origin. Of other servers the certificates are always
    checked, by ``ssl_context`` if there is one. Behind a proxy no address is checked: it is the
    proxy that resolves the name and connects.
    """

    def __init__(
        self,
        options: NetworkOptions | None = None,
        *,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._options = options or NetworkOptions()
        for_others = self._options.for_others(ssl_context)
        self._tls = TlsContexts(self._options)
        self._tls_for_others = TlsContexts(for_others)
        self._to_server = Dialer(self._options)
        self._to_others = Dialer(for_others)

    async def fetch(self, request: Fetch) -> Response:
        """Send the request and return the answer, whatever its status.

        Raises `SsrfError` for an address that the policy forbids, `ConnectFailed`,
        `ConnectionLost` and `CallTimeout`, which are network errors, and `AuthError` for an answer
        that is no HTTP.
        """
        try:
            return await asyncio.wait_for(self._fetch(request), FETCH_TIMEOUT)
        except asyncio.TimeoutError:
            shown = f"{request.method} {shown_url(request.url)}"
            raise CallTimeout(shown, FETCH_TIMEOUT, "total") from None
        except ProtocolViolation as error:
            # An authorization server broke the protocol, not the MCP server.
            raise AuthError(f"{shown_url(request.url)}: {error}") from None

    async def _fetch(self, request: Fetch) -> Response:
        url = parse_url(request.url)
        loop = asyncio.get_running_loop()
        exchange = _Exchange(url, request.max_body, loop.create_future())
        is_own = origin_of(request.url) == request.policy.server_origin
        dialer = self._to_server if is_own else self._to_others
        target, hop_headers = dialer.request_target(url)
        headers = [
            ("Host", url.authority),
            ("Accept-Encoding", "identity"),
            ("Connection", "close"),
            *hop_headers,
            *request.headers.items(),
        ]
        message = encode_request(request.method, target, headers, request.body)
        exchange.channel = self._begin_record(message)
        try:
            if self._options.proxy_for(url) or (is_own and self._options.unix_socket):
                await dialer.dial(url, lambda: exchange)
            else:
                await self._dial_checked(url, request.policy, exchange, is_own=is_own)
            exchange.send(request.method, message)
            return await exchange.response
        except McpError as error:
            if exchange.channel is not None:
                exchange.channel.end(str(error), error)
            raise
        finally:
            exchange.close()

    def _begin_record(self, message: bytes) -> HttpChannel | None:
        recorder = self._options.recorder
        if recorder is None or not recorder.is_on:
            return None
        channel = recorder.http_channel()
        channel.sent(message)
        return channel

    async def _dial_checked(
        self, url: Url, policy: UrlPolicy, exchange: _Exchange, *, is_own: bool
    ) -> None:
        loop = asyncio.get_running_loop()
        context = None
        if url.secure:
            context = (self._tls if is_own else self._tls_for_others).for_server
        failure: OSError | None = None
        for address in await _checked_addresses(url, policy):
            try:
                await loop.create_connection(
                    lambda: exchange,
                    address,
                    url.port,
                    ssl=context,
                    server_hostname=url.host if context is not None else None,
                )
                return
            except OSError as error:
                failure = failure or error
        assert failure is not None, "a name without addresses does not resolve"
        kind, reason = explain_failure(failure, url)
        is_lenient = not self._options.verify or self._options.ssl_context is not None
        has_tls = is_lenient and not is_own and "ssl" in sys.modules
        if has_tls and isinstance(failure, ssl.SSLCertVerificationError):
            reason += " (the client's verify= and ssl_context= are for its server; auth has its own"
            reason += " ssl_context=)"
        raise ConnectFailed(url.shown, reason, (failure,), kind) from failure


async def _checked_addresses(url: Url, policy: UrlPolicy) -> list[str]:
    """The addresses of the host that may be connected to. Raises when there are none."""
    try:
        found = await addresses_of(url.host, url.port)
    except OSError as error:
        kind, reason = explain_failure(error, url)
        raise ConnectFailed(url.shown, reason, (error,), kind) from error
    allowed: list[str] = []
    refusal: SsrfError | None = None
    for each in found:
        address = str(each.name[0])
        try:
            check_address(address, str(url), policy)
            allowed.append(address)
        except SsrfError as error:
            refusal = refusal or error
    if refusal is not None and not allowed:
        raise refusal
    return allowed


class _Exchange(asyncio.Protocol):
    """One request and its response on a connection of its own."""

    def __init__(self, url: Url, max_body: int, response: asyncio.Future[Response]) -> None:
        self.response = response
        self.channel: HttpChannel | None = None
        self._url = url
        self._max_body = max_body
        # One byte more than is wanted, by which whoever asked can tell that there is more.
        self._answer = GatheredResponse(max_body + 1)
        self._transport: asyncio.WriteTransport | None = None

    def send(self, method: str, message: bytes) -> None:
        """Send the request, unless the connection has ended already."""
        parser = self._answer.parser
        if self._transport is not None and parser.reusable:
            parser.start(method)
            self._transport.write(message)
        elif not self.response.done():
            self._fail(ConnectionLost(f"{self._url.shown} ended the connection at once"))

    def close(self) -> None:
        self.response.cancel()
        if self.channel is not None:
            self.channel.end("closed")
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._take(data)

    def eof_received(self) -> None:
        self._take(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if not self.response.done():
            kind, reason = explain_loss(exc, self._url)
            text = f"the connection to {self._url.shown} was lost: {reason}"
            self._fail(ConnectionLost(text, kind))

    def _take(self, data: bytes | None) -> None:
        answer = self._answer
        head = answer.feed(data)
        if head and head.headers.get("content-encoding", "identity").lower() != "identity":
            self._fail(ProtocolViolation("the server used an unsupported Content-Encoding"))
        elif answer.is_complete or len(answer.body) > self._max_body:
            self._finish()
        elif answer.parser.fault is not None:
            self._fail(answer.parser.fault)

    def _finish(self) -> None:
        head, body = self._answer.head, bytes(self._answer.body)
        if self.response.done() or head is None:
            return
        if self.channel is not None:
            self.channel.head_received(head)
            self.channel.body_received(body)
            self.channel.end()
        self.response.set_result(Response(head.status, head.headers.pairs(), body))

    def _fail(self, error: McpError) -> None:
        if not self.response.done():
            self.response.set_exception(error)
