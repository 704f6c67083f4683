"""A connection through an HTTP proxy: CONNECT (RFC 9110, section 9.3.6), then any protocol."""

from __future__ import annotations

import asyncio
import ssl
import sys
from typing import Callable, TypeVar

from ..errors import ConnectFailed, ConnectKind, negotiated_scheme
from ..framing.http1 import ResponseHead, encode_request
from ..framing.http1_response import GatheredResponse
from ..framing.uri import Url

P = TypeVar("P", bound=asyncio.BaseProtocol)


def proxy_headers(proxy: Url) -> list[tuple[str, str]]:
    """Return the header fields that a proxy itself is to read."""
    if proxy.credentials is None:
        return []
    return [("Proxy-Authorization", proxy.credentials)]


class Tunnel(asyncio.Protocol):
    """Asks ``proxy`` for a connection to ``url``; `hand_over` then gives it to another protocol."""

    def __init__(self, proxy: Url, url: Url) -> None:
        self._proxy = proxy
        self._url = url
        self._answer = GatheredResponse()
        self._transport: asyncio.Transport | None = None
        self._established: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lost: Exception | None = None

    async def establish(self) -> None:
        """Have the proxy connect. Raises `ConnectFailed` with the proxy's reason."""
        assert self._transport is not None
        host = f"[{self._url.host}]" if ":" in self._url.host else self._url.host
        target = f"{host}:{self._url.port}"
        self._answer.parser.start("CONNECT")
        headers = [("Host", target), *proxy_headers(self._proxy)]
        self._transport.write(encode_request("CONNECT", target, headers))
        await self._established

    async def hand_over(self, protocol: Callable[[], P], tls: ssl.SSLContext | None) -> P:
        """Give the connection to a new protocol and return that; ``tls`` encrypts it first.

        Raises OSError when encrypting fails, and `ConnectFailed` where this Python cannot do it.
        """
        transport = self._transport
        assert transport is not None
        if tls is not None:
            if self._proxy.secure and sys.version_info < (3, 11):
                reason = "TLS inside the TLS of a proxy needs Python 3.11; use an http:// proxy"
                raise ConnectFailed(self._url.shown, reason, kind=ConnectKind.PROXY)
            # This object stays the protocol until its owner can be told of the connection:
            # `start_tls` never calls connection_made, and an alert may come before it returns.
            encrypted = await asyncio.get_running_loop().start_tls(
                transport, self, tls, server_hostname=self._url.host
            )
            if encrypted is None or self._lost is not None:
                raise self._lost or ConnectionResetError("closed during the TLS handshake")
            transport = encrypted
        owner = protocol()
        transport.set_protocol(owner)
        owner.connection_made(transport)
        transport.resume_reading()
        return owner

    def abort(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take the proxy's answer."""
        head = self._answer.feed(data)
        fault = self._answer.parser.fault
        if head is not None:
            self._take_answer(head)
        elif fault is not None:
            self._fail(f"{self._shown}: {fault.reason}")

    def _take_answer(self, head: ResponseHead) -> None:
        assert self._transport is not None
        if 200 <= head.status < 300 and self._answer.parser.trailing:
            self._fail(f"{self._shown} sent bytes behind its answer to CONNECT")
        elif 200 <= head.status < 300:
            # What the server says now is for the protocol to come.
            self._transport.pause_reading()
            if not self._established.done():
                self._established.set_result(None)
        elif head.status in (401, 407) and self._proxy.credentials is None:
            scheme = negotiated_scheme(head.headers.get("proxy-authenticate", ""))
            kind = ConnectKind.PROXY_NEGOTIATE if scheme else ConnectKind.PROXY_CREDENTIALS
            asked = f", by {scheme}" if scheme else ""
            self._fail(f"{self._shown} asks for credentials ({head.status}{asked})", kind)
        elif head.status in (401, 407):  # 401 is wrong here, but what tinyproxy answers
            reason = f"{self._shown} does not accept the credentials in its URL ({head.status})"
            self._fail(reason, ConnectKind.PROXY_CREDENTIALS)
        else:
            where = f"{self._url.host} port {self._url.port}"
            answer = f"{head.status} {head.reason}".strip()
            self._fail(f"{self._shown} refused to connect to {where}: {answer}")

    @property
    def _shown(self) -> str:
        return f"the proxy {self._proxy.shown.rstrip('/')}"

    def eof_received(self) -> None:
        """Take the end of what the proxy sends."""
        self._fail(f"{self._shown} closed the connection without answering")

    def connection_lost(self, exc: Exception | None) -> None:
        """Take the end."""
        self.abort()  # Python 3.9 and 3.10 warn of a TLS transport that was lost, but not closed
        self._lost = exc or ConnectionResetError("the connection was closed")
        self._fail(f"{self._shown} closed the connection without answering")

    def _fail(self, reason: str, kind: ConnectKind = ConnectKind.PROXY) -> None:
        if not self._established.done():
            self._established.set_exception(ConnectFailed(self._url.shown, reason, kind=kind))
