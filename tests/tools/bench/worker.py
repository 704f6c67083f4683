"""The common part of every Python column: the loop that obeys the harness, and the measurements.

A worker is a process of its own in the environment of its column. It reads one order per line of
JSON from standard input and answers each with one line. While it waits for an order it blocks, so
that an idle column takes nothing from the one being measured.

| order | answer |
|---|---|
| | `runtime`: the interpreter, once the library is imported |
| `open` with `target`, `era` | after a call: `memory` (resident), and `cpu` since the start |
| `run` with `operation`, `count`, `size` | `count`, `seconds`, `cpu`, `peak` and what it found |
| `close` | an empty object |

`seconds` are wall time, `cpu` are seconds of this process alone, `peak` and `memory` are bytes.
Any order may be answered with `error` instead, or with `absent` where the library has nothing that
the operation could measure.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import platform
import sys
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from time import perf_counter, process_time
from typing import Any, Protocol, TypedDict

ECHO_ARGUMENTS = {"message": "x"}
SHORT_RUN = 1_000
SHORT_RUNS = 5
WIDTH = 100


class NothingToMeasureError(Exception):
    """The library of a column has nothing of the kind that an operation measures."""


class Target(TypedDict, total=False):
    """The server, as a command or a URL, and the token for its calls."""

    command: list[str]
    url: str
    token: str


class Order(TypedDict, total=False):
    """One line from the harness."""

    do: str
    target: Target
    era: str
    operation: str
    count: int
    size: int


class Client(Protocol):
    """The parts of a connected client that the measured operations need."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any: ...

    async def list_tools(self) -> Any: ...


class Adapter(ABC):
    """One column: how its library connects, and what its results look like."""

    @abstractmethod
    def connect(
        self, target: Target, era: str, on_notification: Callable[[], None]
    ) -> AbstractAsyncContextManager[Client]:
        """A client connected to the target; `era` is "auto" or "handshake"."""

    @abstractmethod
    def text(self, result: Any) -> str:
        """The text of a tool's result."""

    async def call_together(self, client: Client, width: int) -> list[Any]:
        """So many echo calls at once, as a program would write it."""
        return await asyncio.gather(
            *(client.call_tool("echo", ECHO_ARGUMENTS) for _ in range(width))
        )

    async def call_batch(self, client: Client, width: int) -> list[Any]:
        """The same in one call, where the library has something of the kind."""
        return await self.call_together(client, width)

    async def special(
        self, operation: str, watch: Stopwatch, count: int, target: Target
    ) -> dict[str, int | float]:
        """An operation that not every library has."""
        raise NothingToMeasureError("this library has nothing of the kind")


