"""A small HTTP server for tests, in the test's own event loop, that misbehaves on request.

A handler is given the `Request` and an `Answer` to write: a proper response, raw bytes, chunks,
events, silence, half an answer, or a reset. Every request is recorded, with the number of the
connection it came on.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from socket import SO_LINGER, SOL_SOCKET
from typing import Any, Callable

from mcpclient.framing.uri import Url, parse_url
from mcpclient.net.local_http import send_at_once

HeaderPairs = Mapping[str, str]


@dataclass(frozen=True)
class Request:
    """One request as it arrived. Names of headers are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: int
    raw_head: bytes

    @property
    def message(self) -> dict[str, Any]:
        """The JSON-RPC message in the body."""
        message = json.loads(self.body)
        assert isinstance(message, dict)
        return message


class Answer:
    """The server's side of one connection, while it answers one request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def raw(self, data: bytes) -> None:
        """Send bytes as they are. Raises `ConnectionError` when the client is known to be gone."""
        if self._writer.is_closing():
            raise ConnectionResetError
        self._writer.write(data)

    def full(
        self, status: int = 200, headers: HeaderPairs | None = None, body: bytes = b""
    ) -> None:
        """Send a whole response with a Content-Length."""
        self.head(status, {"Content-Length": str(len(body)), **(headers or {})})
        self.raw(body)

    def json(self, value: Any, status: int = 200, headers: HeaderPairs | None = None) -> None:
        """Send a JSON value as a whole response."""
        body = json.dumps(value).encode()
        self.full(status, {"Content-Type": "application/json", **(headers or {})}, body)

    def head(self, status: int = 200, headers: HeaderPairs | None = None) -> None:
        """Send a status line and headers, and nothing else."""
        lines = [f"HTTP/1.1 {status} Status"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self.raw("\r\n".join([*lines, "", ""]).encode())

    def stream(self, headers: HeaderPairs | None = None) -> None:
        """Begin a chunked event stream."""
        self.head(
            200,
            {
                "Content-Type": "text/event-stream",
                "Transfer-Encoding": "chunked",
                **(headers or {}),
            },
        )

    def chunk(self, data: bytes) -> None:
        """Send one chunk; an empty one ends the body."""
        self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    def event(
        self,
        message: Any = None,
        *,
        event: str | None = None,
        id: str | None = None,
        retry: int | None = None,
    ) -> None:
        """Send one event as a chunk; ``message`` is JSON unless it is text already."""
        lines = [f"event: {event}"] if event is not None else []
        lines += [f"id: {id}"] if id is not None else []
        lines += [f"retry: {retry}"] if retry is not None else []
        if message is not None:
            lines.append("data: " + (message if isinstance(message, str) else json.dumps(message)))
        self.chunk("\n".join([*lines, "", ""]).encode())

    def end(self) -> None:
        """End a chunked body properly."""
        self.chunk(b"")

    async def stall(self) -> None:
        """Send nothing more, until the client goes away."""
        with suppress(ConnectionError):
            while await self._reader.read(65536):
                pass
        self.cut()

    def cut(self) -> None:
        """Close the connection, whatever has been sent."""
        self._writer.close()

    def reset(self) -> None:
        """Reset the connection: the client sees an error, not an end."""
        socket = self._writer.get_extra_info("socket")
        socket.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


Handler = Callable[[Request, Answer], Awaitable[None]]


def answer_with(
    status: int = 200, headers: HeaderPairs | None = None, body: bytes = b""
) -> Handler:
    """Return a handler that always gives the same response."""

    async def handler(request: Request, answer: Answer) -> None:
        answer.full(status, headers, body)

    return handler


def in_turn(*handlers: Handler) -> Handler:
    """Return a handler that uses the given ones in turn, and the last one for all the rest."""
    left = list(handlers)

    async def handler(request: Request, answer: Answer) -> None:
        await (left.pop(0) if len(left) > 1 else left[0])(request, answer)

    return handler


class HttpServer:
    """Serves on a free port of the loopback interface for as long as the context lasts.

    ``routes`` maps ``"METHOD /path"``, ``"/path"`` or ``"METHOD"`` to handlers, the first that
    fits is used; what has none is answered with 404. ``requests`` are those that came so far.
    """

    def __init__(self, routes: Mapping[str, Handler] | None = None, port: int = 0) -> None:
        self.routes = dict(routes or {})
        self.requests: list[Request] = []
        self.connections = 0
        self._port = port
        self._server: asyncio.AbstractServer | None = None
        self.writers: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}

    def url(self, path: str = "/mcp") -> Url:
        """The URL of a path on this server."""
        return parse_url(f"http://127.0.0.1:{self._port}{path}")

    def requests_of(self, method: str) -> list[Request]:
        """The requests that came with this HTTP method."""
        return [request for request in self.requests if request.method == method]

    @property
    def open_connections(self) -> int:
        """The number of open connections."""
        return len(self.writers)

    async def __aenter__(self) -> HttpServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exception: object) -> None:
        assert self._server is not None
        self._server.close()
        tasks = list(self.writers)
        for task in tasks:
            self.writers[task].transport.abort()
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._server.wait_closed()

    def drop_connections(self) -> None:
        """Close every connection, as a server does that is tired of idle ones."""
        for writer in self.writers.values():
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.writers[task] = writer
        self.connections += 1
        number = self.connections
        send_at_once(writer)
        try:
            while not writer.is_closing():
                request = await _read_request(reader, number)
                if request is None:
                    break
                self.requests.append(request)
                await self._handler_for(request)(request, Answer(reader, writer))
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client is gone, or the server is going
        finally:
            del self.writers[task]
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    def _handler_for(self, request: Request) -> Handler:
        path = request.target.partition("?")[0]
        for key in (f"{request.method} {path}", path, request.method):
            if key in self.routes:
                return self.routes[key]
        return answer_with(404)


async def _read_request(reader: asyncio.StreamReader, connection: int) -> Request | None:
    try:
        raw_head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = raw_head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    fields = [line.partition(":") for line in lines if line]
    headers = {name.lower(): value.strip() for name, _, value in fields}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, target, headers, body, connection, raw_head)
