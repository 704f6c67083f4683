"""Streamable HTTP to an ASGI application of the same program."""

from __future__ import annotations

from typing import Any

from ..framing.uri import Url
from ..net.asgi import Application, AsgiDialer, Lifespan
from ..net.network_options import NetworkOptions
from .base import Receiver
from .streamable_http import StreamableHttpTransport


class AsgiTransport(StreamableHttpTransport):
    """Talks to one endpoint of ``application``, which starts and ends with the connection."""

    def __init__(
        self, url: Url, application: Application, network: NetworkOptions, **options: Any
    ) -> None:
        self._lifespan = Lifespan(application)
        dialer = AsgiDialer(network, application, self._lifespan.state)
        self._is_closing = False
        super().__init__(url, dialer=dialer, **options)

    async def open(self, receiver: Receiver) -> None:
        """Let the application start. Raises `ConnectFailed` when it fails to."""
        await self._lifespan.start(self.description)
        await super().open(receiver)

    async def close(self) -> None:
        self._is_closing = True  # the connections are aborted first, the application is not
        try:
            await super().close()
        finally:
            self._is_closing = False
            await self._lifespan.end()

    def abort(self) -> None:
        super().abort()
        if not self._is_closing:
            self._lifespan.abort()
