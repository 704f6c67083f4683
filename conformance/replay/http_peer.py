"""The player's end of HTTP: servers on the loopback interface that answer as was recorded.

Requests are read here, and by nothing of the library: a judge does not borrow the eyes of the
accused.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from mcpclient.net.local_http import send_at_once
from mcpclient.recording.transcript import Record, bytes_of_event, bytes_of_payload

from .comparing import header
from .idle_clock import is_unhurried
from .names import Names
from .player import Player

__all__ = ["HttpPeer", "RequestReader"]

_CHUNKED, _FRAMED = "chunked", "transfer-encoding"
_EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
_HEAD_LIMIT = 1 << 20

# Seconds in which a client that has nothing else to do closes a connection.
_CLOSES_WITHIN = 0.5

# Seconds after which a client knows that a response has ended, and that its connection is free.
_FREE_AFTER = 0.05


class HttpPeer:
    """Listens once for every server that was recorded, and hands out the URL of the first."""

    def __init__(self, player: Player, url: str) -> None:
        self._player = player
        self._url = urlsplit(url)
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._leaving: dict[asyncio.Task[None], str] = {}
        self._free: dict[RequestReader, float] = {}  # from when on, by the clock of the loop
        self._answered = 0

    async def start(self) -> str:
        """Return the URL to connect to."""
        player = self._player
        for port in sorted({self._url.port or 0, *_ports_in(player)}):
            server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=_HEAD_LIMIT)
            self._servers.append(server)
            player.names.ports[port] = server.sockets[0].getsockname()[1]
        return player.names.played(self._url.geturl())

    async def left_as_told(self) -> None:
        """Wait until the client has closed the connections that it cannot use again."""
        if self._leaving:
            await asyncio.wait(self._leaving, timeout=_CLOSES_WITHIN)
        for channel in self._leaving.values():
            self._player.found(f"the connection of {channel} was to close, and is still there")

    async def until_left(self) -> None:
        """Wait until the client has closed all its connections."""
        while self._connections:
            await asyncio.wait(self._connections)

    async def close(self) -> None:
        """Close all servers and connections."""
        for server in self._servers:
            server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        requests = RequestReader(reader)
        send_at_once(writer)
        try:
            await self.serve(requests, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client has gone, or it is over
        except ValueError as error:
            self._player.found(f"a request of the client is not HTTP: {error}")
        finally:
            requests.close()
            self._free.pop(requests, None)
            writer.transport.abort()
            with suppress(ConnectionError):  # taken here, or the loop logs it
                await writer.wait_closed()
            self._connections.discard(task)

    async def serve(self, reader: RequestReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, one after the other."""
        clock, is_new = asyncio.get_running_loop().time, True
        while True:
            request = await reader.next_request()
            self._free.pop(reader, None)
            # A login has connections of its own.
            is_ours = urlsplit(request["http"]["target"]).path == self._url.path
            if is_new and is_ours and any(clock() > free for free in self._free.values()):
                self._player.found("a connection was opened while another was free")
            is_new = False
            line = self._player.took(request)
            if line is None:
                self._refuse(request, writer)
                continue
            channel = line.record["channel"]
            exchange = Exchange(writer, self._player.received_on(channel), self._answered)
            self._answered += 1
            self._player.open(channel, exchange)
            either: set[asyncio.Future[Any]] = {reader.more(), exchange.ended}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not exchange.ended.done():
                await self._left(channel, reader)
            if exchange.is_last:
                await self._must_be_left(channel, reader)
                return
            if is_ours and is_unhurried():
                self._free[reader] = clock() + _FREE_AFTER

    async def _left(self, channel: str, reader: RequestReader) -> None:
        if await reader.more():
            self._player.found(f"more was sent on {channel} before the response had ended")
        elif not self._player.is_over(channel):
            self._player.took({"direction": "sent", "channel": channel, "end": "closed"})
        raise ConnectionError("the client has closed the connection")

    async def _must_be_left(self, channel: str, reader: RequestReader) -> None:
        """Wait until the client has closed a connection that is said to close after a response."""
        task = asyncio.current_task()
        assert task is not None
        self._leaving[task] = channel
        try:
            if await reader.more():
                self._player.found(f"the connection of {channel} was to close, and was used again")
        finally:
            del self._leaving[task]

    def _refuse(self, request: Record, writer: asyncio.StreamWriter) -> None:
        status = self._player.status_for_extra(request)
        writer.write(b"HTTP/1.1 %d Never recorded\r\nContent-Length: 0\r\n\r\n" % status)


