"""F-SHOW-10: the servers of a client, of a manager and of recordings, and the watch over each."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient import AuthorizationRequired, Client, ConnectFailed, Manager, Recording, UsageError
from mcpclient.client.requests import connection_of
from mcpclient.inspector.board import Board, PageRequest, Questions
from mcpclient.inspector.servers import (
    ClientSource,
    ManagerSource,
    Room,
    ServerState,
    Source,
    Watch,
)
from mcpclient.transports.inprocess import InProcessTransport
from tests.inspector.scenes import until
from tests.inspector.showcase import Showcase
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time


# Sources


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


async def test_a_clients_way() -> None:
    client = client_of()
    source = ClientSource(client)
    (name,) = source.states()
    assert name == client.target
    assert source.states()[name].status == "closed"
    connecting = asyncio.ensure_future(source.connect(name))
    await asyncio.sleep(0)
    assert source.states()[name].status == "connecting"
    await connecting
    assert source.states()[name].status == "connected"
    await source.close()  # the program's client stays
    assert client.is_connected
    await source.disconnect(name)
    assert source.states()[name].status == "closed"


@pytest.mark.parametrize(
    ("error", "status"),
    [(ConnectFailed("x", "refused"), "failed"), (AuthorizationRequired("https://x"), "needs_auth")],
)
async def test_why_a_client_is_not_connected(error: Exception, status: str) -> None:
    source = ClientSource(Client(Failing(error)))
    (name,) = source.states()
    await source.connect(name)
    state = source.states()[name]
    assert state.status == status
    assert type(state.error) is type(error)


class Slow(mcpclient.MemoryStore):
    """Takes a second for a record."""

    async def load(self, key: str) -> Any:
        await asyncio.sleep(1)
        return await super().load(key)


@pytest.mark.parametrize("seconds", [0.5, 1.5])
async def test_disconnecting_while_it_is_connected(seconds: float) -> None:
    """F-SHOW-10: while it is looked whether somebody has to log in, and later: no failure."""

    async def stall(request: Request, answer: Answer) -> None:
        await answer.stall()

    async with HttpServer({"POST /mcp": stall}) as server:
        auth = mcpclient.OAuth(provider=mcpclient.TwoStepLogin(Slow()))
        source = ClientSource(Client(str(server.url()), auth=auth))
        (name,) = source.states()
        connecting = asyncio.ensure_future(source.connect(name))
        await asyncio.sleep(seconds)
        await source.disconnect(name)
        await connecting
        assert asyncio.get_running_loop().time() < 5
        assert (source.states()[name].status, source.states()[name].error) == ("closed", None)
        assert not server.requests


async def test_servers_are_added_and_closed_with_it() -> None:
    made: list[Client] = []

    def make(name: str, target: Any) -> Client:
        made.append(client_of())
        return made[-1]

    source = ClientSource(make("first", "anything"), make)
    await source.add("second", "anything")
    assert source.states()["second"].status == "connected"
    for name in ("", "second"):
        with pytest.raises(UsageError):
            await source.add(name, "anything")
    await source.close()
    assert not any(client.is_connected for client in made)


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
    source = ClientSource(client_of(showcase))
    (name,) = source.states()
    await source.connect(name)
    error = mcpclient.ConnectionLost("gone")
    connection_of(source._clients[name]).session.connection_lost(error)
    state = source.states()[name]
    assert (state.status, str(state.error)) == ("lost", "gone")
    await source.connect(name)
    assert source.states()[name].status == "connected"
    await source.disconnect(name)


# A watch over one server


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


async def test_another_client_of_the_same_server_is_followed_instead() -> None:
    watch, clients = Watch(), [client_of(), client_of()]
    for client in clients:
        watch.follow(ServerState("closed", client))
    await clients[0].connect()
    assert watch.journal.next == 0
    await clients[1].connect()
    assert watch.journal.next > 0
    for client in clients:
        await client.close()


async def test_lists_are_asked_for_when_they_are_new() -> None:
    showcase, watch = Showcase(), Watch()
    async with client_of(showcase) as client:
        watch.follow(ServerState("connected", client))

        def asked() -> int:
            return sum(message.get("method") == "tools/list" for message in showcase.received)

        first = await watch.lists(fresh=False)
        assert await watch.lists(fresh=False) is first
        assert asked() == 1
        await watch.lists(fresh=True)
        assert asked() == 2
        showcase.notify("notifications/tools/list_changed")
        await client.ping()
        await watch.lists(fresh=False)
        assert asked() == 3


async def test_lists_are_those_of_the_session() -> None:
    """F-SHOW-10: another one, or another client, may have other lists."""
    showcases = [Showcase(), Showcase()]

    def asked() -> list[int]:
        return [
            sum(message.get("method") == "tools/list" for message in showcase.received)
            for showcase in showcases
        ]

    watch = Watch()
    async with client_of(showcases[0]) as first, client_of(showcases[1]) as second:
        watch.follow(ServerState("connected", first))
        await watch.lists(fresh=False)
        await first.close()
        await first.connect()
        await watch.lists(fresh=False)
        assert asked() == [2, 0]
        watch.follow(ServerState("connected", second))
        await watch.lists(fresh=False)
        assert asked() == [2, 1]


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


def test_a_server_of_which_nothing_is_known() -> None:
    assert Watch().described() == {
        "status": "closed",
        "error": None,
        "since": None,
        "changed_lists": 0,
    }


# A room


def room_of(client: Client, *, always: bool = False) -> Room:
    board = Board()
    return Room(ClientSource(client), Questions(board), always=always)


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
