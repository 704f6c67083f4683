"""Helpers for the tests of server processes."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from mcpclient.errors import ProcessExited

SERVERS = Path(__file__).parent.parent / "servers"
ECHO = [sys.executable, "-I", "-S", str(SERVERS / "process_echo.py")]

# Real seconds after which a condition that does not come true fails the test.
PATIENCE = 10.0


class Recorder:
    """A receiver that keeps all it receives."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.ends: list[ProcessExited] = []
        self.resumptions = 0
        self._changed = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        assert not self.ends, "bytes after the end"
        self.data += data
        self._changed.set()

    def writing_resumed(self) -> None:
        self.resumptions += 1

    def process_ended(self, error: ProcessExited) -> None:
        self.ends.append(error)
        self._changed.set()

    async def size(self, size: int) -> bytes:
        """Return the output as soon as it has ``size`` bytes."""
        await self._until(lambda: len(self.data) >= size)
        return bytes(self.data)

    async def lines(self, count: int) -> list[str]:
        """Return the lines of the output as soon as there are ``count``."""
        await self._until(lambda: self.data.count(b"\n") >= count)
        return self.data.decode().splitlines()

    async def end(self) -> ProcessExited:
        """Return the report of the end of the process."""
        await self._until(lambda: bool(self.ends))
        return self.ends[0]

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await asyncio.wait_for(self._changed.wait(), PATIENCE)


def python(source: str) -> list[str]:
    """Return the command that runs ``source``, quick to start."""
    return [sys.executable, "-I", "-S", "-c", source]


def tree(*options: str) -> list[str]:
    """Return the command of a shell that runs a program that runs another."""
    program = [sys.executable, "-I", "-S", str(SERVERS / "process_tree.py"), *options]
    return ["sh", "-c", '"$@"; exit $?', "sh", *program]


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Poll until ``condition`` holds; for what no event announces, such as a death elsewhere."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.005)


async def until(condition: Callable[[], bool], what: str) -> None:
    """`wait_until`, for when the event loop has to run meanwhile."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not in time: {what}"
        await asyncio.sleep(0.005)
