"""WebSocket: one JSON-RPC message per text frame, with the subprotocol ``mcp``.

No revision of the specification describes this transport. The framing is the one that the SDKs'
WebSocket servers have in common; the rules of both eras hold as they do over stdio.
"""

from __future__ import annotations

from ..framing.uri import Url
from ..net.dialing import Dialer
from ..net.websocket import WebSocketConnection, WebSocketSettings
from ..net.websocket_opening import open_websocket
from .base import deliver_text
from .connected import ConnectedTransport
from .http_messages import CallerHeaders, HeaderSource

__all__ = ["WebSocketTransport"]


class WebSocketTransport(ConnectedTransport):
    """Talks to one WebSocket endpoint.

    ``headers``: the caller's own, for the opening request. ``settings``: the size of messages, and
    how often a sign of life is asked for.
    """

    name = "ws"

    def __init__(
        self,
        url: Url,
        *,
        headers: HeaderSource | None = None,
        settings: WebSocketSettings | None = None,
        dialer: Dialer | None = None,
    ) -> None:
        super().__init__()
        self.url = url
        self._headers = CallerHeaders(headers or {}, url)
        self._settings = settings or WebSocketSettings()
        self._dialer = dialer or Dialer()
        self._websocket: WebSocketConnection | None = None

    @property
    def description(self) -> str:
        """The URL, without credentials and query."""
        return self.url.shown

    async def _connect(self) -> WebSocketConnection:
        headers = (
            await self._headers.provided_for(None)
            if self._headers.may_wait
            else self._headers.fixed_for(None)
        )
        self._websocket = await open_websocket(
            self._dialer, self.url, headers, self, self._settings
        )
        return self._websocket

    def _frame(self, message: bytes) -> bytes:
        assert self._websocket is not None
        return self._websocket.frame_text(message)

    async def _disconnect(self) -> None:
        assert self._websocket is not None
        await self._websocket.close()

    def message_received(self, data: str | bytes) -> None:
        """Deliver a message; one in a binary frame is JSON as well."""
        deliver_text(data, self.receiver)
