"""The tap of HTTP: a reverse proxy that writes down heads and bodies, and events as they come.

It is built on h11, which shares nothing with the framing of this library. Every connection of the
client gets one to the server, and when one of them ends, so does the other. Addresses of the server
in what it says are changed to the tap's, and back in what the client says; both have the
same length, for ports of five digits.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import h11

from conformance.capture.taps import RECEIVED, SENT, Seen, with_port
from mcpclient.recording.transcript import event_blocks

READ_SIZE = 65536


class HttpTap:
    """Proxies for one or more servers, all of whose exchanges are numbered together.

    ``ports``: the port of each server by the port of the tap that stands for it. ``proxy_port``:
    where the tap also listens as a proxy, for servers that are not known before and whose addresses
    may be signed.
    """

    def __init__(self, ports: Mapping[int, int], proxy_port: int | None = None) -> None:
        self.seen: list[Seen] = []
        self.numbers = itertools.count(1)
        self._ports = ports
        self._proxy_port = proxy_port
        self._connections: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Listen on all ports of the tap."""
        async with contextlib.AsyncExitStack() as stack:
            listening: dict[int, int | None] = {**self._ports}
            if self._proxy_port is not None:
                listening[self._proxy_port] = None
            for port, server_port in listening.items():
                handle = _Handler(self, server_port)
                server = await asyncio.start_server(handle, "127.0.0.1", port)
                stack.callback(server.close)
            try:
                yield
            finally:
                for task in self._connections:
                    task.cancel()
                await asyncio.gather(*self._connections, return_exceptions=True)

    def track(self, task: asyncio.Task[None]) -> None:
        """Keep a connection that has to end with the tap."""
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    def to_server(self, data: bytes) -> bytes:
        """Replace the addresses of the tap by the servers' own."""
        for port, server_port in self._ports.items():
            data = with_port(data, port, server_port)
        return data

    def to_client(self, data: bytes) -> bytes:
        """Replace the addresses of the servers by the tap's own."""
        for port, server_port in self._ports.items():
            data = with_port(data, server_port, port)
        return data


@dataclass
class _Handler:
    tap: HttpTap
    server_port: int | None

    def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(self.tap, self.server_port, reader, writer)
        self.tap.track(asyncio.ensure_future(connection.run()))


