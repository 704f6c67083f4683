"""What a call of the blocking twin costs more, and what the usual other ways cost.

The server is left out: every call is answered where it would be sent. So what is measured is only
the way of a call from one thread into the event loop of another, and of its result back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import mcpclient
from mcpclient import sync

from .worker import Stopwatch

__all__ = ["call_blocking"]

_ROUNDS = 5

# A loop for every call costs so much more that a few will do.
_FEWER = 20


async def call_blocking(watch: Stopwatch, count: int, where: Any) -> dict[str, int | float]:
    """Measure calls of the same client: awaited, blocking, by `asyncio.run`, by anyio's portal."""
    async with mcpclient.connect(where) as client:
        client._caller.call = _answer  # type: ignore[assignment, method-assign]
        with watch:
            awaited = [await _awaited(client, count) for _ in range(_ROUNDS)]
            others = await asyncio.get_running_loop().run_in_executor(None, _others, where, count)
    return {name: cost - min(awaited) for name, cost in others.items()}


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
        shared._caller.call = _answer  # type: ignore[assignment, method-assign]
        return {
            "more": _best(lambda: client.call_tool("echo"), count),
            "run": _best(lambda: asyncio.run(shared.call_tool("echo")), count // _FEWER),
            "portal": _by_portal(where, count) if find_spec("anyio") else 0.0,
        }


def _by_portal(where: Any, count: int) -> float:
    from_thread = import_module("anyio.from_thread")
    with from_thread.start_blocking_portal() as portal:
        client = mcpclient.connect(where)
        portal.call(client.connect)
        client._caller.call = _answer  # type: ignore[assignment, method-assign]
        try:
            return _best(lambda: portal.call(client.call_tool, "echo"), count)
        finally:
            portal.call(client.close)


def _best(call: Callable[[], object] | Callable[[], Awaitable[object]], count: int) -> float:
    costs = []
    for _ in range(_ROUNDS):
        started = perf_counter()
        for _ in range(count):
            call()
        costs.append((perf_counter() - started) / count)
    return min(costs)
