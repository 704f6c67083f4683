"""One HTTP/1.1 connection: what arrives on it, in time and too late, and how it ends."""

from __future__ import annotations

import asyncio
import math
import select
import socket
from typing import Any, Callable

import pytest

from mcpclient.errors import ConnectionLost, McpError, ProtocolViolation
from mcpclient.net.dialing import Dialer
from mcpclient.net.exchange import Exchange, HttpRequest
from tests.net.http_fetch import Recorder, compressed, fetch, hello, serving
from tests.support.http_server import HttpServer, answer_with, in_turn

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize("way", ["poll", "select"])
async def test_a_goodbye_still_unread_is_noticed_before_the_connection_is_used(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-WIRE-5: the loop has had no turn to read the end, but the socket knows."""
    if way == "select":  # as on Windows
        monkeypatch.delattr(select, "poll", raising=False)
    async with serving(hello) as (server, client):
        await fetch(client, server.url())
        for writer in server.writers.values():
            writer.get_extra_info("socket").shutdown(socket.SHUT_WR)
        sink = await fetch(client, server.url(), "POST", b"", repeatable=False)
        assert sink.body == b"hello"
        assert server.connections == 2


async def test_a_timer_that_runs_a_little_early_closes_an_idle_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-WIRE-5: it is not set again for the same time, for as long as the clock stands still."""
    loop = asyncio.get_running_loop()
    clock, asked, late = loop.time, 0, 0.0

    def late_clock() -> float:
        nonlocal asked
        asked += 1
        return math.inf if asked > 1000 else clock() - late

    async with serving(hello) as (server, client):
        with monkeypatch.context() as patch:
            patch.setattr(loop, "time", late_clock)
            await fetch(client, server.url())  # its connection keeps this clock
        asked, late = 0, 1e-10
        await asyncio.sleep(60)
        assert server.open_connections == 0
        assert asked < 10


BOMB = bytes(2**22)  # 64 pieces
SQUEEZED = compressed(BOMB, "gzip")
BOMBING = answer_with(200, {"Content-Encoding": "gzip"}, SQUEEZED)


async def test_a_bomb_is_decoded_a_little_in_each_turn_of_the_loop() -> None:
    """F-WIRE-5: few bytes that become many hold up nothing else, and their connection is kept."""
    turns: list[int] = []

    async def count(sink: Recorder) -> None:
        while not sink.over.done():
            turns.append(sink.pieces)
            await asyncio.sleep(0)

    async with serving(in_turn(BOMBING, hello)) as (server, client):
        sink = Recorder()
        Exchange(client, HttpRequest("GET", server.url(), ()), sink)
        await count(sink)
        assert (sink.body, sink.error) == (BOMB, None)
        assert (await fetch(client, server.url())).body == b"hello"
        assert [request.connection for request in server.requests] == [1, 1]
    assert max(after - before for before, after in zip(turns, turns[1:])) <= 4


async def eight_pieces(sink: Recorder) -> None:
    """Wait until the decoding has got so far."""
    there = asyncio.Event()
    sink.on_body = lambda: there.set() if sink.pieces == 8 else None
    await there.wait()


async def test_a_body_may_be_given_up_while_it_is_decoded() -> None:
    """F-WIRE-5, F-API-8: between two turns, too."""
    async with serving(answer_with(200, {"Content-Encoding": "gzip"}, SQUEEZED)) as (
        server,
        client,
    ):
        sink = Recorder()
        exchange = Exchange(client, HttpRequest("GET", server.url(), ()), sink)
        await eight_pieces(sink)
        exchange.abort()
        await asyncio.sleep(1)
        assert sink.pieces == 8
        assert server.open_connections == 0


def greet(server: HttpServer) -> None:
    for writer in server.writers.values():
        writer.write(b"220 mail.example ESMTP\r\n")


@pytest.mark.parametrize(
    ("meanwhile", "kind"),
    [(HttpServer.drop_connections, ConnectionLost), (greet, ProtocolViolation)],
    ids=["gone", "speaks first"],
)
async def test_what_comes_before_the_request_fails_it(
    meanwhile: Callable[[HttpServer], None], kind: type[McpError]
) -> None:
    """F-LIFE-7, F-WIRE-5: a dialer may need more turns after connecting; others speak first."""

    class SlowDialer(Dialer):
        async def dial(self, *arguments: Any) -> Any:
            connection = await super().dial(*arguments)
            meanwhile(server)
            await asyncio.sleep(1)
            return connection

    async with serving(hello, SlowDialer()) as (server, client):
        assert isinstance((await fetch(client, server.url())).error, kind)


async def test_a_held_connection_delivers_nothing_until_it_is_released() -> None:
    """F-BRIDGE-1: its server waits as long."""
    async with serving(in_turn(hello)) as (server, client):
        assert (await fetch(client, server.url())).body == b"hello"
        client.hold(is_held=True)
        sink = Recorder()
        Exchange(client, HttpRequest("GET", server.url(), ()), sink)
        await asyncio.sleep(5)
        assert not sink.over.done()
        client.hold(is_held=False)
        await sink.over
        assert (sink.body, sink.error) == (b"hello", None)
