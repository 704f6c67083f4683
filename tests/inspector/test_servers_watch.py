"""F-SHOW-10: one server is followed through its connections."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpclient import Client, Recording, UsageError
from mcpclient.inspector.servers import ServerState, Watch
from tests.inspector.showcase import Showcase

pytestmark = pytest.mark.virtual_time


def client_of(showcase: Showcase) -> Client:
    return Client(showcase.transport, protocol_version="2025-11-25")


async def test_a_client_is_heard_from_the_moment_it_is_followed() -> None:
    watch = Watch()
    with pytest.raises(UsageError, match="no connection"):
        watch.client  # noqa: B018
    async with client_of(Showcase()) as client:
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
        assert "ping" in [call.request["method"] for call in watch.calls()]
        told = watch.described()
        assert (told["status"], told["error"], told["since"]) == ("connected", None, 5.0)


async def test_another_client_of_the_same_server_is_followed_instead() -> None:
    watch, clients = Watch(), [client_of(Showcase()), client_of(Showcase())]
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
    assert [call.request["method"] for call in watch.calls()] == ["initialize", "tools/list"]


def test_a_server_of_which_nothing_is_known() -> None:
    assert Watch().described() == {
        "status": "closed",
        "error": None,
        "since": None,
        "changed_lists": 0,
    }
