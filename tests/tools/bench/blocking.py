"""The extra cost of a call of the blocking twin, and the cost of the usual other ways.

For a single call the server is left out: it is answered where it would be sent. So what is measured
is only the way of a call from one thread into the event loop of another, and of its result back.
Most of that is what the system takes to wake a thread, which depends on the machine and on what
else it does; so a bare queue and a lock do the same in the same run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from queue import SimpleQueue
from threading import Lock, Thread
from time import perf_counter
from typing import Any

import mcpclient
from mcpclient import sync

from .worker import Stopwatch

__all__ = ["call_blocking", "call_from_threads", "leave_server_out"]

_ROUNDS = 5

# A loop for every call costs so much more that a few will do.
_FEWER = 20

_THREADS = 8
_CALLS = 64


async def call_blocking(watch: Stopwatch, count: int, where: Any) -> dict[str, int | float]:
    """Measure calls of the same client: awaited, blocking, by `asyncio.run`, by anyio's portal."""
    async with mcpclient.connect(where) as client:
        leave_server_out(client)
        with watch:
            awaited = [await _awaited(client, count) for _ in range(_ROUNDS)]
            others = await asyncio.get_running_loop().run_in_executor(None, _others, where, count)
    bare = others.pop("bare")
    more = {name: cost - min(awaited) for name, cost in others.items()}
    return {**more, "times": more["more"] / bare}


def leave_server_out(client: mcpclient.Client) -> None:
    """Have calls of a client answered where they would be sent."""
    client._caller.call = _answer  # type: ignore[assignment, method-assign]


async def _answer(*_: object) -> dict[str, Any]:
    return {"content": []}


async def _awaited(client: mcpclient.Client, count: int) -> float:
    started = perf_counter()
    for _ in range(count):
        await client.call_tool("echo")
    return (perf_counter() - started) / count


def _others(where: Any, count: int) -> dict[str, float]:
    """Measure the ways of a thread without an event loop, by the names of the measures."""
    with sync.connect(where) as client:
        shared = client.async_client
        leave_server_out(shared)
        return {
            "more": _best(lambda: client.call_tool("echo"), count),
            "run": _best(lambda: asyncio.run(shared.call_tool("echo")), count // _FEWER),
            "portal": _by_portal(where, count) if find_spec("anyio") else 0.0,
            "bare": _by_queue(count),
        }


def _by_portal(where: Any, count: int) -> float:
    from_thread = import_module("anyio.from_thread")
    with from_thread.start_blocking_portal() as portal:
        client = mcpclient.connect(where)
        portal.call(client.connect)
        leave_server_out(client)
        try:
            return _best(lambda: portal.call(client.call_tool, "echo"), count)
        finally:
            portal.call(client.close)


def _by_queue(count: int) -> float:
    with _bare_queue() as bare:
        return _best(bare, count)


@contextmanager
def _bare_queue() -> Iterator[Callable[[], None]]:
    """The plainest way to another thread and back: a queue and a lock, without an event loop."""
    handed: SimpleQueue[Lock | None] = SimpleQueue()

    def hand_back() -> None:
        for lock in iter(handed.get, None):
            lock.release()

    def hand_over() -> None:
        lock = Lock()
        lock.acquire()
        handed.put(lock)
        lock.acquire()

    Thread(target=hand_back, daemon=True).start()
    try:
        yield hand_over
    finally:
        handed.put(None)


def _best(call: Callable[[], object] | Callable[[], Awaitable[object]], count: int) -> float:
    costs = []
    for _ in range(_ROUNDS):
        started = perf_counter()
        for _ in range(count):
            call()
        costs.append((perf_counter() - started) / count)
    return min(costs)


async def call_from_threads(watch: Stopwatch, count: int, where: Any) -> dict[str, int | float]:
    """Measure 64 calls over 8 threads as multiples of what they cost over 8 tasks.

    ``least`` is the same with the plainest way to another thread and back added to the cost of the
    tasks.
    """
    async with mcpclient.connect(where) as client:
        with watch:
            tasks = min([await _over_tasks(client) for _ in range(count)])
            blocking = asyncio.get_running_loop().run_in_executor(None, _over_threads, where, count)
            threads, bare = await blocking
    return {"threads": threads / tasks, "least": (tasks + bare) / tasks}


async def _over_tasks(client: mcpclient.Client) -> float:
    async def use() -> None:
        for _ in range(_CALLS // _THREADS):
            await client.call_tool("echo", {"message": "x"})

    started = perf_counter()
    await asyncio.gather(*(use() for _ in range(_THREADS)))
    return perf_counter() - started


def _over_threads(where: Any, count: int) -> tuple[float, float]:
    with sync.connect(where) as client, _bare_queue() as bare, ThreadPoolExecutor(_THREADS) as pool:

        def best(call: Callable[[], object]) -> float:
            def use() -> None:
                for _ in range(_CALLS // _THREADS):
                    call()

            costs = []
            for _ in range(count):
                started = perf_counter()
                for used in [pool.submit(use) for _ in range(_THREADS)]:
                    used.result()
                costs.append(perf_counter() - started)
            return min(costs)

        return best(lambda: client.call_tool("echo", {"message": "x"})), best(bare)
