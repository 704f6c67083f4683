"""The player's end of stdio: the pipes of a process that the client has started."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcpclient.net.local_http import send_at_once
from mcpclient.recording.transcript import Record, bytes_of_payload

from .names import Names
from .player import Player

__all__ = ["StdioPeer", "can_hand_over"]

_PROGRAM = Path(__file__).with_name("hand_over.py")

# Bytes that a line of the client's may have.
_LINE_LIMIT = 1 << 24


def can_hand_over() -> bool:
    """Whether this system lets one process hand its pipes to another."""
    return hasattr(socket, "send_fds") and hasattr(socket, "AF_UNIX")


class StdioPeer:
    """Gives the client a command to start, and plays on its standard streams."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._process: _HandedOver | _Copied = _HandedOver() if can_hand_over() else _Copied()
        self._reading: asyncio.Task[None] | None = None
        self._output: asyncio.WriteTransport | None = None

    async def start(self) -> Any:
        """Return what to connect to."""
        where = await self._process.listen()
        self._reading = asyncio.get_running_loop().create_task(self._serve())
        return [sys.executable, "-I", "-S", str(_PROGRAM), where]

    async def until_left(self) -> None:
        """Wait until the client has closed its end."""
        if self._reading is not None:
            await asyncio.wait({self._reading})

    async def close(self) -> None:
        """Close everything, which also lets the process exit."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        self._leave()
        await self._process.close()

    def _leave(self) -> None:
        if self._output is not None:
            self._output.close()
            self._output = None
        self._process.let_exit()

    async def _serve(self) -> None:
        reader, self._output = await self._process.streams()
        self._player.open("stdio", self)
        while line := await reader.readline():
            self._take(line)
        if self._output is not None:  # otherwise it was the server that ended it
            self._player.took({"direction": "sent", "channel": "stdio", "end": "closed"})
        self._leave()

    def _take(self, line: bytes) -> None:
        record: Record = {"direction": "sent", "channel": "stdio"}
        try:
            record["message"] = json.loads(line)
        except ValueError:
            record["text"] = line.decode("utf-8", "replace")
        self._player.check(line.endswith(b"\n"), "a line of the client's has no end")
        self._player.took(record)

    # player.Channel

    def encode(self, record: Record, names: Names) -> bytes:
        """Return one line."""
        if not record.keys() & {"message", "text", "base64"}:
            return b""
        line_end = str(record.get("line_end", "\n"))
        return names.played_bytes(record, bytes_of_payload) + line_end.encode()

    def write(self, data: bytes) -> None:
        """Write to the client's pipe."""
        if self._output is not None:
            self._output.write(data)

    def finish(self, record: Record) -> None:
        """Exit, where the server did."""
        if "end" in record:
            self._leave()


class _HandedOver:
    """The pipes of the process, which has handed them over."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._process: socket.socket | None = None
        self._input: asyncio.ReadTransport | None = None

    async def listen(self) -> str:
        """Return where the process finds the player."""
        path = os.path.join(self._folder.name, "s")
        self._socket.bind(path)
        self._socket.listen(1)
        self._socket.setblocking(False)
        return path

    async def streams(self) -> tuple[asyncio.StreamReader, asyncio.WriteTransport]:
        """Return the client's output, and the stream to write to, once the process has started."""
        loop = asyncio.get_running_loop()
        self._process, _ = await loop.sock_accept(self._socket)
        await _readable(self._process)
        _, (source, sink), _, _ = socket.recv_fds(self._process, 1, 2)
        output, _ = await loop.connect_write_pipe(
            asyncio.BaseProtocol, os.fdopen(sink, "wb", buffering=0)
        )
        reader = asyncio.StreamReader(limit=_LINE_LIMIT)
        self._input, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb", buffering=0)
        )
        return reader, output

    def let_exit(self) -> None:
        """Let the process exit."""
        if self._process is not None:
            self._process.close()
            self._process = None

    async def close(self) -> None:
        """Close everything but the output."""
        if self._input is not None:
            self._input.close()
        self._socket.close()
        self._folder.cleanup()


class _Copied:
    """A connection to the process, which copies between it and its pipes."""

    def __init__(self) -> None:
        self._server: asyncio.AbstractServer | None = None
        self._streams: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = (
            asyncio.get_running_loop().create_future()
        )

    async def listen(self) -> str:
        """Return where the process finds the player."""
        self._server = await asyncio.start_server(
            self._connected, "127.0.0.1", 0, limit=_LINE_LIMIT
        )
        return str(self._server.sockets[0].getsockname()[1])

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        send_at_once(writer)
        self._streams.set_result((reader, writer))

    async def streams(self) -> tuple[asyncio.StreamReader, asyncio.WriteTransport]:
        """Return the client's output, and the stream to write to, once the process has started."""
        reader, writer = await self._streams
        return reader, writer.transport

    def let_exit(self) -> None:
        """Do nothing: the process exits when the output is closed."""

    async def close(self) -> None:
        """Close everything but the output."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(connection, _resolve, ready)
    try:
        await ready
    finally:
        loop.remove_reader(connection)
