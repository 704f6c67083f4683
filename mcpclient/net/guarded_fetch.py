"""HTTP requests to URLs that a server named: they go only to addresses that were checked.

A host name is resolved once, each of its addresses is checked, and the connection goes to a checked
address and to no other: so a name cannot mean one thing to the check and another to the connection
(DNS rebinding). No redirect is followed, and the body and the time are bounded.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ..auth.effects import Fetch, Response
from ..auth.url_guard import check_address, origin_of
from ..display import shown_url
from ..errors import AuthError, CallTimeout, ConnectFailed, ConnectKind, McpError, ProtocolViolation
from ..framing.http1 import ResponseHead
from ..framing.uri import parse_url
from .dialing import Dialer
from .exchange import Exchange, HttpRequest
from .futures import resolve
from .http import HttpClient
from .network_options import NetworkOptions

if TYPE_CHECKING:
    import ssl

FETCH_TIMEOUT = 30.0
"""Seconds that one request may take in all."""

_CERTIFICATE_FAULTS = (
    ConnectKind.CERTIFICATE,
    ConnectKind.SELF_SIGNED,
    ConnectKind.UNKNOWN_AUTHORITY,
    ConnectKind.OTHER_HOST,
)


class GuardedFetcher:
    """Performs `Fetch`. ``options``: how the client reaches its server.

    They apply to URLs at the server's own origin. The certificates of other servers are always
    checked, by ``ssl_context`` if there is one.
    """

    def __init__(
        self, options: NetworkOptions | None = None, *, ssl_context: ssl.SSLContext | None = None
    ) -> None:
        self._options = options or NetworkOptions()
        self._to_server = Dialer(self._options)
        self._to_others = Dialer(self._options.for_others(ssl_context))

    async def fetch(self, request: Fetch) -> Response:
        """Send the request and return the answer, whatever its status.

        Raises `SsrfError` for an address that the policy forbids, `ConnectFailed`,
        `ConnectionLost` and `CallTimeout`, which are network errors, and `AuthError` for an answer
        that is not HTTP.
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
        is_own = origin_of(request.url) == request.policy.server_origin
        client = HttpClient(
            self._to_server if is_own else self._to_others,
            lambda address: check_address(address, str(url), request.policy),
        )
        headers = (("Accept-Encoding", "identity"), ("Connection", "close"))
        sent = HttpRequest(
            request.method,
            url,
            (*headers, *request.headers.items()),
            request.body,
            repeatable=False,
        )
        sink = _Sink(request.max_body)
        exchange = Exchange(client, sent, sink)
        try:
            return await sink.response
        except ConnectFailed as error:
            if not is_own and error.kind in _CERTIFICATE_FAULTS:
                error.advise(
                    "verify= and ssl_context= are for the server; give auth an ssl_context=."
                )
            raise
        finally:
            exchange.abort()
            client.abort()


class _Sink:
    def __init__(self, max_body: int) -> None:
        self.response: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._max_body = max_body
        self._body = bytearray()

    def head_received(self, head: ResponseHead) -> None:
        self._head = head
        if head.headers.get("content-encoding", "identity").lower() != "identity":
            violation = ProtocolViolation("the server used an unsupported Content-Encoding")
            self.response_failed(violation)

    def body_received(self, data: bytes) -> None:
        # One byte over the limit, which tells the flow that the body is longer.
        self._body += data[: self._max_body + 1 - len(self._body)]
        if len(self._body) > self._max_body:
            self.response_ended()

    def response_ended(self) -> None:
        head = self._head
        resolve(self.response, Response(head.status, head.headers.pairs(), bytes(self._body)))

    def response_failed(self, error: McpError) -> None:
        resolve(self.response, None, error)