class _Peer:
    """One side of a connection: a socket and the state of HTTP on it."""

    def __init__(
        self,
        role: type[h11.CLIENT] | type[h11.SERVER],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.state = h11.Connection(role)
        self.reader = reader
        self.writer = writer
        self.read = bytearray()
        self.has_left = False

    async def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        while (event := self.state.next_event()) is h11.NEED_DATA:
            data = await self.reader.read(READ_SIZE)
            self.read += data
            self.has_left = not data
            self.state.receive_data(data)
        return event

    async def send(self, event: h11.Event) -> None:
        self.writer.write(self.state.send(event) or b"")
        with contextlib.suppress(ConnectionError):  # whoever reads from this side finds out
            await self.writer.drain()


class _BrokenOffError(Exception):
    """The server has ended its connection in the middle of a response."""


class _IllFormedError(Exception):
    """The server has sent what h11 does not take for HTTP/1.1, or would not pass on as it is."""


class _Connection:
    """A connection of the client and the one to the server that goes with it."""

    def __init__(
        self,
        tap: HttpTap,
        server_port: int | None,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._tap = tap
        self._server_port = server_port
        self._client = _Peer(h11.SERVER, reader, writer)
        self._server: _Peer
        self._is_connected = False

    async def run(self) -> None:
        try:
            if self._server_port is not None:
                await self._reach("127.0.0.1", self._server_port)
            while await self._exchange():
                self._client.state.start_next_cycle()
                self._server.state.start_next_cycle()
        except _BrokenOffError:
            self._client.writer.transport.abort()
        except (OSError, h11.RemoteProtocolError):
            pass  # the client went away between two requests, or when it had its answer
        finally:
            self._client.writer.close()
            if self._is_connected:
                self._server.writer.close()

    async def _reach(self, host: str, port: int) -> None:
        reader, writer = await asyncio.open_connection(host, port)
        self._server = _Peer(h11.CLIENT, reader, writer)
        self._is_connected = True

    async def _exchange(self) -> bool:
        """Pass one request and its response, and say whether another can follow."""
        request = await self._client.next_event()
        if not isinstance(request, h11.Request):
            return False
        channel = f"http-{next(self._tap.numbers)}"
        body = await _body_of(self._client)
        if self._is_connected:
            self._server.read.clear()
        url = urlsplit(request.target.decode("ascii"))
        if not self._is_connected:  # who takes the tap for a proxy says where to (RFC 9112, 3.2.2)
            await self._reach(url.hostname or "", url.port or 80)
        target = url._replace(scheme="", netloc="").geturl()
        head = {
            "method": request.method.decode("ascii"),
            "target": target,
            "headers": _pairs(request),
        }
        self._note(SENT, channel, {"http": head}, body=body)
        await self._server.send(
            h11.Request(
                method=request.method,
                target=self._tap.to_server(target.encode()),
                headers=[
                    (name, self._tap.to_server(value))
                    for name, value in request.headers.raw_items()
                ],
            )
        )
        if body:
            await self._server.send(h11.Data(data=self._tap.to_server(body)))
        await self._server.send(h11.EndOfMessage())
        return await self._respond(channel)

    async def _respond(self, channel: str) -> bool:
        response = asyncio.ensure_future(self._pass_response(channel))
        leaving = asyncio.ensure_future(_wait_for_end(self._client))
        try:
            await asyncio.wait({response, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not response.done():
                self._note(SENT, channel, {"end": "closed"})
                return False
            if not response.result():
                await leaving
        finally:
            response.cancel()
            leaving.cancel()
            await asyncio.gather(response, leaving, return_exceptions=True)
        states = {self._client.state.our_state, self._server.state.our_state}
        states |= {self._client.state.their_state, self._server.state.their_state}
        return states == {h11.DONE}

    async def _pass_response(self, channel: str) -> bool:
        """Pass a response on, as it came; return whether another may follow it."""
        try:
            await self._pass_well_formed(channel)
        except _IllFormedError:
            raw = self._tap.to_client(bytes(self._server.read))
            self._note(RECEIVED, channel, {"raw": True, "end": "complete"}, body=raw)
            self._client.writer.write(raw)
            return False
        return True

    async def _pass_well_formed(self, channel: str) -> None:
        response = await self._from_server(channel)
        if not isinstance(response, h11.Response):
            self._note(RECEIVED, channel, {"end": "cut off"})
            raise _BrokenOffError
        if response.http_version != b"1.1":
            raise _IllFormedError
        response = h11.Response(
            status_code=response.status_code,
            reason=response.reason,
            headers=[
                (name, self._tap.to_client(value)) for name, value in response.headers.raw_items()
            ],
        )
        head = {
            "status": response.status_code,
            "reason": bytes(response.reason).decode("latin-1"),
            "headers": _pairs(response),
        }
        if _is_event_stream(response):
            self._note(RECEIVED, channel, {"http": head})
            await self._client.send(response)
            await self._pass_events(channel)
        else:
            received = bytearray()
            while isinstance(event := await self._from_server(channel), h11.Data):
                received += event.data
            if self._server.state.trailing_data[0]:
                raise _IllFormedError
            body = self._tap.to_client(bytes(received))
            self._note(RECEIVED, channel, {"http": head, "end": "complete"}, body=body)
            await self._client.send(response)
            await self._client.send(h11.Data(data=body))
        await self._client.send(h11.EndOfMessage())

    async def _pass_events(self, channel: str) -> None:
        buffer = bytearray()
        while isinstance(event := await self._from_server(channel, buffer), h11.Data):
            buffer += event.data
            for block in event_blocks(buffer):
                await self._pass_event(channel, block)
        if buffer:
            await self._pass_event(channel, bytes(buffer))
        self._note(RECEIVED, channel, {"end": "complete"})

    async def _from_server(
        self, channel: str, event: bytes | bytearray = b""
    ) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return what comes next; if nothing does, pass on first the part of an event that came."""
        try:
            return await self._server.next_event()
        except (h11.RemoteProtocolError, ConnectionError) as error:
            if self._server.read and not self._server.has_left:
                raise _IllFormedError from error
            if event:
                await self._pass_event(channel, bytes(event))
            self._note(RECEIVED, channel, {"end": "cut off"})
            raise _BrokenOffError from error

    async def _pass_event(self, channel: str, block: bytes) -> None:
        block = self._tap.to_client(block)
        self._tap.seen.append(Seen(RECEIVED, channel, event=block))
        await self._client.send(h11.Data(data=block))

    def _note(
        self, direction: str, channel: str, facts: dict[str, object], body: bytes = b""
    ) -> None:
        self._tap.seen.append(Seen(direction, channel, facts, body=body or None))


def _pairs(message: h11.Request | h11.Response) -> list[tuple[str, str]]:
    headers = message.headers.raw_items()
    return [(name.decode("ascii"), value.decode("latin-1")) for name, value in headers]


def _is_event_stream(response: h11.Response) -> bool:
    kinds = [value for name, value in response.headers if name == b"content-type"]
    return bool(kinds) and kinds[0].startswith(b"text/event-stream")


async def _body_of(peer: _Peer) -> bytes:
    body = bytearray()
    while isinstance(event := await peer.next_event(), h11.Data):
        body += event.data
    return bytes(body)


async def _wait_for_end(client: _Peer) -> None:
    """Wait until the client has gone."""
    while data := await client.reader.read(READ_SIZE):
        client.state.receive_data(data)
