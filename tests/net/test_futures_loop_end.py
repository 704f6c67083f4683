"""Hearing that a loop shuts down."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from mcpclient import Client, ConnectionLost
from mcpclient.net.futures import LoopEnd
from tests.support.clients import spawn
from tests.support.http_server import HttpServer
from tests.support.mcp_http import LegacyEndpoint
from tests.support.mcp_server import McpServer


def test_the_cleanup_comes_when_all_else_has_ended() -> None:
    """F-LIFE-5: and it may wait."""
    heard: list[str] = []
    kept: list[LoopEnd] = []

    async def cleanup() -> None:
        await asyncio.sleep(0)
        heard.append("cleanup")

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            heard.append("cancelled")

    async def main() -> asyncio.Task[None]:
        kept.append(LoopEnd(cleanup))
        task = asyncio.ensure_future(work())
        await asyncio.sleep(0)
        assert heard == []
        return task

    asyncio.run(main())
    assert heard == ["cancelled", "cleanup"]
    kept[0].forget()
    assert heard == ["cancelled", "cleanup"]


@pytest.mark.parametrize("where", ["inside", "after", "thread"])
def test_what_is_forgotten_is_not_heard(where: str) -> None:
    """F-LIFE-5: from wherever a finalizer may run."""
    heard: list[str] = []

    async def cleanup() -> None:
        heard.append("cleanup")

    async def begin() -> LoopEnd:
        end = LoopEnd(cleanup)
        if where == "inside":
            end.forget()
        return end

    loop = asyncio.new_event_loop()
    end = loop.run_until_complete(begin())
    if where == "thread":
        thread = threading.Thread(target=end.forget)
        thread.start()
        thread.join()
    if where == "after":
        loop.close()
        end.forget()
    else:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
    end.forget()
    del end
    gc.collect()
    assert heard == []


def test_a_client_ends_with_its_loop() -> None:
    """F-LIFE-5, F-STD-2: not with the program; what cancelling begins is ended, too."""
    endpoint = LegacyEndpoint(McpServer())
    clients: list[Client] = []
    calls: list[asyncio.Future[object]] = []

    async def main() -> None:
        server = await HttpServer(endpoint.routes).__aenter__()
        clients.append(Client(str(server.url()), transport="sse"))
        clients.append(spawn())
        for client in clients:
            await client.connect()
            calls.append(asyncio.ensure_future(client.call_tool("never")))
        await clients[1].ping()
        server._server.close()  # type: ignore[union-attr]

    asyncio.run(main())
    assert all(call.cancelled() for call in calls)
    for client in clients:
        assert not client.is_connected
        with pytest.raises(ConnectionLost):
            asyncio.run(client.ping())
