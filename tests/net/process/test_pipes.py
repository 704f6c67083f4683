"""The two ways to move a pipe's bytes, by the loop and by threads, held to the same promises."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import IO, NamedTuple

import pytest

from mcpclient.net.process.pipes import PipeReader, PipeWriter, ThreadedReader, ThreadedWriter
from tests.net.process_helpers import until

pytestmark = pytest.mark.needs_posix


class Pipe(NamedTuple):
    reading: IO[bytes]
    writing: IO[bytes]

    @classmethod
    def open(cls) -> Pipe:
        reading, writing = os.pipe()
        return cls(open(reading, "rb", buffering=0), open(writing, "wb", buffering=0))


class Ends:
    """The reports of a reader or a writer."""

    def __init__(self) -> None:
        self.data = b""
        self.ended = 0
        self.broken = 0
        self.changes: list[bool] = []

    def received(self, data: bytes) -> None:
        self.data += data

    def end(self) -> None:
        self.ended += 1

    def breaks(self) -> None:
        self.broken += 1


Readers = pytest.mark.parametrize("make", [PipeReader, ThreadedReader])
Writers = pytest.mark.parametrize("make", [PipeWriter, ThreadedWriter])


@asynccontextmanager
async def reading(make: type[PipeReader]) -> AsyncIterator[tuple[PipeReader, Pipe, Ends]]:
    """Give a reader of a pipe, which is closed in the end, and its reports."""
    pipe, ends = Pipe.open(), Ends()
    reader = make(asyncio.get_running_loop(), pipe.reading, ends.received, ends.end)
    yield reader, pipe, ends
    reader.close()
    pipe.writing.close()  # lets a thread's read return
    await until(lambda: pipe.reading.closed, "the reader gives the pipe back")


def join_threads() -> None:
    for thread in threading.enumerate():
        if thread.name in ("mcpclient-read", "mcpclient-write"):
            thread.join(5)


@Readers
async def test_a_held_reader_pushes_nothing_until_it_is_released(make: type[PipeReader]) -> None:
    """F-BRIDGE-1: and a writer that has gone can be seen meanwhile."""
    async with reading(make) as (reader, pipe, ends):
        reader.hold(is_held=True)
        pipe.writing.write(b"one")
        for _ in range(20):
            await asyncio.sleep(0)
        assert ends.data == b""
        assert not reader.is_cut_off
        pipe.writing.close()
        assert make is ThreadedReader or reader.is_cut_off
        reader.hold(is_held=False)
        await until(lambda: ends.ended == 1, "the end")
        assert ends.data == b"one"
        assert not reader.is_cut_off or make is ThreadedReader
        reader.hold(is_held=True)


def test_a_read_that_fails_is_the_end() -> None:
    """F-LIFE-7: here, a descriptor that cannot be read at all."""
    reading, writing = os.pipe()
    ends = Ends()

    async def main() -> None:
        PipeReader(asyncio.get_running_loop(), pipe, ends.received, ends.end).sweep()

    with open(reading, "rb", buffering=0), open(writing, "wb", buffering=0) as pipe:
        asyncio.run(main())
    assert ends.ended == 1


def writer_of(make: type[PipeWriter], pipe: Pipe, ends: Ends) -> PipeWriter:
    loop = asyncio.get_running_loop()
    return make(loop, pipe.writing, ends.changes.append, ends.breaks)


async def read_all(pipe: Pipe) -> bytes:
    with pipe.reading:
        return await asyncio.get_running_loop().run_in_executor(None, _read_to_end, pipe.reading)


def _read_to_end(file: IO[bytes]) -> bytes:
    return b"".join(iter(lambda: os.read(file.fileno(), 65536), b""))


@Writers
async def test_a_writer_sends_in_order_and_closes_after_the_last_byte(
    make: type[PipeWriter],
) -> None:
    """F-STD-5"""
    chunks = [b"a", b"", b"b" * 300_000, b"c", b"d" * 100_000, b"e"]
    pipe, ends = Pipe.open(), Ends()
    writer = writer_of(make, pipe, ends)
    for chunk in chunks:
        writer.write(chunk)
    writer.finish()
    writer.finish()
    writer.write(b"ignored")
    assert await read_all(pipe) == b"".join(chunks)
    await until(lambda: pipe.writing.closed, "the writer gives the pipe back")
    assert ends.changes == [True, False] and not ends.broken


def test_a_writing_thread_ends_with_its_loop() -> None:
    """F-LIFE-5: even if it is not closed."""
    pipe, ends = Pipe.open(), Ends()

    async def main() -> ThreadedWriter:
        loop = asyncio.get_running_loop()
        return ThreadedWriter(loop, pipe.writing, ends.changes.append, ends.breaks)

    writer = asyncio.run(main())
    writer.write(b"late")
    join_threads()
    assert pipe.writing.closed
    pipe.reading.close()


async def test_a_pipe_that_cannot_be_asked_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-27: the same as one whose other side has read everything."""
    pipe, ends = Pipe.open(), Ends()

    def refuse(*arguments: object) -> None:
        raise OSError("not a pipe")

    monkeypatch.setattr("fcntl.ioctl", refuse)
    writer = writer_of(PipeWriter, pipe, ends)
    with pipe.reading:
        writer.write(b"x")
        assert not writer.has_unread
        writer.close()
