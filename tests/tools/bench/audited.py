"""The cost of an audit log's line for a call, the server left out.

Beside it the same process writes bare lines in turn: what any chained log that several processes
append to has to do, and nothing else.
"""

from __future__ import annotations

import json
import os
import tempfile
from hashlib import sha256
from pathlib import Path
from time import process_time
from typing import Any

import mcpclient
from mcpclient.net.files import lock_descriptor, release_descriptor

from .blocking import leave_server_out
from .worker import ECHO_ARGUMENTS, Stopwatch

_ROUNDS = 5
_encode = json.JSONEncoder(separators=(",", ":")).encode


async def call_audited(watch: Stopwatch, count: int, where: Any) -> dict[str, int | float]:
    """Make calls without and with a log, and bare lines, in turn; the least of each counts."""

    async def cost(client: mcpclient.Client) -> float:
        started = process_time()
        for _ in range(count):
            await client.call_tool("echo", ECHO_ARGUMENTS)
        return (process_time() - started) / count

    with tempfile.TemporaryDirectory() as folder:
        path, bare = Path(folder, "calls.jsonl"), Path(folder, "bare.jsonl")
        async with mcpclient.connect(where) as plain, mcpclient.connect(where, audit=path) as one:
            for client in (plain, one):
                leave_server_out(client)
            with watch:
                runs = [
                    (await cost(plain), await cost(one), write_bare(path, bare, count))
                    for _ in range(_ROUNDS)
                ]
        sizes = [os.stat(each).st_size for each in (path, bare)]
        if not count * 100 * _ROUNDS < sizes[1] < 2 * sizes[0] < 4 * sizes[1]:
            raise RuntimeError(f"the lines are not alike: {sizes}")
    plainly, audited, barely = map(min, zip(*runs))
    return {"more": audited - plainly, "times": (audited - plainly) / barely}


def write_bare(log: Path, bare: Path, count: int) -> float:
    """Write so many lines as the last one of a log; return the processor time of each."""
    record = json.loads(log.read_bytes().splitlines()[-1])
    descriptor = os.open(bare, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    started = process_time()
    for _ in range(count):
        record["arguments_sha256"] = sha256(_encode(ECHO_ARGUMENTS).encode()).hexdigest()
        lock_descriptor(descriptor)
        os.stat(bare)  # another process may have rotated it
        line = _encode(record).encode()
        record["hash"] = sha256(line).hexdigest()
        os.write(descriptor, line + b"\n")
        release_descriptor(descriptor)
    spent = process_time() - started
    os.close(descriptor)
    return spent / count
