"""An hour of idle connections in simulated time: what they take, and whether that grows.

    python -m tests.tools.bench.idle_hour [COUNT]

COUNT sessions over HTTP (1,000), pinged every minute, and as many WebSockets, pinged as usual. The
server lives in the same event loop, whose clock jumps to the next timer when nothing is to be done.
"""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
from contextlib import AsyncExitStack
from functools import partial
from typing import NamedTuple

import mcpclient
from tests.support.virtual_time import run

from .servers import Answers, HttpConnection
from .worker import memory

if sys.platform != "win32":
    import resource

_EARLY = 600.0
_HOUR = 3600.0
_AT_ONCE = 50


class Footprint(NamedTuple):
    """The contents of the process: objects of this library, all objects, and bytes in memory."""

    own: int
    objects: int
    resident: int

    @classmethod
    def now(cls) -> Footprint:
        """Count, after a collection."""
        gc.collect()
        found = gc.get_objects()
        own = sum(type(each).__module__.partition(".")[0] == mcpclient.__name__ for each in found)
        return cls(own, len(found), memory("VmRSS"))


class Hour(NamedTuple):
    """The footprint after ten minutes and after the hour, and how often the server was asked."""

    early: Footprint
    late: Footprint
    messages: int


class _Server:
    """The neutral server of the benchmark, in the running event loop."""

    def __init__(self) -> None:
        self.reads = 0
        self._answers = Answers()
        self._loop = asyncio.get_running_loop()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self._listener.setblocking(False)
        self._loop.add_reader(self._listener, self._accept)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def _accept(self) -> None:
        accepted, _ = self._listener.accept()
        accepted.setblocking(False)
        connection = HttpConnection(accepted, self._answers)
        self._loop.add_reader(accepted, partial(self._read, connection))

    def _read(self, connection: HttpConnection) -> None:
        self.reads += 1
        if not connection.read():
            self._loop.remove_reader(connection.socket)
            connection.socket.close()

    def close(self) -> None:
        """Accept no more."""
        self._loop.remove_reader(self._listener)
        self._listener.close()


async def _hour(count: int) -> Hour:
    server = _Server()
    clients = [
        client
        for _ in range(count)
        for client in (
            mcpclient.connect(
                f"http://{server.address}/json", protocol_version="2025-11-25", keep_alive=60
            ),
            mcpclient.connect(f"ws://{server.address}/ws"),
        )
    ]
    async with AsyncExitStack() as stack:
        for start in range(0, len(clients), _AT_ONCE):
            some = clients[start : start + _AT_ONCE]
            await asyncio.gather(*map(stack.enter_async_context, some))
        await asyncio.sleep(_EARLY)
        early = Footprint.now()
        before = server.reads
        await asyncio.sleep(_HOUR - _EARLY)
        late = Footprint.now()
        messages = server.reads - before
        calls = (each.call_tool("echo", {"message": "x"}) for each in clients)
        answers = await asyncio.gather(*calls)
        assert [answer.text for answer in answers] == ["x"] * len(clients)
    server.close()
    await asyncio.sleep(1)
    return Hour(early, late, messages)


def idle_hour(count: int) -> Hour:
    """Keep so many sessions over HTTP, and as many WebSockets, open for an hour."""
    if sys.platform != "win32":
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 6 * count + 100
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 256), hard))
    return run(_hour(count))


def main() -> None:
    """Print the total of an hour."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    hour = idle_hour(count)
    early, late = hour.early, hour.late
    print(f"{count} sessions over HTTP and {count} WebSockets, {hour.messages:,} messages")
    print(f"objects of the library: {early.own:,} after ten minutes, {late.own:,} after an hour")
    print(f"all objects: {early.objects:,}, {late.objects:,}")
    print(f"resident: {early.resident >> 10:,} KiB, {late.resident >> 10:,} KiB")


if __name__ == "__main__":
    main()
