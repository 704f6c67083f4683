"""One client and several event loops, threads and processes: where it lives, and until when."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import pytest

from mcpclient import Client, ClientClosed, ConnectionLost, UsageError
from mcpclient.client.requests import connection_of
from mcpclient.errors import LossKind
from mcpclient.net import futures
from mcpclient.net.futures import run_in
from mcpclient.transports.inprocess import InProcessTransport, ServerEnd
from tests.net.process_helpers import until
from tests.support.clients import spawn
from tests.support.http_server import HttpServer
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer

# Seconds that nothing here takes; what waits so long waits for ever.
PATIENCE = 20.0


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(futures, "LOOK_EVERY", 0.02)


def inside(server: McpServer) -> Client:
    """A client of a server in the same loop."""

    async def serve(end: ServerEnd) -> None:
        async for message in end:
            server.receive(message, end.send)

    return Client(InProcessTransport(serve), protocol_version="2025-11-25")


class Home:
    """An event loop in a thread of its own; ``main`` is what runs there, until it is let go."""

    leaving: asyncio.Event

    def __init__(self, main: Callable[[Home], Awaitable[None]], *, close: bool = True) -> None:
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        self._main = main
        self._close = close
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        assert self.ready.wait(PATIENCE)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_until_complete(self._main(self))
            if self._close:  # as asyncio.run does
                tasks = asyncio.all_tasks(self.loop)
                for task in tasks:
                    task.cancel()
                self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        finally:
            self.ready.set()
            if self._close:
                self.loop.close()

    def run(self, work: Awaitable[Any]) -> Any:
        async def main() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(main(), self.loop).result(PATIENCE)

    def leave(self) -> None:
        """Let ``main`` return, and wait for the end of the thread."""
        self.loop.call_soon_threadsafe(self.leaving.set)
        self.thread.join(PATIENCE)


async def stay(home: Home) -> None:
    home.leaving = asyncio.Event()  # It belongs to the running loop before Python 3.10.
    home.ready.set()
    await home.leaving.wait()


@contextmanager
def home_loop() -> Iterator[Home]:
    home = Home(stay)
    try:
        yield home
    finally:
        home.leave()


async def calls_in_flight(server: McpServer, count: int) -> None:
    await until(lambda: len(server.messages("tools/call")) == count, "the calls have arrived")


async def cancellation(server: McpServer) -> None:
    await until(lambda: bool(server.messages("notifications/cancelled")), "the server is told")


@pytest.mark.quick_rows(2)
@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13])
async def test_closing_while_several_connect_ends_all_of_them(turns: int) -> None:
    """F-LIFE-5: none goes on where the first was stopped; what comes later may connect."""
    client = spawn()
    connecting = [asyncio.ensure_future(client.connect()) for _ in range(3)]
    for _ in range(turns):
        await asyncio.sleep(0)
    await asyncio.gather(client.close(), client.close())
    errors = await asyncio.gather(*connecting, return_exceptions=True)
    assert turns == 0 or [type(error) for error in errors] == [ClientClosed] * 3
    await client.close()
    assert not client.is_connected
    async with client:
        await client.ping()


def test_a_loop_that_ends_cancels_its_call_elsewhere() -> None:
    """F-API-18: Pain 9: as `asyncio.run` does with what its main coroutine left running."""
    server = McpServer()
    with home_loop() as home:
        client = home.run(inside(server).connect())

        async def begin() -> None:
            begin.task = asyncio.ensure_future(client.call_tool("never"))  # type: ignore[attr-defined]
            await calls_in_flight(server, 1)

        asyncio.run(begin())

        home.run(cancellation(server))
        home.run(client.close())


def test_what_cannot_begin_elsewhere_leaves_nothing() -> None:
    """F-API-18: the loop closes between the look and the deed, or stops before it begins."""
    begun: list[bool] = []

    async def work() -> None:
        begun.append(True)

    class Pretending:
        def __init__(self, loop: asyncio.AbstractEventLoop, answers: int) -> None:
            self.loop, self.answers = loop, answers

        def is_running(self) -> bool:
            self.answers -= 1
            return self.answers >= 0

        def __getattr__(self, name: str) -> Any:
            return getattr(self.loop, name)

    for state in ("closed", "standing"):
        loop = asyncio.new_event_loop()
        if state == "closed":
            loop.close()
        with pytest.raises(ConnectionLost) as caught:
            asyncio.run(run_in(Pretending(loop, 3), work))  # type: ignore[arg-type]
        assert caught.value.kind is LossKind.LOOP_ENDED
        loop.close()
    assert not begun
    gc.collect()


def test_connecting_again_from_elsewhere_happens_at_home() -> None:
    """F-LIFE-5: after a loss, the loop that has the client keeps it."""
    with home_loop() as home:
        client = home.run(spawn().connect())
        with pytest.raises(ConnectionLost):
            asyncio.run(client.call_tool("die", {"code": 1}))
        asyncio.run(client.connect())
        assert connection_of(client).loop is home.loop
        asyncio.run(client.ping())
        asyncio.run(client.close())


def test_a_client_is_taken_over_from_a_loop_that_has_stopped() -> None:
    """F-LIFE-5: a loop that stands still, and is not closed, is useless."""
    loop = asyncio.new_event_loop()
    client = loop.run_until_complete(spawn().connect())

    async def use() -> None:
        async with client:
            await client.ping()

    asyncio.run(use())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


@asynccontextmanager
async def one_of_each() -> AsyncIterator[list[Client]]:
    """A client with a server process, and one with a server over HTTP."""
    routes = StreamableEndpoint(McpServer(), session="s", listens=True).routes
    async with HttpServer(routes) as server:
        over_http = Client(str(server.url()), protocol_version="2025-11-25")
        async with spawn() as process, over_http:
            yield [process, over_http]


def in_a_fork(work: Callable[[], None]) -> int:
    """Return the exit code of a copy of this program that does ``work``."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


@pytest.mark.needs_posix
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_cannot_use_the_client_nor_disturb_it() -> None:
    """F-STD-2: closing it there, or dropping it, is nothing to the parent."""

    def misuse(clients: list[Client]) -> None:
        for client in clients:
            for use in (client.connect, client.ping, partial(client.notify, "x")):
                with pytest.raises(UsageError, match="forked"):
                    asyncio.run(use())
            asyncio.run(client.close())
        clients.clear()
        gc.collect()

    loop = asyncio.new_event_loop()
    context = one_of_each()
    clients = loop.run_until_complete(context.__aenter__())
    assert in_a_fork(lambda: misuse(list(clients))) == 0  # while the loop stands still

    async def use() -> None:
        assert in_a_fork(lambda: misuse(clients[:])) == 0  # while it runs
        for client in clients:
            assert (await client.call_tool("echo", {"text": "still"})).text == "still"

    loop.run_until_complete(use())
    loop.run_until_complete(context.__aexit__(None, None, None))
    loop.close()
