"""The player's end of WebSocket: it opens as was recorded, and reads and writes frames itself."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import struct
import zlib
from collections.abc import Mapping
from typing import Any

from mcpclient.recording.transcript import Record, bytes_of_payload

from .comparing import header
from .http_peer import HttpPeer, RequestReader
from .names import Names

__all__ = ["WebSocketPeer"]

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_MORE, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_OPCODES = {"binary": _BINARY, "close": _CLOSE, "ping": _PING, "pong": _PONG}
_KINDS = {opcode: kind for kind, opcode in _OPCODES.items()}

# What a ping between the frames of a message holds.
_BETWEEN = b"between frames"

# The first frame of a compressed message has this bit; what ends its payload is left out.
_COMPRESSED, _TAIL = 0x40, b"\0\0\xff\xff"

# The answer to the client's key is made anew.
_ACCEPT, _EXTENSIONS = "sec-websocket-accept", "sec-websocket-extensions"
_DIGEST = re.compile(r"[\w+/]{27}=")


class WebSocketPeer(HttpPeer):
    """Answers the opening request, and is the only channel from then on."""

    async def serve(self, reader: RequestReader, writer: asyncio.StreamWriter) -> None:
        """Answer the opening request and read frames."""
        head = await reader.next_head()
        line = self._player.took({"direction": "sent", "channel": "websocket", "http": head})
        if line is None:
            return
        frames = _Frames(reader.reader, writer, header(head["headers"], "sec-websocket-key"))
        self._player.open("websocket", frames)
        try:
            while True:
                await self._take(frames)
        except (asyncio.IncompleteReadError, ConnectionError):
            if not self._player.is_over("websocket"):
                self._player.took({"direction": "sent", "channel": "websocket", "end": "closed"})

    async def _take(self, frames: _Frames) -> None:
        opcode, payload, problems = await frames.next_message()
        self._player.check(not problems, f"a frame of the client's {' and '.join(problems)}")
        if (opcode, payload) == (_PONG, _BETWEEN):
            return
        record: Record = {"direction": "sent", "channel": "websocket"}
        if opcode == _CLOSE:
            record.update(frame="close", code=1005, reason="")
            if payload:
                record["code"] = struct.unpack("!H", payload[:2])[0]
                record["reason"] = payload[2:].decode("utf-8", "replace")
        elif opcode == _TEXT:
            try:
                record["message"] = json.loads(payload)
            except ValueError:
                record["text"] = payload.decode("utf-8", "replace")
        else:
            record["frame"] = _KINDS.get(opcode, f"opcode {opcode}")
            record["base64"] = base64.b64encode(payload).decode("ascii")
        self._player.took(record)


class _Frames:
    """One connection: a channel of the player."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._key = key.encode("ascii")
        self._messages = 0
        self._deflate: _Deflate | None = None

    # What the client says

    async def next_message(self) -> tuple[int, bytes, list[str]]:
        """Return the opcode and the payload of a message, and the fault of its frames."""
        problems: list[str] = []
        opcode, payload, inflates = 0, b"", False
        while True:
            first, second = await self._reader.readexactly(2)
            data = await self._payload(second)
            if not second & 0x80:
                problems.append("is not masked")
            if first & _COMPRESSED and self._deflate is not None and not opcode:
                inflates = True
            elif first & 0x70:
                problems.append("has reserved bits set")
            if first & 0x0F >= _CLOSE:
                return first & 0x0F, data, problems
            opcode = opcode or first & 0x0F
            payload += data
            if first & 0x80:
                if inflates and self._deflate is not None:
                    try:
                        payload = self._deflate.inflated(payload)
                    except zlib.error:
                        problems.append("is not compressed as agreed")
                return opcode, payload, problems

    async def _payload(self, second: int) -> bytes:
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", await self._reader.readexactly(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", await self._reader.readexactly(8))
        mask = await self._reader.readexactly(4) if second & 0x80 else bytes(4)
        data = await self._reader.readexactly(size)
        return bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))

    # player.Channel

    def encode(self, record: Record, names: Names) -> bytes:
        """Return the answer to the opening request, or one frame."""
        if "raw" in record:  # no frame, or one that no server may send
            return bytes_of_payload(record)
        if "http" in record:
            body = bytes_of_payload(record)
            return self._opening(record["http"], names) + body
        if record.get("frame") == "close":
            return _frame(_CLOSE, _close_payload(record))
        if not record.keys() & {"message", "text", "base64", "frame"}:
            return b""
        payload = names.played_bytes(record, bytes_of_payload)
        opcode = _OPCODES.get(record.get("frame", ""), _TEXT)
        if opcode != _TEXT:
            return _frame(opcode, payload)
        self._messages += 1
        if self._deflate is not None:
            payload, opcode = self._deflate.deflated(payload), _COMPRESSED | opcode
        return _in_frames(opcode, payload, 1 + self._messages % 3)

    def _opening(self, http: Mapping[str, Any], names: Names) -> bytes:
        headers = [
            f"{name}: {names.played(value)}"
            for name, value in http["headers"]
            if name.lower() != _ACCEPT or not _DIGEST.fullmatch(value)
        ]
        extension = header(http["headers"], _EXTENSIONS)
        if extension.startswith("permessage-deflate"):
            self._deflate = _Deflate(extension)
        if http["status"] == 101 and _has_digest(http["headers"]):
            digest = hashlib.sha1(self._key + _GUID, usedforsecurity=False).digest()
            headers.append(f"Sec-WebSocket-Accept: {base64.b64encode(digest).decode('ascii')}")
        status = f"HTTP/1.1 {http['status']} {http['reason']}"
        return "\r\n".join([status, *headers, "", ""]).encode("latin-1")

    def write(self, data: bytes) -> None:
        """Write to the client, unless it has gone."""
        if data and not self._writer.transport.is_closing():
            self._writer.write(data)

    def finish(self, record: Record) -> None:
        """Close the connection, where the server did."""
        if "end" in record:
            self._writer.close()


