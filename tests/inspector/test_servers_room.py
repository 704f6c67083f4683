"""F-SHOW-10: what an inspector has in hand, and when it listens."""

from __future__ import annotations

import asyncio

import pytest

from mcpclient import Client, UsageError
from mcpclient.inspector.board import Board, PageRequest, Questions
from mcpclient.inspector.servers import ClientSource, Room
from tests.inspector.scenes import until
from tests.inspector.showcase import Showcase

pytestmark = pytest.mark.virtual_time


def room_of(client: Client, *, always: bool = False) -> Room:
    board = Board()
    return Room(ClientSource(client), Questions(board), always=always)


def client_of() -> Client:
    return Client(Showcase().transport, protocol_version="2025-11-25")


def recorder_is_on(client: Client) -> bool:
    recorder = client._connection.options.network.recorder
    return recorder is not None and recorder.is_on


async def test_nothing_is_written_down_before_a_page_looks_nor_long_after() -> None:
    """F-SHOW-10: it costs nothing until a page is open."""
    async with client_of() as client:
        room = room_of(client)
        assert not recorder_is_on(client)
        with room.being_watched():
            room.observe()
            assert recorder_is_on(client)
        await asyncio.sleep(20)
        with room.being_watched():
            assert recorder_is_on(client)
        await asyncio.sleep(29)
        assert recorder_is_on(client)
        await asyncio.sleep(2)
        assert not recorder_is_on(client)
        with room.being_watched():
            room.observe()
            assert recorder_is_on(client)
        await room.close()
        assert not recorder_is_on(client)


async def test_it_listens_for_the_last_page() -> None:
    """F-SHOW-10: that another one has gone ends nothing."""
    async with client_of() as client:
        room = room_of(client)
        with room.being_watched():
            room.observe()
            with room.being_watched():
                pass
            await asyncio.sleep(100)
            assert recorder_is_on(client)
        await room.close()


async def test_calls_end_with_the_inspector() -> None:
    """F-SHOW-10: no program waits for what nobody looks at any more."""
    async with client_of() as client:
        room = room_of(client)
        name = room.calls.start(client, PageRequest("s", "tools/call", {"name": "slow"}))
        await asyncio.sleep(0)
        await room.close()
        assert (room.calls.result(name) or {})["error"]["type"] == "Cancelled"


async def test_with_a_purpose_of_its_own_it_listens_always() -> None:
    async with client_of() as client:
        room = room_of(client, always=True)
        with room.being_watched():
            room.observe()
        await asyncio.sleep(100)
        assert recorder_is_on(client)
        await room.close()


async def test_the_board_shows_the_servers_and_forgets_those_that_are_gone() -> None:
    room = room_of(client_of())
    room.observe()
    (item,) = room.board.since(0)
    assert item.kind == "server"
    assert item.value is not None
    assert item.value["status"] == "closed"
    assert room.watch(item.name) is room.watches[item.name]
    with pytest.raises(UsageError):
        room.watch(None)
    source = room.source
    assert isinstance(source, ClientSource)
    (client,) = source._clients.values()
    assert recorder_is_on(client)
    source._clients.clear()
    room.observe()
    assert not recorder_is_on(client)
    assert room.board.since(0)[-1].value is None
    assert room.watches == {}


async def test_connecting_is_seen_on_the_board() -> None:
    client = client_of()
    room = room_of(client)
    room.connect(client.target)
    await until(lambda: client.is_connected)
    room.observe()
    assert [item.value["status"] for item in room.board.since(0) if item.value] == ["connected"]
    room.connect("nobody")
    await asyncio.sleep(1)
    assert any(item.kind == "notice" for item in room.board.since(0))
    room.connect(client.target)
    await room.close()
    await client.close()
