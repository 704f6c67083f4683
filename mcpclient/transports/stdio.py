"""stdio: a server process of our own, one JSON message per line.

Source: the stdio pages of all revisions. `net.process` starts and stops the process; here its
output becomes messages.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

from ..errors import ConnectionLost, McpError, ProcessExited
from ..framing.ndjson import DEFAULT_LINE_LIMIT
from ..net.process.server_process import (
    ServerProcess,
    StderrTarget,
    StopLadder,
    spawn,
)
from ..protocol.outgoing import Outgoing
from ..shown import shown_words
from .base import Abandoned, Receiver, Transport
from .line_messages import LineReader, LineWriter

__all__ = ["StdioTransport"]


class StdioTransport(Transport):
    """Starts ``command`` and talks to it over its standard streams.

    ``env``, ``inherit_env``, ``cwd``, ``stderr`` and ``ladder`` are those of
    `net.process.server_process.spawn`.
    """

    name = "stdio"

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        inherit_env: str = "safe",
        cwd: str | os.PathLike[str] | None = None,
        stderr: StderrTarget = "inherit",
        ladder: StopLadder | None = None,
        max_message_size: int = DEFAULT_LINE_LIMIT,
    ) -> None:
        self.command: list[str] = list(command)
        self._env = env
        self._inherit_env = inherit_env
        self._cwd = cwd
        self._stderr = stderr
        self._ladder = ladder or StopLadder()
        self._max_message_size = max_message_size
        self._process: ServerProcess | None = None
        self._receiver: Receiver | None = None
        self._reader: LineReader | None = None
        self._writer: LineWriter | None = None
        self._flusher: asyncio.Handle | asyncio.Task[None] | None = None
        self._ended: McpError | None = None

    @property
    def description(self) -> str:
        """The command's name."""
        return os.path.basename(shown_words(self.command)[0])

    @property
    def skipped(self) -> Sequence[str]:
        """The last lines on the server's stdout that were no messages."""
        return tuple(self._reader.skipped) if self._reader is not None else ()

    @property
    def stderr_tail(self) -> str:
        """The last 64 KiB that the server wrote to stderr."""
        return self._process.stderr_tail if self._process is not None else ""

    @property
    def process_id(self) -> int | None:
        """The server's process id, once it runs."""
        return self._process.pid if self._process is not None else None

    async def open(self, receiver: Receiver) -> None:
        """Start the server. Raises `CommandNotFound`, `ConnectFailed` or `UsageError`."""
        self._receiver = receiver
        self._ended = None
        self._reader = LineReader(receiver, self._max_message_size, self.description)
        process = await spawn(
            self.command,
            self,
            env=self._env,
            inherit_env=self._inherit_env,
            cwd=self._cwd,
            stderr=self._stderr,
            ladder=self._ladder,
        )
        self._process = process
        self._writer = LineWriter(process.write, lambda: not process.paused, self._schedule_flush)

    def send(self, outgoing: Outgoing) -> None:
        """Write a message, or queue it while the server does not read.

        Raises `ConnectionLost` when the server does not run, and `ProcessExited` when it has ended.
        """
        if self._ended is not None:
            raise self._ended.again()
        if self._writer is None:
            raise ConnectionLost("the server is not running")
        self._writer.send(outgoing, outgoing.encode() + b"\n")

    def _schedule_flush(self) -> None:
        if self._flusher is None:
            loop = asyncio.get_running_loop()
            if self._process is not None and self._process.paused:
                self._flusher = loop.create_task(self._flush_when_read())
            else:
                self._flusher = loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flusher = None
        if self._writer is not None and self._ended is None:
            with suppress(ConnectionLost):  # reported by `process_ended`
                self._writer.flush()
                if self._writer.waiting:
                    self._schedule_flush()

    async def _flush_when_read(self) -> None:
        assert self._process is not None
        try:
            await self._process.drain()
        except ConnectionLost:
            return
        self._flush()

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        """Take a request back if it is still queued."""
        if self._writer is not None and self._writer.withdraw(outgoing.request_id):
            return Abandoned.NEVER_SENT
        return Abandoned.STILL_OPEN

    async def close(self) -> None:
        """Write what is queued, if the server reads, and stop the server by the ladder."""
        self._flush()
        self._cancel_flusher()
        if self._process is not None:
            await self._process.stop()

    def abort(self) -> None:
        """Kill the server's process group at once."""
        self._cancel_flusher()
        if self._process is not None:
            self._process.abort()

    def _cancel_flusher(self) -> None:
        if self._flusher is not None:
            self._flusher.cancel()
            self._flusher = None

    # net.process.ProcessReceiver

    def output_received(self, data: bytes) -> None:
        """Take a chunk of the server's output."""
        assert self._reader is not None
        self._reader.feed(data)

    def process_ended(self, error: ProcessExited) -> None:
        """Take note of the server's end."""
        assert self._reader is not None
        assert self._receiver is not None
        self._reader.feed_eof()
        if self.skipped:
            output = "\n".join(self.skipped)
            error = ProcessExited(error.command, error.exit_code, error.stderr, output)
        self._ended = error
        self._cancel_flusher()
        self._receiver.connection_lost(error)
