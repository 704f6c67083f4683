"""The terminal as a place to show an address, and to have one pasted."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import TextIO

__all__ = ["Terminal"]

_LONGEST_LINE = 64 * 1024


class Terminal:
    """Two streams, by default stdin and stderr, so that stdout stays free for results."""

    def __init__(self, source: TextIO | None = None, target: TextIO | None = None) -> None:
        self._source = sys.stdin if source is None else source
        self._target = sys.stderr if target is None else target

    @property
    def is_interactive(self) -> bool:
        """Whether somebody can read what is shown and type an answer."""
        try:
            return self._source.isatty() and self._target.isatty()
        except (AttributeError, ValueError):  # no stream at all, or a closed one
            return False

    def say(self, text: str) -> None:
        """Show a line or more."""
        print(text, file=self._target, flush=True)

    async def read_line(self) -> str:
        """Wait for a line. Raises EOFError when none will come. Safe to cancel."""
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str] = loop.create_future()
        descriptor = self._source.fileno()
        received = bytearray()

        def read() -> None:
            piece = os.read(descriptor, _LONGEST_LINE)
            received.extend(piece)
            if not line.done() and (
                not piece or b"\n" in received or len(received) >= _LONGEST_LINE
            ):
                line.set_result(received.decode("utf-8", "replace"))

        try:
            loop.add_reader(descriptor, read)
        except NotImplementedError:  # Windows
            self._read_in_thread(loop, line)
            return _checked(await line)
        try:
            return _checked(await line)
        finally:
            loop.remove_reader(descriptor)

    def _read_in_thread(self, loop: asyncio.AbstractEventLoop, line: asyncio.Future[str]) -> None:
        def settle(text: str) -> None:
            if not line.done():
                line.set_result(text)

        def work() -> None:
            text = self._source.readline(_LONGEST_LINE)
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, text)

        # Nothing can interrupt such a read, so the program must be able to end without it.
        threading.Thread(target=work, name="mcpclient-terminal", daemon=True).start()


def _checked(text: str) -> str:
    if not text:
        raise EOFError("the terminal has nothing more to read")
    return text.strip()
