"""The extra cost of a server's start in a sandbox: from connecting to the first answer."""

from __future__ import annotations

import asyncio
from statistics import median
from time import perf_counter
from typing import Any

import mcpclient
from mcpclient.errors import SandboxUnavailable

from .worker import Stopwatch


async def start_confined(watch: Stopwatch, count: int, where: Any) -> dict[str, int | float]:
    """Start a server with and without a sandbox in turn; 0 where the system has none."""
    plain, confined = [], []
    with watch:
        try:
            for _ in range(count):
                plain.append(await _start(where, None))
                confined.append(await _start(where, mcpclient.Sandbox()))
        except SandboxUnavailable:
            return {"more": 0.0}
    return {"more": median(confined) - median(plain)}


async def _start(where: Any, sandbox: mcpclient.Sandbox | None) -> float:
    started = perf_counter()
    async with mcpclient.connect(where, sandbox=sandbox):
        taken = perf_counter() - started
    await asyncio.sleep(0)
    return taken
