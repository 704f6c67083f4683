"""The client as a program uses it: from many tasks, loops and threads, and in any order."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable
from typing import Any

import pytest

import mcpclient
from mcpclient.client import client as client_module
from mcpclient.client.client import Client
from mcpclient.errors import ConnectionLost
from tests.support.clients import client_of, spawn
from tests.support.mcp_server import McpServer

pytestmark = pytest.mark.virtual_time


async def echo(client: Client, text: str = "x") -> str:
    return (await client.call_tool("echo", {"text": text})).text


async def test_in_the_stateless_era_every_request_carries_the_log_level() -> None:
    """F-API-6, F-LIFE-7: also over another connection, or the log would end without a word."""
    server = McpServer("stateless")
    async with client_of(server) as client:
        await client.set_log_level("warning")
        await echo(client)
        await client.close()
        await client.connect()
        await echo(client)
    assert server.messages("logging/setLevel") == []
    for call_message in server.messages("tools/call"):
        meta = call_message["params"]["_meta"]
        assert meta["io.modelcontextprotocol/logLevel"] == "warning"


@pytest.mark.real_time
async def test_one_task_connects_and_another_closes() -> None:
    """F-LIFE-5: opened in one task, closed in another."""
    client = spawn()
    await asyncio.ensure_future(client.connect())
    assert await asyncio.ensure_future(echo(client)) == "x"
    await asyncio.ensure_future(client.close())
    await client.close()


class LoopThread:
    """An event loop that runs in a thread of its own."""

    def __enter__(self) -> LoopThread:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()
        return self

    def run(self, work: Awaitable[Any]) -> Any:
        async def main() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(main(), self.loop).result(30)

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


def test_calls_from_other_threads_and_loops() -> None:
    """F-LIFE-5: eight threads with loops of their own; another still closes it."""
    with LoopThread() as home:
        client: Client = home.run(spawn().connect())
        texts: list[str] = []

        def work(number: int) -> None:
            async def main() -> None:
                for _ in range(5):
                    texts.append(await echo(client, str(number)))

            asyncio.run(main())

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(texts) == sorted(str(number) for number in range(8) for _ in range(5))
        asyncio.run(client.close())
        assert not client.is_connected


def test_the_loop_may_end_before_the_client_is_closed() -> None:
    """F-LIFE-5: nothing is left, and nothing raises."""
    client = spawn()
    asyncio.run(client.connect())
    assert not client.is_connected
    with pytest.raises(ConnectionLost, match="event loop"):
        asyncio.run(client.ping())
    asyncio.run(client.close())
    asyncio.run(client.close())


def test_a_client_can_connect_again_in_another_loop() -> None:
    """F-LIFE-5: also when the first loop ended without a close."""
    client = spawn()

    async def use() -> None:
        await client.connect()
        assert await echo(client) == "x"

    asyncio.run(use())
    asyncio.run(use())

    async def use_and_close() -> None:
        await use()
        await client.close()

    asyncio.run(use_and_close())
    asyncio.run(use_and_close())


def test_a_loop_that_stands_still_is_not_waited_for() -> None:
    """F-LIFE-5"""
    loop = asyncio.new_event_loop()
    client = loop.run_until_complete(spawn().connect())
    asyncio.run(client.close())
    assert not client.is_connected
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


def test_a_client_whose_loop_is_closed_is_not_connected() -> None:
    """F-LIFE-5, F-API-20: though nothing told it of the end."""
    loop = asyncio.new_event_loop()
    client = loop.run_until_complete(spawn().connect())
    assert client.is_connected
    loop.close()
    assert not client.is_connected
    asyncio.run(client.close())


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize("state", ["closed", "standing", "running"])
def test_a_client_that_is_dropped_leaves_nothing(state: str) -> None:
    """F-LIFE-5: the guard of the test suite looks for leftovers."""
    loop = asyncio.new_event_loop()
    client: Client | None = loop.run_until_complete(spawn().connect())
    assert client is not None
    if state == "closed":
        loop.close()

    async def drop() -> None:
        nonlocal client
        client = None
        gc.collect()
        await asyncio.sleep(0.01)

    if state == "running":
        loop.run_until_complete(drop())
    client = None
    gc.collect()
    if state != "closed":
        loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()


@pytest.mark.real_time
async def test_a_client_whose_server_died_leaves_nothing_when_it_is_dropped() -> None:
    """F-LIFE-5: what was lost was never closed."""
    client = await spawn()
    with pytest.raises(ConnectionLost):
        await client.call_tool("mute")  # the process lives on without its output
    assert not client.is_connected
    gc.collect()


@pytest.mark.real_time
async def test_closing_twice_at_once() -> None:
    """F-LIFE-6"""
    client = await spawn()
    await asyncio.gather(*(client.close() for _ in range(5)))
    assert not client.is_connected


def test_help_of_a_client_has_its_options() -> None:
    """F-API-26"""
    assert "max_message_size" in (mcpclient.Client.__doc__ or "")
    assert client_module._Documented(None).__get__(None) is None  # python -OO


SERVER = "mcpclient/testing/demo_server.py"


def test_a_provider_that_there_is_not_is_said() -> None:
    """F-TOOL-7"""
    with pytest.raises(mcpclient.UsageError, match="anthropic"):
        mcpclient.connect(SERVER).toolbox("antropic")
