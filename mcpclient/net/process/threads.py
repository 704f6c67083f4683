"""A server's pipes, pumped by daemon threads, for event loops that cannot watch pipes.

On Windows no loop can: the selector loop watches only sockets, and the proactor loop only pipes
that were opened in a special way. Each thread owns its end of the pipe, and only it closes it:
if a descriptor were closed during a blocked read, its number could go to another file meanwhile.
"""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Callable

from ..futures import call_from_thread
from .pipes import READ_SIZE, Reader, Writer

# Chunks a thread may be ahead of the loop; beyond them the server waits, as with a full pipe.
_AHEAD = 16


class ThreadedReader(Reader):
    """The `Reader` that blocks in a thread."""

    def _begin(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._room = threading.Semaphore(_AHEAD)
        self._closed = False
        _start(self._run, "mcpclient-read")

    def sweep(self) -> None:
        while self._chunks and not self._closed:
            data = self._chunks.popleft()
            self._room.release()
            if data:
                self._received(data)
            else:
                self._closed = True
                self._ended()

    def close(self) -> None:
        self._closed = True
        self._room.release()

    def _run(self) -> None:
        data = b"-"
        with self._pipe:
            while data and not self._closed:
                try:
                    data = os.read(self._pipe.fileno(), READ_SIZE)
                except (OSError, ValueError):
                    data = b""
                self._room.acquire()
                self._chunks.append(data)
                if not call_from_thread(self._loop, self.sweep):
                    return


class ThreadedWriter(Writer):
    """The `Writer` that blocks in a thread."""

    def _begin(self) -> None:
        self._waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._closed = False
        _start(self._run, "mcpclient-write")

    def write(self, data: bytes) -> None:
        if self._finishing or not data:
            return
        self._waiting.put(data)
        self._grow(len(data))

    def finish(self) -> None:
        self._finishing = True
        self._waiting.put(b"")

    def close(self) -> None:
        self._closed = True
        self.finish()

    def _run(self) -> None:
        try:
            with self._pipe:
                while True:
                    data = memoryview(self._waiting.get())
                    if not data or self._closed:
                        return
                    self._send(data)
                    if not call_from_thread(self._loop, self._sent, len(data)):
                        return
        except (OSError, ValueError):
            call_from_thread(self._loop, self._break)

    def _send(self, data: memoryview) -> None:
        while data and not self._closed:
            data = data[os.write(self._pipe.fileno(), data[:READ_SIZE]) :]

    def _sent(self, size: int) -> None:
        if not self._closed:
            self._shrink(size)

    def _break(self) -> None:
        if not self._closed:
            self._closed = self._finishing = True
            self._broken()


def _start(run: Callable[[], None], name: str) -> None:
    threading.Thread(target=run, name=name, daemon=True).start()
