"""The player's end of stdio: the pipes of a process that the client has started."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from mcpclient.net.local_http import send_at_once
from mcpclient.recording.transcript import Record, bytes_of_payload

from .idle_clock import uncounted
from .names import Names
from .player import Player

__all__ = ["StdioPeer", "can_open_pipes"]

_COPY = Path(__file__).with_name("copy_pipes.py")

# Writes its process id to one descriptor of the player, and waits for the end of another. Its
# standard streams become these meanwhile, so that the client's pipes have other descriptors, too.
# A shell starts in a thirtieth of the time that Python needs, and a replay starts hundreds.
_WAIT = 'exec 3<"/proc/$1/fd/$2" 4<&0 5>&1; echo $$ >"/proc/$1/fd/$3"; read end <&3; exit 0'

# Bytes that a line of the client's may have.
_LINE_LIMIT = 1 << 24


def can_open_pipes() -> bool:
    """Whether this system lets a process open the pipes of another."""
    return sys.platform == "linux" and os.path.exists("/proc/self/fd") and os.path.exists("/bin/sh")


class StdioPeer:
    """Gives the client a command to start, and plays on its standard streams."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._process: _Opened | _Copied = _Opened() if can_open_pipes() else _Copied()
        self._reading: asyncio.Task[None] | None = None
        self._output: asyncio.WriteTransport | None = None

    async def start(self) -> Any:
        """Return what to connect to."""
        command = await self._process.listen()
        self._reading = asyncio.get_running_loop().create_task(self._serve())
        return command

    async def left_as_told(self) -> None:
        """Return at once: a process says how it ends by ending."""

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


class _Opened:
    """The pipes of a process, opened by the player, who so writes to the very pipe that the client
    reads, in the pieces it wants. The process holds them, too, until it exits.
    """

    def __init__(self) -> None:
        self._started, self._starting = os.pipe()
        self._ending, self._end = os.pipe()
        self._input: asyncio.ReadTransport | None = None

    async def listen(self) -> list[str]:
        """Return the command of the process."""
        player, *ends = map(str, (os.getpid(), self._ending, self._starting))
        return ["/bin/sh", "-c", _WAIT, "sh", player, *ends]

    async def streams(self) -> tuple[asyncio.StreamReader, asyncio.WriteTransport]:
        """Return the client's output, and the stream to write to, once the process has started."""
        loop = asyncio.get_running_loop()
        with uncounted():
            await _readable(self._started)
        process = int(os.read(self._started, 64))
        source = os.open(f"/proc/{process}/fd/4", os.O_RDONLY | os.O_NONBLOCK)
        sink = os.open(f"/proc/{process}/fd/5", os.O_WRONLY | os.O_NONBLOCK)
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
        if self._end >= 0:
            os.close(self._end)
            self._end = -1

    async def close(self) -> None:
        """Close everything but the output."""
        if self._input is not None:
            self._input.close()
        for descriptor in (self._started, self._starting, self._ending):
            os.close(descriptor)


class _Copied:
    """A connection to the process, which copies between it and its pipes."""

    def __init__(self) -> None:
        self._server: asyncio.AbstractServer | None = None
        self._streams: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = (
            asyncio.get_running_loop().create_future()
        )

    async def listen(self) -> list[str]:
        """Return the command of the process."""
        self._server = await asyncio.start_server(
            self._connected, "127.0.0.1", 0, limit=_LINE_LIMIT
        )
        port = self._server.sockets[0].getsockname()[1]
        return [sys.executable, "-I", "-S", str(_COPY), str(port)]

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        send_at_once(writer)
        self._streams.set_result((reader, writer))

    async def streams(self) -> tuple[asyncio.StreamReader, asyncio.WriteTransport]:
        """Return the client's output, and the stream to write to, once the process has started."""
        with uncounted():
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


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, _resolve, ready)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
