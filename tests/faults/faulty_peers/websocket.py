"""A faulty WebSocket server."""

from __future__ import annotations

import asyncio
import json
from functools import partial

from tests.faults.faulty_peers.faults import Delivery
from tests.faults.faulty_peers.peer import SocketPeer
from tests.faults.faulty_peers.wire import StreamWire
from tests.net.websocket_peer import CLOSE, PING, PONG, TEXT, frame
from tests.net.websocket_peer import Peer as Connection

ACCEPTED = {"jsonrpc": "2.0", "method": "vendor/accepted"}


class WebSocketWire(StreamWire):
    def frame(self, text: bytes) -> bytes:
        return frame(TEXT, text)

    def noise(self) -> None:
        self.write(b"\xf3\x05hello")  # reserved bits, and a reserved opcode


class OpeningWire(StreamWire):
    """The wire while the client waits for its connection to become a WebSocket.

    A message is the answer 101; ``raw`` bytes are an answer that is none.
    """

    def __init__(self, connection: Connection, answer: bytes) -> None:
        super().__init__(connection.writer)
        self._answer = answer

    def frame(self, text: bytes) -> bytes:
        if text == json.dumps(ACCEPTED).encode():
            return self._answer
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)

    def noise(self) -> None:
        self.write(b"\x16\x03\x01\x00\xa5 not HTTP\r\n\r\n")


class WebSocketPeer(SocketPeer):
    async def start(self) -> None:
        self.target = f"ws://127.0.0.1:{await self.listen()}/mcp"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer)
        await self._open(connection)
        wire = WebSocketWire(writer)
        while True:
            opcode, payload = await connection.receive()
            if opcode == TEXT:
                self.script.receive(json.loads(payload), wire)
            elif opcode == PING:
                wire.write(frame(PONG, payload))
            elif opcode == CLOSE:
                self.script.farewell(wire, partial(_close, wire, payload))

    async def _open(self, connection: Connection) -> None:
        if not self.script.strikes_at("connect"):
            await connection.accept("Sec-WebSocket-Protocol: mcp")
            return
        answer = await connection.acceptance("Sec-WebSocket-Protocol: mcp")
        self.script.strike([Delivery(OpeningWire(connection, answer), ACCEPTED)])


def _close(wire: WebSocketWire, payload: bytes) -> None:
    wire.write(frame(CLOSE, payload))
    wire.drop()
