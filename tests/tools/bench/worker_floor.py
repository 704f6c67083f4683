"""The raw asyncio floor: the bytes of the protocol, `json`, one future per call, nothing else.

It knows no errors, time limits, cancellation or closed connections: what a library costs beyond
it is what the library does. Calls at once over stdio share one write, which is the least that
they can cost; over HTTP each has a connection of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

from .worker import ECHO_ARGUMENTS, Adapter, Client, Target, serve

CLIENT_INFO = {"name": "floor", "version": "1"}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT_INFO}


class FloorClient(ABC):
    """Requests with counted ids, in the shape of one of the two eras."""

    def __init__(self, era: str) -> None:
        self.stateless = era != "handshake"
        self.last_id = 0

    @abstractmethod
    async def exchange(self, method: str, message: bytes, name: str = "") -> Any:
        """Send a request and return its result; `name` is the tool's, which HTTP repeats."""

    async def open(self) -> None:
        """The exchanges that a client makes before its first call."""
        if self.stateless:
            await self.exchange("server/discover", self.encode("server/discover", {}))
        else:
            await self.exchange("initialize", self.encode("initialize", INITIALIZE))
            await self.initialized()

    @abstractmethod
    async def initialized(self) -> None:
        """Send the notification that ends the handshake."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        params = {"name": name, "arguments": arguments}
        return await self.exchange("tools/call", self.encode("tools/call", params), name)

    async def list_tools(self) -> Any:
        return await self.exchange("tools/list", self.encode("tools/list", {}))

    def encode(self, method: str, params: dict[str, Any]) -> bytes:
        """The next request in bytes."""
        self.last_id += 1
        if self.stateless:
            params = {**params, "_meta": META}
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        return ENCODER.encode(message).encode()


ENCODER = json.JSONEncoder(separators=(",", ":"))
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


class StdioFloor(FloorClient, asyncio.Protocol):
    """One future per id, and lines in chunks as the pipe delivers them.

    The pipes are given to the event loop themselves: `loop.subprocess_exec` would take one more
    turn of the loop for everything it reads.
    """

    def __init__(self, era: str, command: list[str], on_notification: Callable[[], None]) -> None:
        super().__init__(era)
        self.on_notification = on_notification
        self.waiting: dict[int, asyncio.Future[Any]] = {}
        self.chunks: list[bytes] = []
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self.stdin, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, self.process.stdin)
        self.stdout, _ = await loop.connect_read_pipe(lambda: self, self.process.stdout)
        await super().open()

    async def close(self) -> None:
        """Close the server's input, upon which it ends."""
        self.stdin.close()
        self.stdout.close()
        await asyncio.get_running_loop().run_in_executor(None, self.process.wait)

    def data_received(self, data: bytes) -> None:
        self.chunks.append(data)
        if b"\n" in data:
            received = b"".join(self.chunks)
            self.chunks = []
            if received.endswith(b"\n") and received.count(b"\n") == 1:
                self.message_received(received)
                return
            *lines, rest = received.split(b"\n")
            self.chunks = [rest] if rest else []
            for line in lines:
                self.message_received(line)

    def message_received(self, line: bytes) -> None:
        message = json.loads(line)
        if "id" in message:
            self.waiting.pop(message["id"]).set_result(message["result"])
        else:
            self.on_notification()

    def send(self, message: bytes) -> asyncio.Future[Any]:
        """The future of the answer to the request just encoded, which is sent."""
        self.stdin.write(message + b"\n")
        return self.answer()

    def answer(self) -> asyncio.Future[Any]:
        """A future for the answer to the request just encoded."""
        answer = self.waiting[self.last_id] = asyncio.get_running_loop().create_future()
        return answer

    async def exchange(self, method: str, message: bytes, name: str = "") -> Any:
        return await self.send(message)

    async def initialized(self) -> None:
        self.stdin.write(INITIALIZED + b"\n")

    async def call_together(self, width: int) -> list[Any]:
        """So many echo calls in one write."""
        lines, answers = [], []
        for _ in range(width):
            params = {"name": "echo", "arguments": ECHO_ARGUMENTS}
            lines.append(self.encode("tools/call", params))
            answers.append(self.answer())
        lines.append(b"")
        self.stdin.write(b"\n".join(lines))
        return await asyncio.gather(*answers)


class WebSocketFloor(StdioFloor):
    """The same, with messages in frames; what is sent is masked, as it has to be."""

    def __init__(self, era: str, url: str, on_notification: Callable[[], None]) -> None:
        FloorClient.__init__(self, era)
        self.on_notification = on_notification
        self.address = urlsplit(url)
        self.waiting = {}
        self.chunks = []
        self.missing = 0

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self.upgraded: asyncio.Future[None] = loop.create_future()
        host, port = self.address.hostname or "", self.address.port or 80
        self.socket, _ = await loop.create_connection(lambda: self, host, port)
        self.socket.write(
            f"GET {self.address.path} HTTP/1.1\r\nhost: {self.address.netloc}\r\n"
            "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n"
            "sec-websocket-key: Zmxvb3IgZmxvb3IgZmxvbw==\r\n\r\n".encode()
        )
        await self.upgraded
        await FloorClient.open(self)

    async def close(self) -> None:
        """Close the connection."""
        self.socket.close()
        await asyncio.sleep(0)

    def data_received(self, data: bytes) -> None:
        if not self.upgraded.done():
            self.upgraded.set_result(None)
            return
        self.chunks.append(data)
        self.missing -= len(data)
        if self.missing > 0:
            return
        received = b"".join(self.chunks) if len(self.chunks) > 1 else data
        position, size = 0, len(received)
        self.missing = 0
        while size - position >= 2:
            length, start = received[position + 1], position + 2
            if length > 125:
                start += 2 if length == 126 else 8
                length = int.from_bytes(received[position + 2 : start], "big")
            if size - start < length:
                self.missing = start + length - size
                break
            self.message_received(received[start : start + length])
            position = start + length
        self.chunks = [received[position:]] if position < size else []

    def send(self, message: bytes) -> asyncio.Future[Any]:
        self.socket.write(masked_frame(message))
        return self.answer()

    async def initialized(self) -> None:
        self.socket.write(masked_frame(INITIALIZED))

    async def call_together(self, width: int) -> list[Any]:
        """So many echo calls in one write."""
        frames, answers = [], []
        for _ in range(width):
            params = {"name": "echo", "arguments": ECHO_ARGUMENTS}
            frames.append(masked_frame(self.encode("tools/call", params)))
            answers.append(self.answer())
        self.socket.write(b"".join(frames))
        return await asyncio.gather(*answers)


