"""A client that sends every message back, over this library's own connection."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import cast

from mcpclient import ConnectionLost, McpError
from mcpclient.framing.uri import parse_url
from mcpclient.transports.base import Receiver
from mcpclient.transports.websocket import WebSocketTransport

# Longer than the longest time that a case takes.
_PATIENCE = 300.0


async def converse(port: int, path: str, *, echo: bool = False) -> list[str | bytes]:
    """Connect to ``path`` of a server on this machine until it closes; return its messages."""
    connection = _Connection(f"ws://127.0.0.1:{port}{path}", echo=echo)
    await connection.open(cast(Receiver, connection))
    try:
        await asyncio.wait_for(connection.over, _PATIENCE)
    finally:
        await connection.close()
    return connection.taken


class _Connection(WebSocketTransport):
    """A connection whose messages are kept as they come, and sent back where that is asked for."""

    def __init__(self, url: str, *, echo: bool) -> None:
        # The suite's server sends pings of its own, and counts the client's pings.
        super().__init__(parse_url(url), ping_interval=None)
        self.taken: list[str | bytes] = []
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._echoes = echo

    def message_received(self, data: str | bytes) -> None:
        """Receive one message."""
        self.taken.append(data)
        if self._echoes:
            asyncio.get_running_loop().call_soon(self._send_back, data)

    def _send_back(self, data: str | bytes) -> None:
        protocol = self._protocol
        with suppress(ConnectionLost):  # it ended behind this message
            if isinstance(data, str):
                self._stream.write(protocol.send_text(data.encode()))
            else:
                self._stream.write(protocol.send_binary(data))

    def connection_lost(self, error: McpError) -> None:
        """Receive the end."""
        self._end(error)
        if not self.over.done():
            self.over.set_result(None)
