"""The tap of WebSocket: passes the bytes on as they are, and parses a copy of them.

It reads with the parsers of the ``websockets`` library, which share nothing with the framing of
this library. A message in several frames is written down when it is complete; bytes
that are not a frame, or a frame that may not be there, are written down as they are.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Generator
from typing import Any

from websockets.datastructures import Headers
from websockets.exceptions import NegotiationError, ProtocolError
from websockets.extensions.base import Extension
from websockets.extensions.permessage_deflate import (
    ClientPerMessageDeflateFactory,
    PerMessageDeflate,
)
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
        self._unread = b""
        self._is_broken = False

    def feed(self, data: bytes) -> None:
        self.reader.feed_data(data)
        self._unread += data
        if not self._is_broken:
            try:
                next(self.parsing)
            except (ProtocolError, UnicodeDecodeError):
                self._is_broken = True
        if self._is_broken:
            self.note({"raw": True}, self._unread)
            self._unread = b""

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
            if not parts:
                # The bytes from here on are kept as they are, should there be no sense in them.
                yield from _checked_length(self.reader)
                self._unread = bytes(self.reader.buffer)
            read = self.reader.read_exact
            frame = yield from Frame.parse(read, mask=mask, extensions=extensions)
            data = bytes(frame.data)
            is_control = frame.opcode in CONTROL_FRAMES or frame.opcode is Opcode.CLOSE
            if not is_control and (frame.opcode is Opcode.CONT) != bool(parts):
                raise ProtocolError("a frame of no message, or of another one")
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


def _checked_length(reader: StreamReader) -> Parsing:
    """Wait for the head of a frame; raise where its length is not the shortest one."""
    buffer = reader.buffer
    while len(buffer) < 2:
        yield
    needed = {126: 4, 127: 10}.get(buffer[1] & 0x7F, 2)
    while len(buffer) < needed:
        yield
    length = int.from_bytes(buffer[2:needed], "big")
    least = {4: 126, 10: 1 << 16}.get(needed, 0)
    if not least <= length < 1 << 63:
        raise ProtocolError("a length that is longer than needed")


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
            reader.read_line, reader.read_exact, reader.read_to_eof
        )
        head = {
            "status": response.status_code,
            "reason": response.reason_phrase,
            "headers": _pairs(response.headers),
        }
        feed.note({"http": head}, response.body or b"")
        for value in response.headers.get_all("Sec-WebSocket-Extensions"):
            of_server, of_client = agreed_extensions(value)
            self._client_extensions += of_server  # a server reads what its client sends
            self._server_extensions += of_client
        yield from feed.frames(mask=False, extensions=self._server_extensions)


def agreed_extensions(value: str) -> tuple[list[Extension], list[Extension]]:
    """Return the compression as the server has it, and as the client has it.

    ``value``: of the header of the server's answer.
    """
    factory = ClientPerMessageDeflateFactory(client_max_window_bits=True)
    for name, parameters in parse_extension(value):
        if name != PerMessageDeflate.name:
            continue
        try:
            found = factory.process_response_params(parameters, [])
        except NegotiationError:
            break  # the client is to find that out
        mirrored = type(found)(
            remote_no_context_takeover=found.local_no_context_takeover,
            local_no_context_takeover=found.remote_no_context_takeover,
            remote_max_window_bits=found.local_max_window_bits,
            local_max_window_bits=found.remote_max_window_bits,
        )
        return [mirrored], [found]
    return [], []


def _pairs(headers: Headers) -> list[tuple[str, str]]:
    return list(headers.raw_items())
