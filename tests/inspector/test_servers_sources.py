"""F-SHOW-10: the servers of a client, of a manager, and of recordings."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient import AuthorizationRequired, Client, ConnectFailed, Manager, Recording, UsageError
from mcpclient.client.requests import connection_of
from mcpclient.inspector.servers import ClientSource, ManagerSource, Source
from mcpclient.transports.inprocess import InProcessTransport
from tests.inspector.showcase import Showcase
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time


def client_of(showcase: Showcase) -> Client:
    return Client(showcase.transport, protocol_version="2025-11-25")


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
    client = client_of(Showcase())
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
        made.append(client_of(Showcase()))
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
    source = ClientSource(client_of(Showcase()))
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
