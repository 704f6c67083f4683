"""The cost of an audit log's line for a call, the server left out."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import mcpclient

from .blocking import leave_server_out
from .worker import ECHO_ARGUMENTS, Stopwatch


async def call_audited(watch: Stopwatch, count: int, where: Any) -> dict[str, int | float]:
    """Make the same calls with and without a log in turn; the least of several runs counts."""

    async def cost(client: mcpclient.Client) -> float:
        started = process_time()
        for _ in range(count):
            await client.call_tool("echo", ECHO_ARGUMENTS)
        return (process_time() - started) / count

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "calls.jsonl")
        async with mcpclient.connect(where) as plain, mcpclient.connect(where, audit=path) as one:
            for client in (plain, one):
                leave_server_out(client)
            with watch:
                runs = [(await cost(plain), await cost(one)) for _ in range(5)]
        if os.stat(path).st_size < count * 100:
            raise RuntimeError("nothing was written")
    return {"more": min(audited for _, audited in runs) - min(bare for bare, _ in runs)}