class Stopwatch:
    """Wall time and processor time of this process, summed over its laps."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.cpu = 0.0

    def __enter__(self) -> None:
        self._cpu_start = process_time()
        self._start = perf_counter()

    def __exit__(self, *exception: object) -> None:
        self.seconds += perf_counter() - self._start
        self.cpu += process_time() - self._cpu_start


class Worker:
    """Obeys the harness with the library of one adapter."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.target: Target = {}
        self.era = "auto"
        self.stack = AsyncExitStack()
        self.client: Client | None = None
        self.notes = 0
        self.notes_expected = 0
        self.notes_complete = asyncio.Event()

    async def obey(self, order: Order) -> dict[str, Any]:
        """Carry out one order and return the answer."""
        if "target" in order:
            self.target, self.era = order["target"], order["era"]
        if order["do"] == "open":
            self.client = await self.stack.enter_async_context(self._connect())
            await self._sequence(Stopwatch(), 1, 0)
            forget_peak_memory()
            return {"memory": memory("VmRSS"), "cpu": process_time()}
        if order["do"] == "close":
            await self.stack.aclose()
            self.client = None
            return {}
        return await self._run(order["operation"], order["count"], order.get("size", 0))

    async def _run(self, operation: str, count: int, size: int) -> dict[str, Any]:
        operations: dict[str, Callable[[Stopwatch, int, int], Awaitable[dict[str, int | float]]]]
        operations = {
            "sequence": self._sequence,
            "together": self._together,
            "batch": self._batch,
            "payload": self._payload,
            "argument": self._argument,
            "notifications": self._notifications,
            "connect": self._connections,
            "late": self._late,
            "tools": self._tools,
            "in-flight": self._in_flight,
            "servers": self._servers,
        }
        gc.collect()
        watch = Stopwatch()
        if operation in operations:
            details = await operations[operation](watch, count, size)
        else:
            details = await self.adapter.special(operation, watch, count, self.target)
        return {
            "count": count,
            "seconds": watch.seconds,
            "cpu": watch.cpu,
            "peak": memory("VmHWM"),
            **details,
        }

    def _connect(self) -> AbstractAsyncContextManager[Client]:
        return self.adapter.connect(self.target, self.era, self._note)

    def _note(self) -> None:
        self.notes += 1
        if self.notes == self.notes_expected:
            self.notes_complete.set()

    def _connected(self) -> Client:
        if self.client is None:
            raise RuntimeError("the order to open did not come first")
        return self.client

    def _check(self, *results: Any) -> None:
        for result in results:
            if self.adapter.text(result) != ECHO_ARGUMENTS["message"]:
                raise RuntimeError(f"wrong answer: {result!r}")

    async def _sequence(self, watch: Stopwatch, count: int, _size: int) -> dict[str, int | float]:
        call_tool = self._connected().call_tool
        with watch:
            for _ in range(count):
                result = await call_tool("echo", ECHO_ARGUMENTS)
        self._check(result)
        return {}

    async def _together(self, watch: Stopwatch, count: int, _size: int) -> dict[str, int | float]:
        client = self._connected()
        batches = max(1, count // WIDTH)
        with watch:
            for _ in range(batches):
                results = await self.adapter.call_together(client, WIDTH)
        self._check(*results)
        return {"count": batches * WIDTH}

    async def _batch(self, watch: Stopwatch, count: int, _size: int) -> dict[str, int | float]:
        client = self._connected()
        batches = max(1, count // WIDTH)
        with watch:
            for _ in range(batches):
                results = await self.adapter.call_batch(client, WIDTH)
        self._check(*results)
        return {"count": batches * WIDTH}

    async def _in_flight(self, watch: Stopwatch, count: int, _size: int) -> dict[str, int | float]:
        """All calls at once, and the memory that stays when they are answered."""
        client = self._connected()
        with watch:
            results = await self.adapter.call_together(client, count)
        self._check(*results)
        results.clear()
        await asyncio.sleep(0)  # the turn of the loop that woke this task still holds its calls
        gc.collect()
        return {"memory": memory("VmRSS")}

    async def _payload(self, watch: Stopwatch, count: int, size: int) -> dict[str, int | float]:
        client = self._connected()
        for _ in range(count):
            with watch:
                result = await client.call_tool("blob", {"n": size})
            if len(self.adapter.text(result)) < 0.9 * size:
                raise RuntimeError("the result is too short")
            del result
        return {}

    async def _argument(self, watch: Stopwatch, count: int, size: int) -> dict[str, int | float]:
        """Calls that send much and get nothing back."""
        client = self._connected()
        arguments = {"n": 1, "message": "x" * size}
        for _ in range(count):
            with watch:
                result = await client.call_tool("blob", arguments)
            if self.adapter.text(result) != ".":
                raise RuntimeError("wrong answer")
        return {}

    async def _notifications(
        self, watch: Stopwatch, count: int, _size: int
    ) -> dict[str, int | float]:
        client = self._connected()
        self.notes, self.notes_expected = 0, count
        self.notes_complete.clear()
        with watch:
            await client.call_tool("notify", {"n": count})
            await self.notes_complete.wait()
        return {}

    async def _connections(
        self, watch: Stopwatch, count: int, _size: int
    ) -> dict[str, int | float]:
        for _ in range(count):
            async with AsyncExitStack() as stack:
                with watch:
                    client = await stack.enter_async_context(self._connect())
                    result = await client.call_tool("echo", ECHO_ARGUMENTS)
                self._check(result)
        return {}

    async def _late(self, watch: Stopwatch, count: int, _size: int) -> dict[str, int | float]:
        """A short run after `count` calls, and the processor time of the same run before them."""
        await self._sequence(Stopwatch(), SHORT_RUN, 0)
        early = await self._fastest(SHORT_RUN)
        with watch:
            await self._together(Stopwatch(), count, 0)
        return {"count": SHORT_RUN, "early": early, "cpu": await self._fastest(SHORT_RUN)}

    async def _fastest(self, count: int) -> float:
        """The least processor time of several runs: whatever else the machine does adds to it."""
        watches = [Stopwatch() for _ in range(SHORT_RUNS)]
        for watch in watches:
            await self._sequence(watch, count, 0)
        return min(watch.cpu for watch in watches)

    async def _tools(self, watch: Stopwatch, count: int, _size: int) -> dict[str, int | float]:
        """Some calls once all tools are listed, and the processor time of the same calls before."""
        await self._sequence(Stopwatch(), count, 0)
        early = await self._fastest(count)
        with watch:
            await self._connected().list_tools()
        return {"early": early, "cpu": await self._fastest(count)}

    async def _servers(self, watch: Stopwatch, count: int, _size: int) -> dict[str, int | float]:
        """The memory that so many open connections take."""
        before = memory("VmRSS")
        async with AsyncExitStack() as stack:
            for _ in range(count):
                with watch:
                    client = await stack.enter_async_context(self._connect())
                    result = await client.call_tool("echo", ECHO_ARGUMENTS)
                self._check(result)
            gc.collect()
            return {"memory": memory("VmRSS") - before}


def memory(field: str) -> int:
    """Bytes that /proc reports for this process (VmRSS now, VmHWM at most), or 0."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            for line in status:
                if line.startswith(field):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def forget_peak_memory() -> None:
    """Start the high-water mark of resident memory anew, where the system allows it."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as clear:
            clear.write("5")
    except OSError:
        pass


async def _serve(adapter: Adapter, answers: int) -> None:
    worker = Worker(adapter)
    for line in iter(sys.stdin.readline, ""):
        try:
            answer = await worker.obey(json.loads(line))
        except NothingToMeasureError as reason:
            answer = {"absent": str(reason)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        os.write(answers, json.dumps(answer).encode() + b"\n")


def serve(adapter: Adapter) -> None:
    """Answer the orders of the harness until it closes standard input.

    Answers keep a descriptor of their own: what a library prints cannot end up among them.
    """
    answers = os.dup(1)
    os.dup2(2, 1)
    ready = {"runtime": f"Python {platform.python_version()}"}
    os.write(answers, json.dumps(ready).encode() + b"\n")
    asyncio.run(_serve(adapter, answers))