def masked_frame(payload: bytes) -> bytes:
    """A frame of text, masked by one operation on two large numbers."""
    length, key = len(payload), os.urandom(4)
    if length < 126:
        head = bytes((0x81, 0x80 | length)) + key
    elif length < 0x10000:
        head = b"\x81\xfe" + length.to_bytes(2, "big") + key
    else:
        head = b"\x81\xff" + length.to_bytes(8, "big") + key
    mask = int.from_bytes((key * (length // 4 + 1))[:length], "little")
    return head + (int.from_bytes(payload, "little") ^ mask).to_bytes(length, "little")


class HttpConnection(asyncio.Protocol):
    """One exchange at a time: a body by its length, or in chunks holding one event."""

    transport: asyncio.Transport
    answered: asyncio.Future[bytes]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.chunks: list[bytes] = []
        self.missing = 0

    def data_received(self, data: bytes) -> None:
        self.chunks.append(data)
        self.missing -= len(data)
        if self.missing > 0:
            return
        received = b"".join(self.chunks)
        head, separator, body = received.partition(b"\r\n\r\n")
        if not separator:
            return
        length_at = head.find(b"content-length: ")
        if length_at < 0:
            self.chunked_received(body)
            return
        length = int(head[length_at + 16 :].split(b"\r\n", 1)[0])
        if len(body) < length:
            self.chunks = [received]
            self.missing = length - len(body)
            return
        self.chunks = []
        self.answered.set_result(body)

    def chunked_received(self, body: bytes) -> None:
        size, separator, rest = body.partition(b"\r\n")
        if not separator:
            return
        length = int(size, 16)
        self.missing = length + 7 - len(rest)
        if self.missing <= 0:
            self.chunks = []
            data_at = rest.index(b"data: ") + 6
            self.answered.set_result(rest[data_at : length - 2])


class HttpFloor(FloorClient):
    """A POST per message over connections that are kept alive."""

    def __init__(self, era: str, url: str) -> None:
        super().__init__(era)
        address = urlsplit(url)
        self.host, self.port = address.hostname or "", address.port or 80
        version = "2026-07-28" if self.stateless else "2025-11-25"
        self.head = (
            f"POST {address.path} HTTP/1.1\r\nhost: {address.netloc}\r\nuser-agent: floor/1\r\n"
            "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
            f"mcp-protocol-version: {version}\r\n"
        )
        self.idle: list[HttpConnection] = []

    async def exchange(self, method: str, message: bytes, name: str = "") -> Any:
        head = self.head
        if self.stateless:
            head += f"mcp-method: {method}\r\n"
            if name:
                head += f"mcp-name: {name}\r\n"
        return json.loads(await self.post(head, message))["result"]

    async def initialized(self) -> None:
        await self.post(self.head, INITIALIZED)

    async def post(self, head: str, message: bytes) -> bytes:
        """Send one message on an idle or a new connection and return the body of the answer."""
        connection = self.idle.pop() if self.idle else await self.connect()
        connection.answered = asyncio.get_running_loop().create_future()
        connection.transport.write(
            f"{head}content-length: {len(message)}\r\n\r\n".encode() + message
        )
        body = await connection.answered
        self.idle.append(connection)
        return body

    async def connect(self) -> HttpConnection:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(HttpConnection, self.host, self.port)
        return connection

    async def close(self) -> None:
        """Close every connection."""
        for connection in self.idle:
            connection.transport.close()
        await asyncio.sleep(0)  # the loop closes a socket in its next turn


class FloorAdapter(Adapter):
    """The column that all others are measured against."""

    @asynccontextmanager
    async def connect(
        self, target: Target, era: str, on_notification: Callable[[], None]
    ) -> AsyncIterator[Client]:
        if target.get("url", "").startswith("ws:"):
            websocket = WebSocketFloor(era, target["url"], on_notification)
            await websocket.open()
            yield websocket
            await websocket.close()
            return
        if "url" in target:
            http = HttpFloor(era, target["url"])
            await http.open()
            yield http
            await http.close()
            return
        stdio = StdioFloor(era, target["command"], on_notification)
        await stdio.open()
        yield stdio
        await stdio.close()

    def text(self, result: Any) -> str:
        return str(result["content"][0]["text"])

    async def call_together(self, client: Client, width: int) -> list[Any]:
        if isinstance(client, StdioFloor):
            return await client.call_together(width)
        return await super().call_together(client, width)


if __name__ == "__main__":
    serve(FloorAdapter())
