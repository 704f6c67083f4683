"""A client that sends every message back, over this library's own connection."""

from __future__ import annotations

import asyncio

from mcpclient import ConnectionLost, McpError
from mcpclient.framing.uri import parse_url
from mcpclient.net.dialing import Dialer
from mcpclient.transports.websocket import WebSocketConnection, WebSocketSettings, open_websocket

# The suite's server sends pings of its own, and counts those of a client.
_SETTINGS = WebSocketSettings(ping_interval=None)

# Longer than the longest time that a case takes.
_PATIENCE = 300.0


async def converse(port: int, path: str, *, echo: bool = False) -> list[str | bytes]:
    """Connect to ``path`` of a server on this machine until it closes; return its messages."""
    url = parse_url(f"ws://127.0.0.1:{port}{path}")
    messages = _Messages()
    connection = await open_websocket(Dialer(), url, [], messages, _SETTINGS)
    try:
        return await asyncio.wait_for(messages.take_all(connection if echo else None), _PATIENCE)
    finally:
        await connection.close()


class _Messages:
    """What a connection delivers, and then the None that ends it."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[str | bytes | None] = asyncio.Queue()

    async def take_all(self, echo: WebSocketConnection | None) -> list[str | bytes]:
        """Take messages until the end, and send each back if there is a connection to do so."""
        taken: list[str | bytes] = []
        while True:
            message = await self._queue.get()
            if message is None:
                return taken
            taken.append(message)
            if echo is not None:
                try:
                    echo.write(_frame(echo, message))
                except ConnectionLost:  # it ended behind this message
                    continue

    # transports.websocket.WebSocketReceiver

    def message_received(self, data: str | bytes) -> None:
        """Take one message."""
        self._queue.put_nowait(data)

    def writing_resumed(self) -> None:
        """Nothing waits for this."""

    def connection_lost(self, error: McpError) -> None:
        """Take the end."""
        self._queue.put_nowait(None)


def _frame(connection: WebSocketConnection, message: str | bytes) -> bytes:
    if isinstance(message, str):
        return connection.frame_text(message.encode())
    return connection._protocol.send_binary(message)
