"""F-SHOW-10: the servers of a client, of a manager and of recordings, and the watch over each."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient import Client, ConnectFailed, Manager, Recording, UsageError
from mcpclient.client.requests import connection_of
from mcpclient.inspector.board import Board, PageRequest, Questions
from mcpclient.inspector.journal import Row
from mcpclient.inspector.report import report
from mcpclient.inspector.servers import (
    ClientSource,
    ManagerSource,
    Room,
    ServerState,
    Source,
    Watch,
)
from mcpclient.transports.inprocess import InProcessTransport
from tests.inspector.recorded import recording
from tests.inspector.scenes import until
from tests.inspector.showcase import Showcase
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time


def client_of(showcase: Showcase | None = None) -> Client:
    return Client((showcase or Showcase()).transport, protocol_version="2025-11-25")


class Failing(InProcessTransport):
    """Cannot be opened."""

    def __init__(self, error: Exception) -> None:
        super().__init__(_nothing)
        self.error: Exception | None = error

    async def open(self, receiver: Any) -> None:
        if self.error is not None:
            raise self.error
        await super().open(receiver)


async def _nothing(end: Any) -> None:
    pass


def test_a_server_that_there_is_not() -> None:
    source = ClientSource(client_of())
    for work in (source.connect("x"), source.disconnect("x")):
        with pytest.raises(UsageError, match="no server 'x'"):
            run(work)


async def test_the_servers_of_a_manager() -> None:
    targets = {"good": Showcase().transport, "bad": Failing(ConnectFailed("bad", "refused"))}
    async with Manager(targets, protocol_version="2025-11-25") as manager:
        source = ManagerSource(manager)
        states = source.states()
        assert [states[name].status for name in ("good", "bad")] == ["connected", "failed"]
        assert isinstance(states["bad"].error, ConnectFailed)
        assert states["good"].client is manager["good"]
        await source.connect("bad")
        assert source.states()["bad"].status == "failed"
        with pytest.raises(UsageError):
            await source.connect("other")
        await source.disconnect("good")
        assert source.states()["good"].status == "closed"
        await source.add("more", Showcase().transport)
        assert source.states()["more"].status == "connected"
        await source.close()
        assert manager["more"].is_connected


async def test_a_server_of_a_manager_that_is_switched_off(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"off": {"command": "x", "disabled": true}}}')

    async with Manager(path) as manager:
        state = ManagerSource(manager).states()["off"]
        assert (state.status, state.client) == ("disabled", None)


def test_recordings_are_named_by_their_files(tmp_path: Path) -> None:
    header = '{"transcript": 1, "transport": "stdio", "target": "x"}\n'
    paths = [tmp_path / "s.jsonl", tmp_path / "again" / "s.jsonl"]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(header)
    source = Source([Recording(path) for path in paths])
    assert list(source.states()) == ["s.jsonl", "s.jsonl (2)"]
    assert {state.status for state in source.states().values()} == {"recorded"}
    for work in (source.connect("s.jsonl"), source.disconnect("s.jsonl"), source.add("a", "b")):
        with pytest.raises(UsageError):
            run(work)
    run(source.close())


async def test_a_connection_that_is_lost_is_a_state_with_its_reason() -> None:
    """F-SHOW-14: the server has ended by itself."""
    showcase = Showcase()
    client = client_of(showcase)
    source = ClientSource(client)
    (name,) = source.states()
    await source.connect(name)
    error = mcpclient.ConnectionLost("gone")
    connection_of(client).session.connection_lost(error)
    state = source.states()[name]
    assert (state.status, str(state.error)) == ("lost", "gone")
    await source.connect(name)
    assert source.states()[name].status == "connected"
    await source.disconnect(name)


async def test_a_client_is_heard_from_the_moment_it_is_followed() -> None:
    watch = Watch()
    with pytest.raises(UsageError, match="no connection"):
        watch.client  # noqa: B018
    async with client_of() as client:
        state = ServerState("connected", client, since=5.0)
        watch.follow(state)
        watch.follow(state)
        assert watch.client is client
        heard = watch.journal.next
        await client.ping()
        assert watch.journal.next == heard + 2
        watch.stop()
        watch.stop()
        await client.ping()
        assert watch.journal.next == heard + 2
        watch.follow(state)
        await client.ping()
        assert watch.journal.next > heard + 4
        assert "ping" in [call["method"] for call in watch.calls()]
        told = watch.described()
        assert (told["status"], told["error"], told["since"]) == ("connected", None, 5.0)


async def test_a_recording_is_shown_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    showcase = Showcase()
    client = Client(showcase.transport, protocol_version="2025-11-25", trace=path)
    async with client:
        await client.list_tools()
    watch = Watch()
    state = ServerState("recorded", recording=Recording(path))
    watch.follow(state)
    watch.follow(state)
    assert watch.journal.next == len(path.read_text().splitlines())
    assert watch.described()["server"]["name"] == "showcase"
    lists = await watch.lists(fresh=True)
    assert lists == await watch.lists(fresh=True)
    assert len(lists["tools"]) == 16
    assert [call["method"] for call in watch.calls()] == ["initialize", "tools/list"]


async def test_a_saved_page_shows_the_faults_of_the_live_one(tmp_path: Path) -> None:
    """F-SHOW-24, F-SHOW-26: also those in the schemas of tools, which are looked at later."""
    tool = {"name": "a", "inputSchema": {"type": "object", "properties": {"a": {"type": 7}}}}
    source = Source([recording(tmp_path / "s.jsonl", ("tools/list", {}, {"tools": [tool]}))])
    document = await report(Room(source, Questions(Board())))
    _, _, rest = document.partition('id="saved">')
    (saved,) = json.loads(rest[: rest.index("</script>")])["servers"].values()
    (fault,) = Row(*saved["rows"][-1]).faults
    assert fault[0] == "tool-schema"
    assert saved["wire"]["counts"]["fault"] == 1


def room_of(client: Client, *, always: bool = False) -> Room:
    board = Board()
    return Room(ClientSource(client), Questions(board), always=always)


def recorder_is_on(client: Client) -> bool:
    recorder = connection_of(client).options.network.recorder
    return recorder is not None and recorder.is_on


async def test_calls_end_with_the_inspector() -> None:
    """F-SHOW-10: no program waits for a page that is gone."""
    async with client_of() as client:
        room = room_of(client)
        name = room.calls.start(client, PageRequest("s", "tools/call", {"name": "slow"}))
        await asyncio.sleep(0)
        await room.close()
        assert (room.calls.result(name) or {})["error"]["type"] == "Cancelled"


async def test_the_board_shows_the_servers_and_forgets_those_that_are_gone() -> None:
    client = client_of()
    room = room_of(client)
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
