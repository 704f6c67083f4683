"""``python -m conformance.front COMMAND ...``: Streamable HTTP in front of a stdio server.

The official suite judges servers by their URL alone. This passes what it sends on to a program, and
back: one program for each session of the handshake era, and one for all requests of the stateless
era. It listens on the port in the variable PORT.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpclient.protocol.negotiation import LATEST_STATELESS, STATELESS_VERSIONS

PREFIX = "io.modelcontextprotocol/"
SUBSCRIPTION = PREFIX + "subscriptionId"
PATH, LOCAL = "/mcp", ("127.0.0.1", "localhost")
MAX_LINE = 64 * 1024 * 1024
HEADER_MISMATCH = -32020
# Of errors in the stateless era, where they are all that a request gets.
STATUSES = {-32601: 404, -32600: 400, -32602: 400, -32020: 400, -32021: 400, -32022: 400}
REASONS = {200: "OK", 202: "Accepted", 400: "Bad Request", 403: "Forbidden", 404: "Not Found"}

Message = dict[str, Any]

DISCOVER: Message = {
    "jsonrpc": "2.0",
    "id": "front",
    "method": "server/discover",
    "params": {
        "_meta": {
            PREFIX + "protocolVersion": LATEST_STATELESS,
            PREFIX + "clientInfo": {"name": "front", "version": "1"},
            PREFIX + "clientCapabilities": {},
        }
    },
}


@dataclass(eq=False)
class Stream:
    """The message to the client for one request of it, or outside of all; None ends it."""

    request_id: Any = None
    token: Any = None
    messages: asyncio.Queue[Message | None] = field(default_factory=asyncio.Queue)


class Program:
    """One process, and the streams for its messages by the ids that it was sent."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.streams: dict[int, Stream] = {}
        self.own = Stream()
        self._ids = itertools.count(1)
        self._reading = asyncio.ensure_future(self._read())

    @classmethod
    async def start(cls, command: list[str]) -> Program:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, limit=MAX_LINE
        )
        return cls(process)

    def send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def request(self, message: Message) -> tuple[int, Stream]:
        """Send a request under an id of its own, since clients of one program share its ids."""
        own_id = next(self._ids)
        token = ((message.get("params") or {}).get("_meta") or {}).get("progressToken")
        stream = self.streams[own_id] = Stream(message["id"], token)
        self.send({**message, "id": own_id})
        return own_id, stream

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self._route(json.loads(line))
        for stream in (*self.streams.values(), self.own):
            stream.messages.put_nowait(None)

    def _route(self, message: Message) -> None:
        if "method" not in message:
            stream = self.streams.pop(message["id"], None)
            if stream is not None:
                stream.messages.put_nowait({**message, "id": stream.request_id})
                stream.messages.put_nowait(None)
            return
        params = message.get("params") or {}
        meta = params.get("_meta") or {}
        stream = self.streams.get(meta.get(SUBSCRIPTION, 0))
        if stream is not None:
            meta[SUBSCRIPTION] = stream.request_id
        else:  # the request of the progress, else the latest one
            token, waiting = params.get("progressToken"), [self.own, *self.streams.values()]
            named = [each for each in waiting if token is not None and each.token == token]
            stream = [*waiting, *named][-1]
        stream.messages.put_nowait(message)

    async def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        await self.process.wait()
        await self._reading


