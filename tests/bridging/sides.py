"""The two sides of a bridge in one event loop: a host behind pipes, and a server of bytes."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from typing import IO, Any, Callable

from mcpclient import Client, ConnectionLost
from mcpclient.bridging.bridge import Bridge
from mcpclient.client.connection.limits import RequestOptions
from mcpclient.framing.ndjson import LineFramer
from mcpclient.net.futures import NextChange
from mcpclient.net.process.pipes import PipeReader, PipeWriter
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.base import Receiver, Transport, deliver_text
from tests.support.mcp_server import STATELESS, McpServer

PREFIX = "io.modelcontextprotocol/"
NO_LIMITS = RequestOptions(None, None)


class ServerSide(Transport):
    """A transport to an object without I/O. ``lines``: the bytes that it was sent.

    What the server sends is delivered as JSON with spaces, and in a later turn of the loop.
    """

    name = "test"

    def __init__(self, server: McpServer) -> None:
        self.server = server
        self.lines: list[bytes] = []
        self.receiver: Receiver | None = None
        self.opened = 0
        self.is_held = False
        self.congested: asyncio.Event | None = None
        self._change = NextChange()

    async def open(self, receiver: Receiver) -> None:
        self.opened += 1
        self.is_held = False
        self.receiver = receiver

    def send(self, outgoing: Outgoing) -> None:
        line = outgoing.encode()
        self.lines.append(line)
        self._change.notify()
        self.server.receive(json.loads(line), lambda message: self.say(json.dumps(message)))

    async def came(self, text: str) -> Any:
        """Wait for a message that has this text, and return the last one."""
        while not (found := [line for line in self.lines if text.encode() in line]):
            await self._change.wait()
        return json.loads(found[-1])

    def say(self, text: str | bytes) -> None:
        """Let the server send a line."""
        receiver = self.receiver
        assert receiver is not None
        line = text.encode() if isinstance(text, str) else text
        asyncio.get_running_loop().call_soon(deliver_text, line, receiver)

    def hold(self, *, is_held: bool) -> None:
        self.is_held = is_held

    @property
    def is_congested(self) -> bool:
        return self.congested is not None and not self.congested.is_set()

    async def drained(self) -> None:
        if self.congested is not None:
            await self.congested.wait()

    def lose(self) -> None:
        """End the connection."""
        assert self.receiver is not None
        self.receiver.connection_lost(ConnectionLost("it fell over"))

    async def close(self) -> None:
        self.receiver = None


class HostSide:
    """A host: it writes lines, and reads them."""

    def __init__(self, to_bridge: int, from_bridge: int) -> None:
        loop = asyncio.get_running_loop()
        self.inbox: asyncio.Queue[bytes] = asyncio.Queue()
        self._framer = LineFramer()
        self.last_id = 0
        self.writer = PipeWriter(
            loop, os.fdopen(to_bridge, "wb", 0), lambda paused: None, lambda: None
        )
        self.reader = PipeReader(
            loop, os.fdopen(from_bridge, "rb", 0), self._received, lambda: None
        )

    def _received(self, data: bytes) -> None:
        for line in self._framer.feed(data):
            assert isinstance(line, bytes)
            self.inbox.put_nowait(line)

    def write(self, line: str | bytes | Mapping[str, Any]) -> None:
        """Write one line."""
        if isinstance(line, Mapping):
            line = json.dumps({"jsonrpc": "2.0", **line})
        self.writer.write((line.encode() if isinstance(line, str) else line) + b"\n")

    async def line(self) -> bytes:
        """Return the next line of the bridge."""
        return await self.inbox.get()

    async def message(self) -> Any:
        """Return the next message of the bridge."""
        return json.loads(await self.line())

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Send a request, and return the next message, which has to be its response."""
        self.last_id += 1
        fields = {} if params is None else {"params": params}
        self.write({"id": self.last_id, "method": method, **fields})
        answer = await self.message()
        assert answer.get("id") == self.last_id, answer
        return answer

    async def initialize(self, **capabilities: Any) -> Any:
        """Open a session of the handshake era, and return the result."""
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": {"name": "host", "version": "1"},
        }
        answer = await self.request("initialize", params)
        self.write({"method": "notifications/initialized"})
        return answer["result"]

    async def call(self, name: str, **arguments: Any) -> Any:
        """Call a tool as a host of the handshake era, and return the response."""
        return await self.request("tools/call", {"name": name, "arguments": arguments})

    def close(self) -> None:
        """Close both ends."""
        self.writer.close()
        self.reader.close()


def modern(params: Mapping[str, Any] | None = None, **capabilities: Any) -> dict[str, Any]:
    """Return the params of a request of the stateless era."""
    meta = {
        PREFIX + "protocolVersion": STATELESS,
        PREFIX + "clientInfo": {"name": "host", "version": "1"},
        PREFIX + "clientCapabilities": capabilities,
    }
    return {**(params or {}), "_meta": meta}


@asynccontextmanager
async def hosted(
    serve: Callable[[IO[bytes], IO[bytes]], Awaitable[None]],
) -> AsyncIterator[HostSide]:
    """A host of a service, which ends with it."""
    host_reads, bridge_writes = os.pipe()
    bridge_reads, host_writes = os.pipe()
    host = HostSide(host_writes, host_reads)
    streams = os.fdopen(bridge_reads, "rb", 0), os.fdopen(bridge_writes, "wb", 0)
    serving = asyncio.ensure_future(serve(*streams))
    try:
        yield host
        host.writer.close()
        await serving
    finally:
        host.close()
        serving.cancel()
        await asyncio.wait({serving})


@asynccontextmanager
async def bridged(
    server: McpServer | ServerSide,
    judge: Callable[[], str] = str,
    offers: Callable[[object], bool] = lambda name: True,
    limits: RequestOptions = NO_LIMITS,
    **options: Any,
) -> AsyncIterator[tuple[HostSide, ServerSide]]:
    """A host and a server, and the bridge between them, which ends with the host."""
    side = server if isinstance(server, ServerSide) else ServerSide(server)
    bridge = Bridge(
        lambda **others: Client(side, cache=False, **{**options, **others}),
        judge,
        str,
        limits,
        offers,
    )
    async with hosted(bridge.serve) as host:
        yield host, side
