"""Rows of this library alone: many servers as one. Imported when such a row is run."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import mcpclient
from mcpclient.manager.naming import ToolNames
from mcpclient.manager.tools import Catalog

from .blocking import leave_server_out
from .worker import Stopwatch, memory


async def connect_many(watch: Stopwatch, count: int, where: Any) -> dict[str, int | float]:
    """Connect so many servers and list their tools; the memory that they take."""
    before = memory("VmRSS")
    manager = mcpclient.connect_all({f"server{number}": where for number in range(count)})
    with watch:
        await manager
    async with manager:
        failed = [each for each in manager.servers.values() if not each.is_connected]
        if failed:
            raise RuntimeError(f"{failed[0]}: {failed[0].error}")
        gc.collect()
        return {"memory": memory("VmRSS") - before, "tools": len(manager.tools)}


async def call_through(watch: Stopwatch, count: int, where: Any) -> dict[str, int | float]:
    """The extra cost of a call through a manager, over a client's, the server left out.

    ``times``: beside the client's in the same run, whatever a process of this machine takes.
    """

    async def cost(call: Callable[[], Awaitable[object]]) -> float:
        started = process_time()
        for _ in range(count):
            await call()
        return (process_time() - started) / count

    async with mcpclient.connect(where) as client, mcpclient.connect_all({"a": where}) as manager:
        for each in (client, manager["a"]):
            leave_server_out(each)
        runs = []
        with watch:
            for _ in range(5):
                plain = await cost(lambda: client.call_tool("echo"))
                runs.append((plain, await cost(lambda: manager.call_tool("a__echo"))))
    plain, through = (min(costs) for costs in zip(*runs))
    return {"more": through - plain, "times": through / plain}


async def list_many(watch: Stopwatch, count: int, _where: Any) -> dict[str, int | float]:
    """Name and list so many tools of 100 servers."""
    each = [{"name": f"tool_{number}"} for number in range(count // 100)]
    catalog = Catalog(ToolNames("server__tool", 64), lambda event: None)
    with watch:
        for number in range(100):
            catalog.update(NamedServer(f"server{number}"), each)  # type: ignore[arg-type]
    if len(catalog.tools) != count:
        raise RuntimeError(f"{len(catalog.tools)} tools")
    return {}


@dataclass
class NamedServer:
    """A server that is only named."""

    name: str
    client: Any = None
    trusted: bool = False
    stale: bool = False
