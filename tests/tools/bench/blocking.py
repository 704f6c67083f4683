"""The extra cost of a call of the blocking twin, and the cost of the usual other ways.

For a single call the server is left out: it is answered where it would be sent. So what is measured
is only the way of a call from one thread into the event loop of another, and of its result back.
Most of that is what the system takes to wake a thread, which depends on the machine and on what
else it does; so a bare task and a lock make the same calls in the same run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from threading import Lock
from time import process_time
from typing import Any

import mcpclient
from mcpclient import sync
from mcpclient.sync.loop_thread import running_loop_thread

from .worker import Stopwatch

_ROUNDS = 5

# A loop for every call costs so much more that a few will do.
_FEWER = 20


async def call_blocking(watch: Stopwatch, count: int, where: Any) -> dict[str, int | float]:
    """Measure calls of the same client: awaited, blocking, by `asyncio.run`."""
    async with mcpclient.connect(where) as client:
        leave_server_out(client)
        with watch:
            awaited = [await _awaited(client, count) for _ in range(_ROUNDS)]
            others = await asyncio.get_running_loop().run_in_executor(None, _others, where, count)
    more = {name: cost - min(awaited) for name, cost in others.items()}
    return {**more, "times": more["more"] / more["bare"]}


def leave_server_out(client: mcpclient.Client) -> None:
    """Have calls of a client answered where they would be sent."""
    client._caller.call = _answer  # type: ignore[assignment, method-assign]


async def _answer(*_: object) -> dict[str, Any]:
    return {"content": []}


async def _awaited(client: mcpclient.Client, count: int) -> float:
    started = process_time()
    for _ in range(count):
        await client.call_tool("echo")
    return (process_time() - started) / count


def _others(where: Any, count: int) -> dict[str, float]:
    """Measure the ways of a thread without an event loop, by the names of the measures."""
    with sync.connect(where) as client:
        shared = client.async_client
        leave_server_out(shared)
        return {
            **_best(
                count,
                more=lambda: client.call_tool("echo"),
                bare=lambda: _call_barely(shared.call_tool("echo")),
            ),
            **_best(count // _FEWER, run=lambda: asyncio.run(shared.call_tool("echo"))),
        }


def _call_barely(call: Coroutine[Any, Any, object]) -> None:
    """Run a call in the loop of the blocking clients by the plainest way: a task and a lock."""
    ended = Lock()
    ended.acquire()

    async def run() -> None:
        await call
        ended.release()

    loop = running_loop_thread().loop
    loop.call_soon_threadsafe(lambda: loop.create_task(run()))
    ended.acquire()


def _best(count: int, **ways: Callable[[], object]) -> dict[str, float]:
    """Return the cost of a call each way: the least of rounds that take turns."""
    costs: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(_ROUNDS):
        for name, call in ways.items():
            started = process_time()
            for _ in range(count):
                call()
            costs[name].append((process_time() - started) / count)
    return {name: min(each) for name, each in costs.items()}
