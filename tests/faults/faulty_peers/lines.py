"""Faulty servers whose messages are lines on a socket: TCP and Unix-domain."""

from __future__ import annotations

import asyncio
import json

from tests.faults.faulty_peers.faults import Delivery
from tests.faults.faulty_peers.peer import SocketPeer
from tests.faults.faulty_peers.wire import StreamWire

NOISE = b"\x00\xff\xfe a banner \x1b[31m\n\n\r\n\xef\xbb\xbf\n"
NOTICE = {"jsonrpc": "2.0", "method": "vendor/notice"}


class LineWire(StreamWire):
    def frame(self, text: bytes) -> bytes:
        return text + b"\n"

    def noise(self) -> None:
        self.write(NOISE)


class TcpPeer(SocketPeer):
    async def start(self) -> None:
        self.target = f"tcp://127.0.0.1:{await self.listen()}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire = LineWire(writer)
        if self.script.strikes_at("connect"):
            self.script.strike([Delivery(wire, NOTICE)])
        async for line in reader:
            self.script.receive(json.loads(line), wire)
        wire.drop()


class UnixPeer(TcpPeer):
    async def start(self) -> None:
        path = self.folder / "mcp.sock"
        self.stack.callback(path.unlink, missing_ok=True)  # as Python does from 3.13 on
        await self.listen(path)
        self.target = f"unix://{path}"
