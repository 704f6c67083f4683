"""WebSocket: one JSON-RPC message per text frame, with the subprotocol ``mcp``.

No revision of the specification describes this transport. The framing is the one that the SDKs'
WebSocket servers have in common; the rules of both eras hold as they do over stdio.
"""

from __future__ import annotations

from ..errors import HttpError
from ..framing.headers import Headers, merged
from ..framing.http1 import ResponseHead
from ..framing.uri import Url, http_url
from ..net.dialing import Dialer
from ..net.websocket import WebSocketConnection, WebSocketSettings, open_websocket
from .authorized import Authorizer, Credentials, authorizer_in
from .base import deliver_text
from .connected import ConnectedTransport
from .http_messages import CallerHeaders, HeaderSource


class WebSocketTransport(ConnectedTransport):
    """Talks to one WebSocket endpoint.

    ``headers``: the caller's own, for the opening request. ``credentials``: who is asking, said
    there too. ``settings``: the size of messages, and how often a sign of life is asked for.
    """

    name = "ws"

    def __init__(
        self,
        url: Url,
        *,
        headers: HeaderSource | None = None,
        credentials: Credentials | None = None,
        settings: WebSocketSettings | None = None,
        dialer: Dialer | None = None,
    ) -> None:
        super().__init__()
        self.url = url
        self._authorizer, fixed = authorizer_in(credentials)
        self._headers = CallerHeaders(headers or {}, url, fixed)
        self._settings = settings or WebSocketSettings()
        self._dialer = dialer or Dialer()
        self._websocket: WebSocketConnection | None = None

    @property
    def reached(self) -> str:
        return self._dialer.reached

    @property
    def description(self) -> str:
        return self.url.shown

    async def _connect(self) -> WebSocketConnection:
        headers = await self._headers.provided_for(None)
        if self._authorizer is None:
            self._websocket = await self._open(headers)
        else:
            self._websocket = await self._open_authorized(headers, self._authorizer)
        return self._websocket

    async def _open(self, headers: list[tuple[str, str]]) -> WebSocketConnection:
        return await open_websocket(self._dialer, self.url, headers, self, self._settings)

    async def _open_authorized(
        self, headers: list[tuple[str, str]], authorizer: Authorizer
    ) -> WebSocketConnection:
        authorization = authorizer.request("GET", http_url(self.url))
        while True:
            own = await authorization.headers()
            try:
                return await self._open(merged(headers, own.items()))
            except HttpError as refusal:
                head = ResponseHead(refusal.status, "", Headers(refusal.headers.items()), "1.1")
                if refusal.status not in (401, 403) or not await authorization.recover(head):
                    raise

    def _frame(self, message: bytes) -> bytes:
        assert self._websocket is not None
        return self._websocket.frame_text(message)

    async def _disconnect(self) -> None:
        assert self._websocket is not None
        await self._websocket.close()

    def message_received(self, data: str | bytes) -> None:
        deliver_text(data, self.receiver)