class Exchange:
    """The response to one request, of these records: a channel of the player.

    What proxies change on the way, its ``number`` decides: every third response has hints before
    it, and the next a body in chunks, with a trailer, where its length was given.
    """

    def __init__(
        self, writer: asyncio.StreamWriter, records: Sequence[Record], number: int
    ) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_last = False
        self._writer = writer
        self._records = records
        self._has_hints = number % 3 == 1
        self._is_cut = number % 3 == 2
        self._chunked = False
        self._ends_by_closing = False

    def encode(self, record: Record, names: Names) -> bytes:
        """Return a head, a body or an event, and the end where that has bytes."""
        body = _body(record, names)
        if "raw" in record:  # no answer of HTTP, after which no other can be understood
            self.is_last = True
            return body
        head = self._head(record["http"], names) if "http" in record else b""
        if self._chunked:
            body = b"%x;n=1\r\n%s\r\n" % (len(body), body) if body else b""
            if record.get("end") == "complete":
                body += b"0\r\nX-Checksum: 1\r\n\r\n" if self._is_cut else b"0\r\n\r\n"
        return head + body

    def _head(self, http: Mapping[str, Any], names: Names) -> bytes:
        headers = [(name, names.played(value)) for name, value in http["headers"]]
        length = sum(len(_body(record, names)) for record in self._records)
        if self._is_cut and length and http["status"] == 200 and not header(headers, _FRAMED):
            kept = [each for each in headers if each[0].lower() != "content-length"]
            headers = [*kept, ("Transfer-Encoding", _CHUNKED)] if kept != headers else headers
        self._chunked = _CHUNKED in header(headers, _FRAMED)
        lines = [
            f"{name}: {length if name.lower() == 'content-length' else value}"
            for name, value in headers
        ]
        length_given = header(headers, "content-length")
        has_end = self._chunked or length_given or http["status"] in (204, 304)
        self._ends_by_closing = not has_end
        options = header(headers, "connection").lower().replace(" ", "").split(",")
        # RFC 9112, 6.1: with both lengths, another hop may have seen another end; 204 has none.
        is_odd = bool(length_given) and (self._chunked or http["status"] == 204)
        self.is_last = not has_end or "close" in options or is_odd
        status = f"HTTP/1.1 {http['status']} {http['reason']}"
        hints = _EARLY if self._has_hints else b""
        return hints + "\r\n".join([status, *lines, "", ""]).encode("latin-1")

    def write(self, data: bytes) -> None:
        """Write to the client, unless it has gone."""
        if data and not self._writer.transport.is_closing():
            self._writer.write(data)

    def finish(self, record: Record) -> None:
        """End the response, in good order or not."""
        if "end" not in record:
            return
        if record["end"] != "complete":
            self.is_last = True
            self._writer.transport.abort()
        elif self._ends_by_closing:
            self._writer.close()
        if not self.ended.done():
            self.ended.set_result(None)


class RequestReader:
    """Reads requests of HTTP/1.1 as records of a transcript."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.reader = reader
        self._more: asyncio.Task[bytes] | None = None

    def more(self) -> asyncio.Task[bytes]:
        """Return the wait for the next byte; there is none when the client has gone instead."""
        if self._more is None:
            self._more = asyncio.get_running_loop().create_task(self._next_byte())
        return self._more

    async def _next_byte(self) -> bytes:
        try:
            return await self.reader.read(1)
        except ConnectionError:  # so it looks when the client goes while it is written to
            return b""

    def close(self) -> None:
        """Wait no longer."""
        if self._more is not None:
            self._more.cancel()

    async def next_head(self) -> dict[str, Any]:
        """Return the head of a request. Raises `IncompleteReadError` at the end."""
        first_byte = await self.more()
        self._more = None
        if not first_byte:
            raise asyncio.IncompleteReadError(b"", None)
        data = first_byte + await self.reader.readuntil(b"\r\n\r\n")
        first, *lines = data[:-4].decode("latin-1").split("\r\n")
        method, target, version = first.split(" ")
        if version != "HTTP/1.1":
            raise ValueError(f"the version is {version}")
        headers = []
        for line in lines:
            match = re.fullmatch(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*", line)
            if match is None:
                raise ValueError(f"not a header: {line!r}")
            headers.append([match[1], match[2]])
        return {"method": method, "target": target, "headers": headers}

    async def next_request(self) -> Record:
        """Return a request with its body."""
        head = await self.next_head()
        record: Record = {"direction": "sent", "channel": "http", "http": head}
        body = await self._body(head["headers"])
        if body:
            try:
                record["message"] = json.loads(body)
            except ValueError:
                record["text"] = body.decode("utf-8", "replace")
        return record

    async def _body(self, headers: list[list[str]]) -> bytes:
        if _CHUNKED not in header(headers, _FRAMED):
            return await self.reader.readexactly(int(header(headers, "content-length") or 0))
        body = b""
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            body += await self.reader.readexactly(size)
            await self.reader.readexactly(2)
        await self.reader.readuntil(b"\r\n")
        return body


def _body(record: Record, names: Names) -> bytes:
    return names.played_bytes(record, bytes_of_event if "event" in record else bytes_of_payload)


def _ports_in(player: Player) -> Iterable[int]:
    """Return the ports of all servers that the recorded client asked."""
    for line in player.lines:
        if line.record["direction"] == "sent" and "http" in line.record:
            host = header(line.record["http"]["headers"], "host")
            port = host.rpartition(":")[2]
            if port.isdigit():
                yield int(port)
