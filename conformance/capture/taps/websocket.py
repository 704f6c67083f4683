"""The tap of WebSocket: passes the bytes on as they are, and parses a copy of them.

It reads with the parsers of the ``websockets`` library, which share nothing with the framing of
this library. A message in several frames is written down when it is complete.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Generator
from typing import Any

from websockets.datastructures import Headers
from websockets.extensions.base import Extension
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory
from websockets.frames import Close, Frame, Opcode
from websockets.headers import parse_extension
from websockets.http11 import Request, Response
from websockets.streams import StreamReader

from conformance.capture.taps import RECEIVED, SENT, Seen

CHANNEL = "websocket"
READ_SIZE = 65536
CONTROL_FRAMES = {Opcode.PING: "ping", Opcode.PONG: "pong"}

Parsing = Generator[None, None, None]


class WebSocketTap:
    """A relay for the connections of one client."""

    def __init__(self, port: int, server_port: int) -> None:
        self.seen: list[Seen] = []
        self._port = port
        self._server_port = server_port

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Listen on the port of the tap."""
        server = await asyncio.start_server(self._relay, "127.0.0.1", self._port)
        try:
            yield
        finally:
            server.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
        reading = _Reading(self.seen)
        try:
            await asyncio.gather(
                self._pump(reader, server_writer, reading.sent()),
                self._pump(server_reader, writer, reading.received()),
            )
        finally:
            writer.close()
            server_writer.close()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, meaning: _Feed
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(READ_SIZE):
                meaning.feed(data)
                writer.write(data)
        meaning.end()
        with contextlib.suppress(OSError):
            writer.write_eof()


class _Feed:
    """One direction: bytes go in, and the parser goes on for as long as they last."""

    def __init__(self, direction: str, seen: list[Seen]) -> None:
        self.reader = StreamReader()
        self.parsing: Parsing
        self._direction = direction
        self._seen = seen

    def feed(self, data: bytes) -> None:
        self.reader.feed_data(data)
        next(self.parsing)

    def end(self) -> None:
        """Note the end, for the side that comes to it first."""
        if not any("end" in seen.facts for seen in self._seen):
            was_closed = any(seen.facts.get("frame") == "close" for seen in self._seen)
            self.note({"end": "complete" if was_closed else "cut off"})

    def note(self, facts: dict[str, Any], body: bytes = b"") -> None:
        self._seen.append(Seen(self._direction, CHANNEL, facts, body=body or None))

    def frames(self, mask: bool, extensions: list[Extension]) -> Parsing:
        parts: list[Frame] = []
        while True:
            read = self.reader.read_exact
            frame = yield from Frame.parse(read, mask=mask, extensions=extensions)
            data = bytes(frame.data)
            if frame.opcode in CONTROL_FRAMES:
                self.note({"frame": CONTROL_FRAMES[frame.opcode]}, data)
            elif frame.opcode is Opcode.CLOSE:
                close = Close.parse(data)
                self.note({"frame": "close", "code": close.code, "reason": close.reason})
            else:
                parts.append(frame)
                if frame.fin:
                    kind = {"frame": "binary"} if parts[0].opcode is Opcode.BINARY else {}
                    self.note(kind, b"".join(bytes(part.data) for part in parts))
                    parts = []


class _Reading:
    """Both directions of one connection, which share the negotiated extensions."""

    def __init__(self, seen: list[Seen]) -> None:
        self._seen = seen
        self._client_extensions: list[Extension] = []
        self._server_extensions: list[Extension] = []

    def sent(self) -> _Feed:
        feed = _Feed(SENT, self._seen)
        feed.parsing = self._read_sent(feed)
        return feed

    def received(self) -> _Feed:
        feed = _Feed(RECEIVED, self._seen)
        feed.parsing = self._read_received(feed)
        return feed

    def _read_sent(self, feed: _Feed) -> Parsing:
        request = yield from Request.parse(feed.reader.read_line)
        head = {"method": "GET", "target": request.path, "headers": _pairs(request.headers)}
        feed.note({"http": head})
        yield from feed.frames(mask=True, extensions=self._client_extensions)

    def _read_received(self, feed: _Feed) -> Parsing:
        reader = feed.reader
        response = yield from Response.parse(
            reader.read_line, reader.read_exact, reader.read_to_eof, include_body=False
        )
        head = {
            "status": response.status_code,
            "reason": response.reason_phrase,
            "headers": _pairs(response.headers),
        }
        feed.note({"http": head})
        for value in response.headers.get_all("Sec-WebSocket-Extensions"):
            self._agree(value)
        yield from feed.frames(mask=False, extensions=self._server_extensions)

    def _agree(self, value: str) -> None:
        """Follow the compression that both agreed on; each direction has a state of its own."""
        factory = ClientPerMessageDeflateFactory(client_max_window_bits=True)
        for _, parameters in parse_extension(value):
            found = factory.process_response_params(parameters, [])
            self._server_extensions.append(found)
            mirrored = type(found)(
                remote_no_context_takeover=found.local_no_context_takeover,
                local_no_context_takeover=found.remote_no_context_takeover,
                remote_max_window_bits=found.local_max_window_bits,
                local_max_window_bits=found.remote_max_window_bits,
            )
            self._client_extensions.append(mirrored)


def _pairs(headers: Headers) -> list[tuple[str, str]]:
    return list(headers.raw_items())
