"""The terminal: a login shows an address there, and lets the user paste one."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from concurrent.futures import Future
from typing import TextIO

_MAX_LINE_LENGTH = 64 * 1024
_THREAD = "mcpclient-terminal"
# On Windows the proactor loop has no readers, and the selector loop accepts a terminal as a reader
# and then fails as a whole, because its select() works with sockets only.
_WATCHES_TERMINALS = sys.platform != "win32"


class Terminal:
    """Two streams, by default stdin and stderr, so that stdout stays free for results."""

    def __init__(self, source: TextIO | None = None, target: TextIO | None = None) -> None:
        self._source = sys.stdin if source is None else source
        self._target = sys.stderr if target is None else target
        self._reading: Future[str] | None = None  # the line of a thread that reads

    @property
    def is_interactive(self) -> bool:
        """Whether a user can read the output and type a line."""
        try:
            return self._source.isatty() and self._target.isatty()
        except (AttributeError, ValueError):  # no stream at all, or a closed one
            return False

    def say(self, text: str) -> None:
        print(text, file=self._target, flush=True)

    async def read_line(self) -> str:
        """Wait for a line. Raises EOFError when none will come. Safe to cancel."""
        text = await (self._watch() if _WATCHES_TERMINALS else self._read_in_thread())
        if not text:
            raise EOFError("the terminal has nothing more to read")
        return text.strip()

    async def _watch(self) -> str:
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str] = loop.create_future()
        descriptor = self._source.fileno()
        received = bytearray()

        def read() -> None:
            try:
                piece = os.read(descriptor, _MAX_LINE_LENGTH)
            except BlockingIOError:
                return
            except OSError:  # the terminal has gone, or this is a background job
                piece = b""
            received.extend(piece)
            if not line.done() and (
                not piece or b"\n" in received or len(received) >= _MAX_LINE_LENGTH
            ):
                line.set_result(received.decode("utf-8", "replace"))

        loop.add_reader(descriptor, read)
        try:
            return await line
        finally:
            loop.remove_reader(descriptor)

    async def _read_in_thread(self) -> str:
        if self._reading is None:
            # Nothing can interrupt such a read, not even cancelling its waiter. So the thread is a
            # daemon, for the program to exit without it, and its line goes to the next waiter.
            self._reading = Future()
            self._reading.set_running_or_notify_cancel()
            reading = (self._reading,)
            threading.Thread(target=self._read, args=reading, name=_THREAD, daemon=True).start()
        text = await asyncio.wrap_future(self._reading)
        self._reading = None
        return text

    def _read(self, reading: Future[str]) -> None:
        try:
            text = self._source.readline(_MAX_LINE_LENGTH)
        except (OSError, ValueError):  # closed meanwhile, or not text
            text = ""
        reading.set_result(text)
