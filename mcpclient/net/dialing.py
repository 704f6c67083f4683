"""Opening connections: TCP, and TLS over it."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import Callable, TypeVar

from ..errors import ConnectFailed
from ..framing.uri import Url

__all__ = ["Dialer"]

P = TypeVar("P", bound=asyncio.Protocol)

# How long the first address of a host is tried before the next is tried beside it (RFC 8305).
_NEXT_ADDRESS_AFTER = 0.25


class Dialer:
    """Opens connections to servers. One dialer serves all connections of a client."""

    def __init__(self) -> None:
        self._tls: ssl.SSLContext | None = None

    async def dial(self, url: Url, protocol: Callable[[], P]) -> P:
        """Connect to the host of ``url`` and return the protocol, connected.

        Raises `ConnectFailed`. Safe to cancel: a half-open connection is closed.
        """
        loop = asyncio.get_running_loop()
        try:
            _, connected = await loop.create_connection(
                protocol,
                url.host,
                url.port,
                ssl=self._tls_context() if url.secure else None,
                happy_eyeballs_delay=_NEXT_ADDRESS_AFTER,
            )
        except OSError as error:
            raise ConnectFailed(url.shown, _explain(error, url), (error,)) from error
        return connected

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


def _explain(error: OSError, url: Url) -> str:
    if isinstance(error, socket.gaierror):
        return f"the host name {url.host!r} cannot be resolved: {error.strerror}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {error.reason or error}"
    if isinstance(error, ConnectionRefusedError):
        return f"nothing listens on {url.host} port {url.port}"
    return str(error)
