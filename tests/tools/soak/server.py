"""A server of the soak: one process that speaks every transport, and dies when told to.

Run as a file, with the path of the ledger first::

    python server.py LEDGER            # over its standard streams
    python server.py LEDGER PORT       # everything else, on one port of the loopback interface

On the port, what a connection begins with tells what it is: a JSON object makes it a connection of
lines, a request to upgrade a WebSocket. ``/json`` and ``/sse`` answer with JSON and with event
streams, ``/legacy`` is HTTP+SSE. It ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import sys
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.tools.bench.servers import frame
from tests.tools.soak.acts import Json, SoakServer

_WEBSOCKET_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_LIMIT = 1 << 24

Take = Callable[[bytes], Awaitable[None]]


def encode(message: Json) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


class Shared:
    """The exchange of every request on one lasting connection: all write to the same place."""

    def __init__(self, write: Callable[[bytes], None], drop: Callable[[], None]) -> None:
        self._write = write
        self.drop = drop

    def send(self, message: Json) -> None:
        self._write(encode(message))

    answer = send

    def garbage(self) -> None:
        self._write(b"\xff{no message")

    def half(self, message: Json) -> None:
        self._write(encode(message)[:-20])
        self.drop()

    def refuse(self) -> bool:
        return False

    def postpone(self, message: Json) -> bool:
        return False


class Conversation:
    """The requests of one lasting connection, each a task that the client may cancel."""

    def __init__(self, server: SoakServer, exchange: Shared) -> None:
        self._server = server
        self._exchange = exchange
        self._tasks: dict[Any, asyncio.Task[None]] = {}

    async def take(self, text: bytes) -> None:
        message = json.loads(text)
        if message.get("method") == "notifications/cancelled":
            task = self._tasks.get(message["params"]["requestId"])
            if task is not None:
                task.cancel()
            return
        task = asyncio.ensure_future(self._server.receive(message, self._exchange))
        key = message.get("id", task)
        self._tasks[key] = task
        task.add_done_callback(lambda _: self._tasks.pop(key, None))

    def end(self) -> None:
        for task in list(self._tasks.values()):
            task.cancel()


async def serve_lines(reader: asyncio.StreamReader, take: Take) -> None:
    while True:
        line = await reader.readline()
        if not line:
            return
        await take(line)


class Responses:
    """The exchange of one request over HTTP: its answer is JSON, or an event stream."""

    def __init__(self, site: Site, writer: asyncio.StreamWriter, *, stream: bool) -> None:
        self._site = site
        self._writer = writer
        self._stream = stream
        self._begun = False
        self.headers = b""

    def _begin(self, kind: bytes, length: bytes) -> None:
        self._begun = True
        head = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\n%b%b\r\n\r\n"
        self._writer.write(head % (kind, self.headers, length))

    def begin_stream(self) -> None:
        if not self._begun:
            self._begin(b"text/event-stream", b"transfer-encoding: chunked")

    def event(self, data: bytes, extra: bytes = b"") -> None:
        self.begin_stream()
        event = extra + b"data: " + data + b"\n\n"
        self._writer.write(b"%x\r\n%b\r\n" % (len(event), event))

    def send(self, message: Json) -> None:
        if self._stream:
            self.event(encode(message))
        elif "method" in message and self._site.channel is not None:
            self._site.channel.event(encode(message))

    def answer(self, message: Json) -> None:
        if self._stream:
            self.event(encode(message))
            self._writer.write(b"0\r\n\r\n")
        elif not self._begun:
            self._body(encode(message))

    def _body(self, body: bytes) -> None:
        self._begin(b"application/json", b"content-length: %d" % len(body))
        self._writer.write(body)

    def garbage(self) -> None:
        if self._stream:
            self.event(b'{"method": no message')
        else:
            self._body(b"<html>no message</html>")

    def half(self, message: Json) -> None:
        if self._stream:
            self.event(encode(message)[:-20])
        else:
            body = encode(message)
            self._begin(b"application/json", b"content-length: %d" % (len(body) + 1))
            self._writer.write(body[:-20])
        self._writer.close()

    def drop(self) -> None:
        self._writer.transport.abort()

    def refuse(self) -> bool:
        self._writer.write(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n")
        self._begun = True
        return True

    def postpone(self, message: Json) -> bool:
        if not self._stream:
            return False
        self._site.serial += 1
        event_id = b"%d" % self._site.serial
        self._site.postponed[event_id] = encode(message)
        self.event(b"", b"retry: 1\nid: " + event_id + b"\n")
        self._writer.close()
        return True


class Site:
    """The state that the connections of this process share."""

    def __init__(self, server: SoakServer) -> None:
        self.server = server
        self.serial = 0
        self.channel: Responses | None = None
        self.postponed: dict[bytes, bytes] = {}
        self.conversations: dict[bytes, Conversation] = {}

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        with suppress(OSError, asyncio.IncompleteReadError):
            first = await reader.readexactly(1)
            if first == b"{":
                await self._lines(first, reader, writer)
            else:
                await self._http(first, reader, writer)
        writer.transport.abort()

    async def _lines(
        self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        exchange = Shared(lambda data: writer.write(data + b"\n"), writer.transport.abort)
        conversation = Conversation(self.server, exchange)
        try:
            await conversation.take(first + await reader.readline())
            await serve_lines(reader, conversation.take)
        finally:
            conversation.end()

    async def _http(
        self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            head = first + await reader.readuntil(b"\r\n\r\n")
            line, *fields = head[:-4].split(b"\r\n")
            headers = {
                name.lower(): value for name, _, value in (f.partition(b": ") for f in fields)
            }
            method, target, _ = line.split(b" ")
            body = await reader.readexactly(int(headers.get(b"content-length", b"0")))
            if b"sec-websocket-key" in headers:
                await serve_websocket(self.server, headers, reader, writer)
                return
            first = await self._request(method, target, headers, body, reader, writer)

    async def _request(
        self,
        method: bytes,
        target: bytes,
        headers: dict[bytes, bytes],
        body: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bytes:
        """Answer, and return what has been read beyond the request."""
        if target.startswith(b"/legacy"):
            return await self._legacy(method, target, body, reader, writer)
        session = headers.get(b"mcp-session-id", b"").decode()
        if session and session not in self.server.sessions:
            return respond(writer, b"404 Not Found")
        if method == b"GET":
            return await self._channel(headers, reader, writer)
        if method == b"DELETE":
            self.server.sessions.discard(session)
            return respond(writer, b"204 No Content")
        message = json.loads(body)
        streams = target == b"/sse" or message.get("method") == "subscriptions/listen"
        exchange = Responses(self, writer, stream=streams)
        if "id" not in message or "method" not in message:
            await self.server.receive(message, exchange)
            return respond(writer, b"202 Accepted")
        if message["method"] == "initialize":
            self.serial += 1
            self.server.sessions.add(f"session-{os.getpid()}-{self.serial}")
            exchange.headers = b"mcp-session-id: session-%d-%d\r\n" % (os.getpid(), self.serial)
        return await until_gone(self.server.receive(message, exchange), reader)

    async def _channel(
        self,
        headers: dict[bytes, bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bytes:
        channel = Responses(self, writer, stream=True)
        postponed = self.postponed.pop(headers.get(b"last-event-id", b""), None)
        if postponed is not None:
            channel.event(postponed)
            writer.write(b"0\r\n\r\n")
            return b""
        channel.begin_stream()
        self.channel = channel
        return await until_gone(asyncio.Event().wait(), reader)

    async def _legacy(
        self,
        method: bytes,
        target: bytes,
        body: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bytes:
        _, _, key = target.partition(b"?")
        if method == b"POST":
            if key not in self.conversations:
                return respond(writer, b"404 Not Found")
            respond(writer, b"202 Accepted")
            await self.conversations[key].take(body)
            return b""
        stream = Responses(self, writer, stream=True)
        self.serial += 1
        key = b"%d" % self.serial
        stream.event(b"/legacy?" + key, b"event: endpoint\n")
        conversation = Conversation(self.server, Shared(stream.event, stream.drop))
        self.conversations[key] = conversation
        try:
            return await until_gone(asyncio.Event().wait(), reader)
        finally:
            del self.conversations[key]
            conversation.end()


def respond(writer: asyncio.StreamWriter, status: bytes) -> bytes:
    writer.write(b"HTTP/1.1 %b\r\ncontent-length: 0\r\n\r\n" % status)
    return b""


async def until_gone(work: Awaitable[Any], reader: asyncio.StreamReader) -> bytes:
    """Work until that is done or the client is gone; return its words meanwhile."""
    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(reader.read(1))
    await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
    if working.done() and not gone.done():
        gone.cancel()
        await asyncio.wait({gone})
        return b""
    data = gone.result()
    if not working.done() and not data:
        working.cancel()
    await asyncio.wait({working})
    if not data:
        raise ConnectionResetError
    return data


async def serve_websocket(
    server: SoakServer,
    headers: dict[bytes, bytes],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    digest = hashlib.sha1(headers[b"sec-websocket-key"] + _WEBSOCKET_GUID).digest()
    writer.write(
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-accept: %b\r\nsec-websocket-protocol: mcp\r\n\r\n"
        % base64.b64encode(digest)
    )
    exchange = Shared(lambda data: writer.write(frame(1, data)), writer.transport.abort)
    exchange.garbage = lambda: writer.write(frame(1, b"{no message"))  # type: ignore[method-assign]
    conversation = Conversation(server, exchange)
    try:
        while True:
            opcode, payload = await read_frame(reader)
            if opcode == 8:
                writer.write(frame(8, payload))
                await writer.drain()
                return
            await conversation.take(payload)
    finally:
        conversation.end()


async def read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    first, second = await reader.readexactly(2)
    length = second & 0x7F
    if length > 125:
        length = int.from_bytes(await reader.readexactly(2 if length == 126 else 8), "big")
    key = await reader.readexactly(4)
    masked = await reader.readexactly(length)
    mask = (key * (length // 4 + 1))[:length]
    number = int.from_bytes(masked, "big") ^ int.from_bytes(mask, "big")
    return first & 15, number.to_bytes(length, "big")


def write_out(data: bytes) -> None:
    data += b"\n"
    while data:
        data = data[os.write(1, data) :]


async def serve_stdio(server: SoakServer) -> None:
    reader = asyncio.StreamReader(_LIMIT)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    conversation = Conversation(server, Shared(write_out, lambda: os._exit(4)))
    await serve_lines(reader, conversation.take)


async def serve_port(server: SoakServer, port: int) -> None:
    site = Site(server)
    asyncio.get_running_loop().add_reader(0, lambda: os._exit(0))
    await asyncio.start_server(site.connected, "127.0.0.1", port, limit=_LIMIT)
    await asyncio.Event().wait()


def main(ledger: str, port: str = "") -> None:
    server = SoakServer(ledger)
    asyncio.run(serve_port(server, int(port)) if port else serve_stdio(server))


if __name__ == "__main__":
    with suppress(OSError, KeyboardInterrupt):
        main(*sys.argv[1:])
    os._exit(0)