class _Deflate:
    """The player's compression of messages (RFC 7692), as the answer to the client has it."""

    def __init__(self, extension: str) -> None:
        self._extension = extension
        self._compress, self._decompress = self._new_compress(), self._new_decompress()

    def _bits(self, side: str) -> int:
        found = re.search(rf"{side}_max_window_bits=\D?(\d+)", self._extension)
        return min(int(found[1]), 15) if found else 15

    def _new_compress(self) -> zlib._Compress:
        return zlib.compressobj(wbits=-max(self._bits("server"), 9))

    def _new_decompress(self) -> zlib._Decompress:
        return zlib.decompressobj(wbits=-max(self._bits("client"), 8))

    def deflated(self, message: bytes) -> bytes:
        if "server_no_context_takeover" in self._extension:
            self._compress = self._new_compress()
        data = self._compress.compress(message) + self._compress.flush(zlib.Z_SYNC_FLUSH)
        return data[: -len(_TAIL)]

    def inflated(self, payload: bytes) -> bytes:
        if "client_no_context_takeover" in self._extension:
            self._decompress = self._new_decompress()
        return self._decompress.decompress(payload + _TAIL)


def _has_digest(headers: list[list[str]]) -> bool:
    return _DIGEST.fullmatch(header(headers, _ACCEPT)) is not None


def _close_payload(record: Record) -> bytes:
    if record.get("code") in (None, 1005):
        return b""
    return struct.pack("!H", record["code"]) + str(record.get("reason", "")).encode()


def _in_frames(opcode: int, text: bytes, count: int) -> bytes:
    """Return a message in so many frames, as a server likes, and a ping after the first."""
    size = -(-len(text) // count) or 1
    pieces = [text[begin : begin + size] for begin in range(0, len(text), size)] or [b""]
    frames = [
        _frame(_MORE if number else opcode, piece, is_last=number == len(pieces) - 1)
        for number, piece in enumerate(pieces)
    ]
    if len(frames) > 1:
        frames.insert(1, _frame(_PING, _BETWEEN))
    return b"".join(frames)


def _frame(opcode: int, payload: bytes, *, is_last: bool = True) -> bytes:
    first, size = 0x80 * is_last | opcode, len(payload)
    if size < 126:
        head = bytes([first, size])
    elif size < 1 << 16:
        head = struct.pack("!BBH", first, 126, size)
    else:
        head = struct.pack("!BBQ", first, 127, size)
    return head + payload
