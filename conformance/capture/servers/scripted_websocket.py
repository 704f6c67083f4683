"""The scripted server over WebSocket: it writes messages as frames, and bytes as they are.

It reads and writes frames with the ``websockets`` library, which shares nothing with the framing of
this library.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
from collections.abc import Generator, Mapping
from typing import Any, Protocol

from websockets.extensions.base import Extension
from websockets.frames import Close, Frame, Opcode
from websockets.streams import StreamReader

from conformance.capture.collection.reactions.parts import ANSWER, USUAL, Await, Reply
from conformance.capture.taps.websocket import agreed_extensions

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_READ_SIZE = 65536


class Talk(Protocol):
    """The part of `scripted.Conversation` that is needed here."""

    def reply(self, key: str) -> Reply:
        """Count a message, and return the reply to it."""

    async def until(self, awaited: Await) -> None:
        """Wait until something has come as often."""

    def said(self, part: Any, message: Mapping[str, Any], reply: Reply) -> Any:
        """Return one part of a reply with the names of the request in it."""


class WebSocketServer:
    """Answers the opening request, and then each message, as the plan says."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._extensions: list[Extension] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            pairs = (line.partition(":") for line in head.split("\r\n")[1:])
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            reply = self._talk.reply("GET")
            if self._open(writer, headers["sec-websocket-key"], reply):
                await self._converse(reader, writer, reply)
            else:
                await reader.read()  # it is the client's to end
        writer.close()

    def _open(self, writer: asyncio.StreamWriter, key: str, reply: Reply) -> bool:
        """Answer the opening request; return whether that is a yes."""
        digest = hashlib.sha1((key + _GUID).encode(), usedforsecurity=False).digest()
        usual = {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Accept": base64.b64encode(digest).decode(),
            "Sec-WebSocket-Protocol": "mcp",
        }
        is_yes = reply.status == USUAL.status
        given = {**(usual if is_yes else {}), **reply.headers}
        body = reply.body or b""
        if not is_yes:
            given["Content-Length"] = str(len(body))
        lines = [f"{name}: {value}" for name, value in given.items() if value]
        status = 101 if is_yes else reply.status
        writer.write("\r\n".join([f"HTTP/1.1 {status} Scripted", *lines, "", ""]).encode() + body)
        return is_yes

    async def _converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, opening: Reply
    ) -> None:
        compressed = opening.headers.get("Sec-WebSocket-Extensions", "")
        self._extensions, _ = agreed_extensions(compressed) if compressed else ([], [])
        frames = _ReadFrames(self._extensions)
        saying = [asyncio.ensure_future(self._say(writer, opening, opening.events or (), {}))]
        while data := await reader.read(_READ_SIZE):
            for frame in frames.feed(data):
                if frame.opcode is Opcode.TEXT:
                    message = json.loads(bytes(frame.data))
                    reply = self._talk.reply(str(message.get("method", "answer")))
                    is_request = "id" in message and "method" in message
                    usual = (ANSWER,) if is_request else ()
                    parts = usual if reply.events is None else reply.events
                    saying.append(asyncio.ensure_future(self._say(writer, reply, parts, message)))
                    continue
                kind = frame.opcode.name.lower()
                reply = self._talk.reply(kind)
                await self._say(writer, reply, reply.events or (), {})
                if reply == USUAL:
                    _answer_control(writer, frame)
                    if frame.opcode is Opcode.CLOSE:
                        return

    async def _say(
        self,
        writer: asyncio.StreamWriter,
        reply: Reply,
        parts: tuple[Any, ...],
        message: Mapping[str, Any],
    ) -> None:
        for part in parts:
            if isinstance(part, Await):
                await self._talk.until(part)
            elif isinstance(part, bytes):
                writer.write(part)
            else:
                said = self._talk.said(part, message, reply)
                text = said if isinstance(said, str) else json.dumps(said, separators=(",", ":"))
                writer.write(
                    Frame(Opcode.TEXT, text.encode()).serialize(
                        mask=False, extensions=self._extensions
                    )
                )
        if reply.cut:
            writer.close()


def _answer_control(writer: asyncio.StreamWriter, frame: Frame) -> None:
    """Answer a ping, and the end, as any server does."""
    if frame.opcode is Opcode.PING:
        writer.write(Frame(Opcode.PONG, frame.data).serialize(mask=False))
    elif frame.opcode is Opcode.CLOSE:
        code = Close.parse(bytes(frame.data)).code
        payload = b"" if code == 1005 else Close(code, "").serialize()
        writer.write(Frame(Opcode.CLOSE, payload).serialize(mask=False))


class _ReadFrames:
    """Turns the client's bytes into frames."""

    def __init__(self, extensions: list[Extension]) -> None:
        self._extensions = extensions
        self._reader = StreamReader()
        self._read: list[Frame] = []
        self._parsing = self._parse()

    def feed(self, data: bytes) -> list[Frame]:
        self._reader.feed_data(data)
        next(self._parsing)
        frames, self._read = self._read, []
        return frames

    def _parse(self) -> Generator[None, None, None]:
        while True:
            frame = yield from Frame.parse(
                self._reader.read_exact, mask=True, extensions=self._extensions
            )
            self._read.append(frame)
