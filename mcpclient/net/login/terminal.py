"""The terminal: a login shows an address there, and lets the user paste one."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import TextIO

_MAX_LINE_LENGTH = 64 * 1024
# On Windows the proactor loop has no readers, and the selector loop accepts a terminal as a reader
# and then fails as a whole, because its select() works with sockets only.
_WATCHES_TERMINALS = sys.platform != "win32"


class Terminal:
    """Two streams, by default stdin and stderr, so that stdout stays free for results."""

    def __init__(self, source: TextIO | None = None, target: TextIO | None = None) -> None:
        self._source = sys.stdin if source is None else source
        self._target = sys.stderr if target is None else target
        # For reads in a thread: the waiter, whether a thread reads, and a line without a waiter.
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Future[str]] | None = None
        self._is_reading = False
        self._unread: str | None = None

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
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str] = loop.create_future()
        if _WATCHES_TERMINALS:
            text = await self._watch(loop, line)
        else:
            text = await self._read_in_thread(loop, line)
        if not text:
            raise EOFError("the terminal has nothing more to read")
        return text.strip()

    async def _watch(self, loop: asyncio.AbstractEventLoop, line: asyncio.Future[str]) -> str:
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

    async def _read_in_thread(
        self, loop: asyncio.AbstractEventLoop, line: asyncio.Future[str]
    ) -> str:
        text, self._unread = self._unread, None
        if text is not None:
            return text
        self._waiting = loop, line
        if not self._is_reading:
            self._is_reading = True
            # Nothing can interrupt such a read, not even cancelling its waiter. So the thread is a
            # daemon, for the program to exit without it, and its line goes to the next waiter.
            threading.Thread(target=self._read, name="mcpclient-terminal", daemon=True).start()
        return await line

    def _read(self) -> None:
        try:
            text = self._source.readline(_MAX_LINE_LENGTH)
        except (OSError, ValueError):  # closed meanwhile, or not text
            text = ""
        assert self._waiting is not None
        try:
            self._waiting[0].call_soon_threadsafe(self._settle, text)
        except RuntimeError:  # the loop is closed
            self._settle(text)

    def _settle(self, text: str) -> None:
        self._is_reading = False
        assert self._waiting is not None
        loop, line = self._waiting
        if line.done() or loop.is_closed():
            self._unread = text
        else:
            line.set_result(text)
