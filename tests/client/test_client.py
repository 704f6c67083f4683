"""The client as a program uses it: from many tasks, loops and threads, and in any order."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Mapping
from typing import Any

import pytest

import mcpclient
from mcpclient.adapters.toolbox import Toolbox
from mcpclient.client import client as client_module
from mcpclient.client.client import Client, call, list_tools
from mcpclient.errors import (
    CallTimeout,
    ClientClosed,
    ConnectionLost,
    McpError,
    PeerError,
    ProtocolViolation,
    ToolError,
    UsageError,
)
from mcpclient.transports.inprocess import InProcessTransport
from tests.support.clients import STDIO, client_of, now, spawn
from tests.support.http_server import HttpServer
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import Json, McpServer, Send
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time


async def echo(client: Client, text: str = "x") -> str:
    return (await client.call_tool("echo", {"text": text})).text


# What is known of the server


async def test_a_client_knows_its_server() -> None:
    """F-API-20"""
    async with client_of() as client:
        assert client.is_connected
        assert client.server_info.name == "test-server"
        assert client.capabilities == {"tools": {}, "logging": {}}
        assert client.instructions == "Be gentle."
        assert client.protocol_version == "2025-11-25"
        assert client.transport_name == "in-process"
        assert "connected" in repr(client)


def test_a_client_that_was_never_connected_knows_nothing() -> None:
    """F-API-20"""
    client = client_of()
    assert not client.is_connected
    assert client.server_info.name == ""
    assert client.capabilities == {}
    assert client.instructions is None
    assert client.protocol_version is None
    assert "not connected" in repr(client)
    with pytest.raises(ClientClosed):
        run(client.ping())
    run(client.close())


async def test_it_is_what_connect_is() -> None:
    """F-API-1"""
    assert mcpclient.connect is Client
    client = await mcpclient.connect(InProcessTransport(McpServer().serve))
    assert await echo(client) == "x"
    await client.close()
    assert not client.is_connected


async def test_extensions_are_those_the_server_declared() -> None:
    """F-API-16"""
    server = McpServer()
    capabilities = {"extensions": {"vendor/x": {"a": 1}}}
    result = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": {}}
    server.answers["initialize"] = result
    async with client_of(server) as client:
        assert client.extensions == {"vendor/x": {"a": 1}}


async def test_capabilities_are_a_copy() -> None:
    """F-API-20"""
    async with client_of() as client:
        client.capabilities.clear()
        assert client.capabilities


def test_options_that_make_no_sense_are_refused_before_anything_runs() -> None:
    """F-API-1"""
    with pytest.raises(UsageError):
        Client(STDIO, timeout=-1)
    with pytest.raises(UsageError):
        Client(STDIO, transport="http")
    gc.collect()  # what is left of the attempts has nothing to clean up


# Calls


@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_the_server_is_asked_whether_it_lives(era: str) -> None:
    """F-API-20"""
    server = McpServer(era)
    async with client_of(server) as client:
        await client.ping(timeout=5)
    expected = "ping" if era == "handshake" else "server/discover"
    assert server.received_methods()[-1] == expected


async def test_the_log_level_is_that_of_the_session() -> None:
    """F-API-6"""
    server = McpServer()
    async with client_of(server) as client:
        await client.set_log_level("warning")
    assert server.messages("logging/setLevel")[0]["params"] == {"level": "warning"}


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


async def test_all_pages_are_listed_and_a_repeated_cursor_is_an_error() -> None:
    """F-API-9: pages, complete and finite."""
    async with client_of(McpServer(pages=5)) as client:
        assert len(await client.list_tools()) == 5
    server = McpServer()
    server.answers["tools/list"] = {"tools": [], "nextCursor": "again"}
    async with client_of(server) as client:
        with pytest.raises(ProtocolViolation, match="cursor"):
            await client.list_tools()
        assert await echo(client) == "x"
    assert len(server.messages("tools/list")) == 2


async def test_a_call_that_times_out_is_cancelled_and_its_late_answer_ignored() -> None:
    """F-API-7, F-API-8: the server is told of cancelled calls."""
    server = McpServer()
    async with client_of(server) as client:
        with pytest.raises(CallTimeout):
            await client.call_tool("hold", {"text": "late"}, timeout=3)
        assert now() == 3
        assert (await client.call_tool("release")).text == "released"
        assert await echo(client) == "x"
    (call_message, _, _) = server.messages("tools/call")
    (cancelled,) = server.messages("notifications/cancelled")
    assert cancelled["params"]["requestId"] == call_message["id"]


async def test_a_handler_may_call_the_same_client() -> None:
    """F-API-10: without holding up anybody."""

    async def roots() -> list[str]:
        await asyncio.sleep(5)
        return ["file:///" + await echo(clients[0], "nested")]

    clients: list[Client] = []
    async with client_of(roots=roots) as client:
        clients.append(client)
        asking = asyncio.ensure_future(client.call_tool("ask", {"method": "roots/list"}))
        await asyncio.sleep(1)
        assert await echo(client, "meanwhile") == "meanwhile"
        assert now() == 1
        assert "nested" in (await asking).text


async def test_a_callback_may_call_the_same_client() -> None:
    """F-API-20: a handler may call the client."""
    heard: list[str] = []
    clients: list[Client] = []

    async def on_notification(method: str, params: Mapping[str, Any]) -> None:
        heard.append(await echo(clients[0], method))

    async with client_of(on_notification=on_notification) as client:
        clients.append(client)
        messages = [{"method": "vendor/one"}, {"method": "vendor/two"}]
        await client.call_tool("notify", {"messages": messages})
        await asyncio.sleep(1)
    assert heard == ["vendor/one", "vendor/two"]


async def test_unknown_things_are_kept() -> None:
    """F-WIRE-8: unknown things are kept."""

    class Odd(McpServer):
        def receive(self, message: Json, send: Send) -> None:
            super().receive(message, lambda answer: send({**answer, "vendor": True}))

    server = Odd()
    content = [{"type": "vendor/hologram", "data": [1]}, {"type": "text", "text": "x", "y": 2}]
    result = {"content": content, "vendorField": {"z": 3}, "_meta": {"k": 1}}
    server.answers["tools/call"] = result
    async with client_of(server) as client:
        called = await client.call_tool("x")
        assert called.raw == result
        assert called.text == "x"
        assert called.content[0].raw == content[0]


async def test_headers_of_single_calls_never_mix() -> None:
    """F-HTTP-1: headers chosen per request."""
    service = StreamableEndpoint(McpServer())
    async with HttpServer(service.routes) as server, Client(str(server.url())) as client:
        await asyncio.gather(
            *(
                client.call_tool("echo", {"text": str(n)}, headers={"Authorization": f"B {n}"})
                for n in range(50)
            )
        )
        for request in server.requests:
            if request.body and request.message["method"] == "tools/call":
                text = request.message["params"]["arguments"]["text"]
                assert request.headers["authorization"] == f"B {text}"


# One-shot helpers


async def test_one_call_and_one_list_without_ceremony() -> None:
    """F-API-21"""
    assert (await call(InProcessTransport(McpServer().serve), "echo", {"text": "x"})).text == "x"
    with pytest.raises(ToolError):
        await call(InProcessTransport(McpServer().serve), "fail", raise_on_error=True)
    assert [tool.name for tool in await list_tools(InProcessTransport(McpServer().serve))] == [
        "echo"
    ]


# Tasks, loops and threads


@pytest.mark.real_time
async def test_one_task_connects_and_another_closes() -> None:
    """F-LIFE-5: opened in one task, closed in another."""
    client = spawn()
    await asyncio.ensure_future(client.connect())
    assert await asyncio.ensure_future(echo(client)) == "x"
    await asyncio.ensure_future(client.close())
    await client.close()


async def test_clients_close_in_any_order() -> None:
    """F-LIFE-5: opened in one task, closed in another."""
    clients = [await client_of() for _ in range(5)]
    for index in (2, 0, 4, 1, 3):
        await clients[index].close()
    assert not any(client.is_connected for client in clients)


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


def test_errors_cross_loops_unchanged() -> None:
    """F-LIFE-5: Pain 9"""
    with LoopThread() as home:
        client: Client = home.run(client_of().connect())
        with pytest.raises(PeerError):
            asyncio.run(client.call_tool("unknown"))
        asyncio.run(client.notify("vendor/x"))
        home.run(client.close())


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


def test_an_http_client_can_outlive_its_loop_as_well() -> None:
    """F-LIFE-5: its sockets are closed without it."""
    service = StreamableEndpoint(McpServer(), json=False, session="s", listens=True)
    with LoopThread() as home:
        server = HttpServer(service.routes)
        home.run(server.__aenter__())
        client = Client(str(server.url()))
        for _ in range(2):
            asyncio.run(client.connect())
        asyncio.run(client.close())
        assert not client.is_connected
        home.run(server.__aexit__(None, None, None))


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


@pytest.mark.parametrize("state", ["closed", "standing", "running"])
def test_a_client_that_is_dropped_leaves_nothing(state: str) -> None:
    """F-LIFE-5: the guard of the test suite looks for what is left."""
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


async def test_an_exception_in_the_block_closes_the_client() -> None:
    """F-LIFE-5"""
    closed: list[McpError | None] = []
    with pytest.raises(LookupError):
        async with client_of(on_close=closed.append):
            raise LookupError("mine")
    assert closed == [None]


async def test_a_client_used_up_in_its_own_callback() -> None:
    """F-LIFE-5: closing from within a callback does not wait for itself."""
    clients: list[Client] = []

    async def on_notification(method: str, params: Mapping[str, Any]) -> None:
        await clients[0].close()

    clients.append(await client_of(on_notification=on_notification, timeout=5))
    calling = asyncio.ensure_future(clients[0].call_tool("never"))
    message = {"method": "vendor/go"}
    assert (await clients[0].call_tool("notify", {"messages": [message]})).text == "notified"
    with pytest.raises(ClientClosed):
        await calling
    assert now() <= 1


def test_help_of_a_client_has_its_options() -> None:
    """F-API-26"""
    assert "max_message_size" in (mcpclient.Client.__doc__ or "")
    assert client_module._Documented(None).__get__(None) is None  # python -OO


# The way from a client to the tools of a model

SERVER = "mcpclient/testing/demo_server.py"


def test_a_client_has_a_toolbox_for_each_provider() -> None:
    """F-TOOL-7"""
    assert isinstance(mcpclient.connect(SERVER).toolbox("anthropic"), Toolbox)


def test_a_provider_that_there_is_not_is_said() -> None:
    """F-TOOL-7"""
    with pytest.raises(mcpclient.UsageError, match="anthropic"):
        mcpclient.connect(SERVER).toolbox("antropic")
