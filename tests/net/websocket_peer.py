"""A WebSocket server that a test tells frame by frame what to do, right or wrong."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, Callable, cast

from mcpclient.errors import McpError
from mcpclient.framing.uri import Url
from mcpclient.net.dialing import Dialer
from mcpclient.transports.base import Receiver
from mcpclient.transports.websocket import WebSocketTransport
from tests.net.peers import PATIENCE, dialer_with, serve

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Peer:
    """The server's end of one connection. ``request`` is the head of the opening request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.request = ""

    async def read_request(self) -> None:
        self.request = (await self.reader.readuntil(b"\r\n\r\n")).decode()

    async def accept(self, *fields: str, then: bytes = b"") -> None:
        """Answer the handshake, with more fields and with bytes right behind it."""
        self.writer.write(await self.acceptance(*fields) + then)

    async def acceptance(self, *fields: str) -> bytes:
        """Read the opening request, and return the answer that accepts it."""
        await self.read_request()
        key = self.request.split("Sec-WebSocket-Key: ")[1].split("\r\n")[0]
        digest = hashlib.sha1(key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        lines = [
            "HTTP/1.1 101 Switching Protocols",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Accept: {base64.b64encode(digest).decode()}",
            *fields,
            "\r\n",
        ]
        return "\r\n".join(lines).encode()

    def send(self, opcode: int, payload: bytes = b"") -> None:
        self.writer.write(frame(opcode, payload))

    async def receive(self) -> tuple[int, bytes]:
        """Return the opcode and the payload of the client's next frame."""
        first, second = await self.reader.readexactly(2)
        assert second & 0x80, "the client did not mask"
        length = second & 0x7F
        if length >= 126:
            size = 2 if length == 126 else 8
            length = int.from_bytes(await self.reader.readexactly(size), "big")
        key = await self.reader.readexactly(4)
        masked = await self.reader.readexactly(length)
        mask = (key * (length // 4 + 1))[:length]
        return first & 15, bytes(a ^ b for a, b in zip(masked, mask))


def frame(opcode: int, payload: bytes = b"") -> bytes:
    length = len(payload)
    if length < 126:
        return bytes((0x80 | opcode, length)) + payload
    if length < 65536:
        return bytes((0x80 | opcode, 126)) + length.to_bytes(2, "big") + payload
    return bytes((0x80 | opcode, 127)) + length.to_bytes(8, "big") + payload


@asynccontextmanager
async def websocket_server(script: Callable[[Peer], Awaitable[None]]) -> AsyncIterator[str]:
    """Serve; the script runs once for each connection, which ends with it."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await script(Peer(reader, writer))
        await writer.drain()

    async with serve(handle) as port:
        yield f"ws://127.0.0.1:{port}/mcp"


class Messages:
    """The messages of a `RawWebSocket`, and its end, which a test can wait for."""

    def __init__(self) -> None:
        self.taken: list[str | bytes] = []
        self.resumed = 0
        self.lost: list[McpError] = []
        self._changed = asyncio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await asyncio.wait_for(self._changed.wait(), PATIENCE * 100)

    async def error(self) -> McpError:
        """Wait for the end of the connection and return its reason."""
        await self.until(lambda: bool(self.lost))
        return self.lost[0]

    def message_received(self, data: str | bytes) -> None:
        self.taken.append(data)
        self._changed.set()

    def writing_resumed(self) -> None:
        self.resumed += 1
        self._changed.set()

    def connection_lost(self, error: McpError) -> None:
        self.lost.append(error)
        self._changed.set()


class RawWebSocket(WebSocketTransport):
    """A connection whose messages are not decoded, and whose frames a test writes itself."""

    def __init__(
        self,
        url: Url,
        messages: Messages,
        headers: dict[str, str] | None = None,
        dialer: Dialer | None = None,
        **pings: float | None,
    ) -> None:
        given: Any = {"ping_interval": None, **pings}
        super().__init__(url, headers=headers, dialer=dialer or dialer_with(), **given)
        self._messages = messages

    async def connected(self) -> RawWebSocket:
        await self.open(cast(Receiver, self._messages))
        return self

    @property
    def ended(self) -> McpError | None:
        return self._ended

    @property
    def paused(self) -> bool:
        return self._stream.paused

    def frame_binary(self, data: bytes) -> bytes:
        return self._protocol.send_binary(data)

    def write(self, frames: bytes) -> None:
        self._stream.write(frames)

    def message_received(self, data: str | bytes) -> None:
        self._messages.message_received(data)

    def writing_resumed(self) -> None:
        super().writing_resumed()
        self._messages.writing_resumed()
