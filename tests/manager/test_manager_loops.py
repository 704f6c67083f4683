"""A manager that several tasks, event loops and threads use at once: F-MANY-21."""

from __future__ import annotations

import asyncio

import pytest

from mcpclient import Manager
from mcpclient.errors import ClientClosed, ConnectionLost, UsageError
from tests.manager.fleet import Member, statuses

pytestmark = pytest.mark.virtual_time


def test_after_its_loop_has_ended_a_manager_can_be_closed_and_opened_again() -> None:
    """F-MANY-21: calls say so at once instead of waiting for ever."""
    manager = Manager({"a": Member("x")})
    asyncio.run(_open(manager))

    async def main() -> str:
        with pytest.raises(ConnectionLost, match="event loop"):
            await manager.call_tool("a__x")
        async with manager:
            return (await manager.call_tool("a__x")).text

    assert asyncio.run(main()) == "x"
    asyncio.run(_open(manager))

    async def close() -> None:
        await manager.close()
        with pytest.raises((ClientClosed, ConnectionLost)):
            await manager.call_tool("a__x")

    asyncio.run(close())


async def _open(manager: Manager) -> None:
    await manager.open()


async def test_tasks_that_open_one_manager_wait_for_the_same_opening() -> None:
    """F-MANY-21: the second returned before any server was connected."""
    member = Member("x", seconds=3)
    manager = Manager({"a": member})
    loop = asyncio.get_running_loop()

    async def use() -> tuple[float, str]:
        await manager.open()
        return loop.time(), statuses(manager)["a"]

    outcomes = await asyncio.gather(use(), use(), use())
    assert list(outcomes) == [(3, "connected")] * 3
    assert member.attempts == 1
    await manager.close()


async def test_closing_while_it_opens_ends_both() -> None:
    """F-MANY-21: open() does not return a closed manager, and close() leaves nothing running."""
    manager = Manager({"a": Member("x", seconds=50), "b": Member("y")})
    opening = [asyncio.ensure_future(manager.open()) for _ in range(2)]
    await asyncio.sleep(1)
    await asyncio.gather(manager.close(), manager.close())
    for each in opening:
        with pytest.raises(ClientClosed, match="closed while it was being opened"):
            await each
    assert statuses(manager) == {"a": "closed", "b": "closed"}
    async with manager:
        assert (await manager.call_tool("b__y")).text == "y"


async def test_a_bad_environment_leaves_the_manager_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-MANY-21: it was open, with no servers in it."""
    manager = Manager({"a": Member("x")})
    monkeypatch.setenv("MCP_SERVER_CONNECTION_BATCH_SIZE", "many")
    with pytest.raises(UsageError, match="BATCH_SIZE"):
        await manager.open()
    with pytest.raises(UsageError, match="is not open"):
        await manager.connect("a")
    monkeypatch.delenv("MCP_SERVER_CONNECTION_BATCH_SIZE")
    async with manager:
        assert statuses(manager) == {"a": "connected"}


async def test_a_stream_of_a_closed_manager_has_ended() -> None:
    """F-MANY-21: it never did; and of one that is not open yet, it begins with the opening."""
    manager = Manager({"a": Member("x")})
    early = manager.events()
    await manager.open()
    assert (await early.__anext__()).server == "a"
    await manager.close()
    assert [each async for each in manager.events()] == []
