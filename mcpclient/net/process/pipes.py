"""A server's pipes: bytes are pushed as they come, and written without waiting.

The event loop watches them where possible. On Windows no loop can: the selector loop watches only
sockets, and the proactor loop only pipes that were opened in a special way; there daemon threads
move the bytes. asyncio's own pipe transports are not used, because they cannot be closed once their
loop is closed: then they warn and fail in their finalizers, while pipes here may be closed even
from a finalizer.
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from ..futures import call_from_thread

if TYPE_CHECKING:
    import queue

# The capacity of a pipe on Linux and macOS: no read returns more.
_READ_SIZE = 64 * 1024
HIGH_WATER = 64 * 1024
LOW_WATER = 16 * 1024

# The most reads of one `sweep`: another process may keep filling the pipe.
_SWEEPS = 16

# Chunks a thread may be ahead of the loop; beyond them the server waits, as with a full pipe.
_AHEAD = 16


class PipeReader:
    """A reader that passes bytes to ``received``, and calls ``ended`` once at the end."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        pipe: IO[bytes],
        received: Callable[[bytes], None],
        ended: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._pipe = pipe
        self._received = received
        self._ended = ended
        self._begin()

    def _begin(self) -> None:
        os.set_blocking(self._pipe.fileno(), False)
        self._loop.add_reader(self._pipe.fileno(), self._read)

    def sweep(self) -> None:
        """Read the bytes that have arrived, without waiting for more."""
        for _ in range(_SWEEPS):
            if not self._read():
                break

    @property
    def is_cut_off(self) -> bool:
        """Whether the writer has closed its end, where that is seen without reading."""
        if self._pipe.closed or not hasattr(select, "poll"):
            return False
        return _has_event(self._pipe, getattr(select, "POLLRDHUP", 0))

    def hold(self, *, is_held: bool) -> None:
        """Stop reading, or go on. A pipe that has ended meanwhile is only reported then."""
        if self._pipe.closed:
            return
        if is_held:
            self._loop.remove_reader(self._pipe.fileno())
        else:
            self._loop.add_reader(self._pipe.fileno(), self._read)

    def close(self) -> None:
        """Stop reading, make no more calls, and release the pipe. Idempotent."""
        if not self._pipe.closed:
            _unwatch(self._loop.remove_reader, self._pipe)

    def _read(self) -> bool:
        if self._pipe.closed:
            return False
        try:
            data = os.read(self._pipe.fileno(), _READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return False
        except (OSError, ValueError):  # ValueError: closed meanwhile, by the end of the interpreter
            data = b""
        if data:
            self._received(data)
        else:
            self.close()
            self._ended()
        return bool(data)


class PipeWriter:
    """A writer that never blocks; what the pipe does not take is kept in memory.

    ``changed`` gets True when more than ``HIGH_WATER`` bytes are kept, and False when they are down
    to ``LOW_WATER``; ``broken`` is called once when the reader has closed its end.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        pipe: IO[bytes],
        changed: Callable[[bool], None],
        broken: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._pipe = pipe
        self._changed = changed
        self._broken = broken
        self._size = 0
        self._paused = self._finishing = False
        #: Whether written bytes were never read, once the pipe is closed.
        self.left_unread: bool = False
        self._begin()

    def _begin(self) -> None:
        self._kept: deque[memoryview] = deque()
        os.set_blocking(self._pipe.fileno(), False)

    @property
    def has_unread(self) -> bool:
        """Whether written bytes wait to be read; False where that is unknown."""
        if self._pipe.closed or sys.platform != "linux":  # only Linux tells the writer
            return False
        waiting = bytearray(4)
        try:
            import fcntl
            import termios

            fcntl.ioctl(self._pipe.fileno(), termios.FIONREAD, waiting)
        except (OSError, ValueError, ImportError):  # ValueError: closed meanwhile
            return False
        return any(waiting)

    @property
    def is_cut_off(self) -> bool:
        """Whether the reader has closed its end, where that is seen without writing."""
        return self._pipe.closed or (hasattr(select, "poll") and _has_event(self._pipe, 0))

    @property
    def unsent(self) -> int:
        """The number of bytes that wait to be sent."""
        return self._size

    def write(self, data: bytes | memoryview) -> None:
        """Send ``data``; ignored once the pipe is broken, finished or closed."""
        if self._finishing or self._pipe.closed:
            return
        sent = 0
        if not self._kept:
            sent = self._send(data)
            if sent == len(data) or self._pipe.closed:
                return
            self._loop.add_writer(self._pipe.fileno(), self._flush)
        rest = memoryview(data)[sent:]
        self._kept.append(rest)
        self._grow(len(rest))

    def finish(self) -> None:
        """Close the pipe when everything written has been sent. Idempotent."""
        self._finishing = True
        if not self._kept:
            self.close()

    def close(self) -> None:
        """Drop what has not been sent and close the pipe. Idempotent."""
        self._kept.clear()
        self._size = 0
        if not self._pipe.closed:
            self.left_unread = self.has_unread
            _unwatch(self._loop.remove_writer, self._pipe)

    def _send(self, data: bytes | memoryview) -> int:
        try:
            return os.write(self._pipe.fileno(), data)
        except (BlockingIOError, InterruptedError):
            return 0
        except (OSError, ValueError):
            self.close()
            self._broken()
            return 0

    def _flush(self) -> None:
        total = 0
        while self._kept:
            sent = self._send(self._kept[0])
            if self._pipe.closed:
                return
            total += sent
            if sent < len(self._kept[0]):
                self._kept[0] = self._kept[0][sent:]
                break
            self._kept.popleft()
        self._shrink(total)
        if not self._kept:
            self._loop.remove_writer(self._pipe.fileno())
            if self._finishing:
                self.close()

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > HIGH_WATER and not self._paused:
            self._paused = True
            self._changed(True)

    def _shrink(self, size: int) -> None:
        self._size -= size
        if self._paused and self._size <= LOW_WATER:
            self._paused = False
            self._changed(False)


def _has_event(pipe: IO[bytes], events: int) -> bool:
    """Whether one of the events has happened to a pipe, or its other end was closed."""
    poll = select.poll()
    poll.register(pipe.fileno(), events)
    return bool(poll.poll(0))


def _unwatch(remove: Callable[[int], object], pipe: IO[bytes]) -> None:
    with suppress(RuntimeError, ValueError):  # the loop or the pipe is closed: nothing is watched
        remove(pipe.fileno())
    with suppress(OSError):
        pipe.close()


class ThreadedReader(PipeReader):
    """A `PipeReader` that blocks in a thread.

    The thread owns its end of the pipe, and only it closes it: if a descriptor were closed during a
    blocked read, its number could go to another file meanwhile.
    """

    def _begin(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._room = threading.Semaphore(_AHEAD)
        self._closed = self._is_held = False
        _start(self._run, "mcpclient-read")

    def hold(self, *, is_held: bool) -> None:
        self._is_held = is_held
        self._loop.call_soon(self.sweep)

    def sweep(self) -> None:
        while self._chunks and not (self._closed or self._is_held):
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
                    data = os.read(self._pipe.fileno(), _READ_SIZE)
                except (OSError, ValueError):
                    data = b""
                self._room.acquire()
                self._chunks.append(data)
                if not call_from_thread(self._loop, self.sweep):
                    return


class ThreadedWriter(PipeWriter):
    """A `PipeWriter` that blocks in a thread, as `ThreadedReader` does."""

    def _begin(self) -> None:
        import queue

        self._waiting: queue.SimpleQueue[bytes | memoryview] = queue.SimpleQueue()
        self._closed = False
        _start(self._run, "mcpclient-write")

    @property
    def has_unread(self) -> bool:
        return False

    @property
    def is_cut_off(self) -> bool:
        return self._closed

    def write(self, data: bytes | memoryview) -> None:
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
                    data = rest = memoryview(self._waiting.get())
                    if not data or self._closed:
                        return
                    while rest and not self._closed:
                        rest = rest[os.write(self._pipe.fileno(), rest[:_READ_SIZE]) :]
                    if not call_from_thread(self._loop, self._sent, len(data)):
                        return
        except (OSError, ValueError):
            call_from_thread(self._loop, self._break)

    def _sent(self, size: int) -> None:
        if not self._closed:
            self._shrink(size)

    def _break(self) -> None:
        if not self._closed:
            self._closed = self._finishing = True
            self._broken()


def _start(run: Callable[[], None], name: str) -> None:
    threading.Thread(target=run, name=name, daemon=True).start()
