"""The number of servers that are connected at once: F-MANY-1, F-MANY-20."""

from __future__ import annotations

import asyncio
import os

import pytest

from mcpclient.errors import UsageError
from mcpclient.manager.managed_client import Slots

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize(
    ("local", "environ", "most"),
    [
        (True, {}, 16 * (os.cpu_count() or 1)),
        (False, {}, 20),
        (True, {"MCP_SERVER_CONNECTION_BATCH_SIZE": "7"}, 7),
        (False, {"MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE": " 2 "}, 2),
    ],
)
async def test_so_many_at_once(local: bool, environ: dict[str, str], most: int) -> None:
    """F-MANY-1: slots, not waves: the next begins as soon as one is done."""
    slots, at_once, seen = Slots(environ), 0, []

    async def work() -> None:
        nonlocal at_once
        at_once += 1
        seen.append(at_once)
        await asyncio.sleep(0.2)
        at_once -= 1

    await asyncio.gather(*(slots.run(work, local=local) for _ in range(most + 9)))
    assert max(seen) == most


@pytest.mark.parametrize("size", ["0", "-1", "many", "1.5"])
def test_nonsense_in_the_environment(size: str) -> None:
    with pytest.raises(UsageError, match="BATCH_SIZE is a number of servers, 1 or more"):
        Slots({"MCP_SERVER_CONNECTION_BATCH_SIZE": size})