class Front:
    """All programs of one command."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._sessions: dict[str, Program] = {}
        self._shared: Program | None = None
        self._starting = asyncio.Lock()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve the one request of a connection."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            verb, path, _ = head[0].split(" ")
            fields = (line.partition(":") for line in head[1:] if line)
            headers = {name.strip().lower(): value.strip() for name, _, value in fields}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            await self._answer(verb, path, headers, body, Exchange(reader, writer))
        writer.close()

    async def _answer(
        self, verb: str, path: str, headers: Mapping[str, str], body: bytes, exchange: Exchange
    ) -> None:
        named = (headers["host"], headers.get("origin", "//localhost").rpartition("/")[2])
        if any(each.partition(":")[0] not in LOCAL for each in named):
            exchange.respond(403)
            return
        session_id = headers.get("mcp-session-id", "")
        session = self._sessions.get(session_id)
        message = json.loads(body) if verb == "POST" else {}
        is_stateless = headers.get("mcp-protocol-version") in STATELESS_VERSIONS
        if path != PATH or (session is None and session_id):
            exchange.respond(404)
        elif verb == "POST" and session is not None:
            await self._pass_on(session, message, exchange)
        elif verb == "POST" and (message.get("method") != "initialize" or is_stateless):
            await self._answer_stateless(message, headers, exchange)
        elif verb == "POST":
            name = os.urandom(8).hex()
            self._sessions[name] = program = await Program.start(self._command)
            await self._pass_on(program, message, exchange, name)
        elif verb == "GET" and session is not None:
            await exchange.stream(session.own)
        elif verb == "DELETE" and session is not None:
            del self._sessions[session_id]
            await session.stop()
            exchange.respond(200)
        else:
            exchange.respond(405)

    async def _answer_stateless(
        self, message: Message, headers: Mapping[str, str], exchange: Exchange
    ) -> None:
        params, method = message.get("params") or {}, message.get("method")
        version = (params.get("_meta") or {}).get(PREFIX + "protocolVersion")
        named = params.get("uri" if method == "resources/read" else "name")
        expected = {"mcp-protocol-version": version, "mcp-method": method, "mcp-name": named}
        if version and any(headers.get(name) != value for name, value in expected.items()):
            error = {"code": HEADER_MISMATCH, "message": "Header mismatch"}
            answer = {"jsonrpc": "2.0", "id": message.get("id"), "error": error}
            exchange.respond(400, answer)
            return
        async with self._starting:
            if self._shared is None:
                self._shared = await Program.start(self._command)
                # Some programs take the era of the first request to hold for all.
                _, discovered = self._shared.request(DISCOVER)
                await discovered.messages.get()
        exchange.is_stateless = True
        await self._pass_on(self._shared, message, exchange)

    async def _pass_on(
        self, program: Program, message: Message, exchange: Exchange, session: str = ""
    ) -> None:
        if "method" not in message or "id" not in message:
            program.send(message)
            exchange.respond(202)
            return
        own_id, stream = program.request(message)
        exchange.session = session
        if not await exchange.stream(stream) and exchange.is_stateless:
            params = {"requestId": own_id}
            method = "notifications/cancelled"
            program.send({"jsonrpc": "2.0", "method": method, "params": params})
        program.streams.pop(own_id, None)


class Exchange:
    """One request over HTTP, and the response to it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.session = ""
        self.is_stateless = False

    def respond(self, status: int, message: Message | None = None) -> None:
        body = b"" if message is None else json.dumps(message).encode()
        kind = "application/json" if message is not None else "text/plain"
        self._begin(status, kind, f"content-length: {len(body)}\r\n")
        self._writer.write(body)

    def _begin(self, status: int, kind: str, more: str = "") -> None:
        session = f"mcp-session-id: {self.session}\r\n" if self.session else ""
        head = f"HTTP/1.1 {status} {REASONS.get(status, 'No')}\r\ncontent-type: {kind}\r\n"
        self._writer.write(f"{head}{session}{more}connection: close\r\n\r\n".encode())

    async def stream(self, stream: Stream) -> bool:
        """Send the messages of a stream to its end; return False if the client leaves before."""
        gone = asyncio.ensure_future(self._reader.read())
        has_begun = False
        try:
            while True:
                coming = asyncio.ensure_future(stream.messages.get())
                await asyncio.wait({gone, coming}, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    coming.cancel()
                    return False
                message = coming.result()
                if message is None:
                    return True
                status = STATUSES.get((message.get("error") or {}).get("code", 0), 200)
                if not has_begun and self.is_stateless and status != 200:
                    self.respond(status, message)
                    return True
                if not has_begun:
                    self._begin(200, "text/event-stream")
                    has_begun = True
                self._writer.write(f"event: message\ndata: {json.dumps(message)}\n\n".encode())
        finally:
            gone.cancel()


async def main() -> None:
    front = Front(sys.argv[1:])
    server = await asyncio.start_server(front.serve, "127.0.0.1", int(os.environ["PORT"]))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
