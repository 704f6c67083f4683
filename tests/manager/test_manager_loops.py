"""A manager that several tasks, event loops and threads use at once: F-MANY-21."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import pytest

import mcpclient
from mcpclient import Config, Manager, ServerConfig, Status
from mcpclient.errors import ClientClosed, ConnectionLost, ServersFailed, UsageError
from tests.client.scripted_server import turns
from tests.manager.fleet import Member, statuses

pytestmark = pytest.mark.virtual_time

SECONDS = 10


class Elsewhere:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.submit(work).result(SECONDS)

    def stop(self) -> None:
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(SECONDS)
            self.loop.close()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    loop = Elsewhere()
    yield loop
    loop.stop()


@contextmanager
def opened_in(loop: Elsewhere, servers: Any, **options: Any) -> Iterator[Manager]:
    manager = Manager(servers, **options)
    loop.do(manager.open())
    try:
        yield manager
    finally:
        loop.do(manager.close())


def test_a_call_that_waits_is_woken_from_the_loop_of_the_manager(elsewhere: Elsewhere) -> None:
    """F-MANY-21: it was woken by its timeout alone."""
    member = Member("x")
    reconnect = mcpclient.Reconnect(delays=(0.1,))
    with opened_in(elsewhere, {"a": member}, reconnect=reconnect) as manager:
        elsewhere.do(lose(member))

        async def main() -> str:
            return (await asyncio.wait_for(manager.call_tool("a__x", timeout=None), SECONDS)).text

        assert asyncio.run(main()) == "x"


@pytest.mark.parametrize(
    "connect",
    [
        lambda manager: manager.add("b", Member("y")),
        lambda manager: manager.connect("a"),
        lambda manager: manager.servers["a"].connect(),
        lambda manager: manager["a"].connect(),
        lambda manager: manager.reload(Config({"b": ServerConfig("b", target=Member("y"))})),
        lambda manager: manager.call_tool("a__x"),
        lambda manager: manager.get_prompt("a:p"),
    ],
)
def test_a_server_outlives_the_loop_that_asked_for_it(
    elsewhere: Elsewhere, connect: Callable[[Manager], Coroutine[Any, Any, Any]]
) -> None:
    """F-MANY-21: one that a passing loop connected was broken for ever."""
    prompt = {"messages": [], "description": "d"}
    member = Member("x", refusals=1, answers={"prompts/get": prompt})
    with opened_in(elsewhere, {"a": member}) as manager:
        assert statuses(manager) == {"a": "failed"}

        async def main() -> None:
            await connect(manager)

        asyncio.run(main())
        (name, *_) = [name for name, status in statuses(manager).items() if status == "connected"]
        tool = manager.servers[name].tools[0]
        assert elsewhere.do(manager.call_tool(tool.name)).text == tool.raw_name


def test_a_server_that_fits_no_loop_of_a_stranger_is_closed_in_its_own(
    elsewhere: Elsewhere,
) -> None:
    """F-MANY-21: disconnecting, removing and closing work from any thread; nothing is left."""
    members = {name: Member("x") for name in "abc"}
    with opened_in(elsewhere, members) as manager:

        async def main() -> None:
            await manager.disconnect("a")
            await manager.servers["b"].disconnect()
            await manager.remove("b")
            await manager.close()
            await manager.close()

        asyncio.run(main())
        assert statuses(manager) == {"a": "closed", "c": "closed"}
        assert not asyncio.all_tasks(elsewhere.loop)


def test_threads_may_open_and_close_at_once(elsewhere: Elsewhere) -> None:
    """F-MANY-21: all of them end, and the last word is that of a close."""
    manager = Manager({name: Member("x") for name in "abcd"})
    elsewhere.do(manager.open())
    outcomes: list[BaseException | None] = []
    has_ended, may_leave = threading.Semaphore(0), threading.Event()

    async def use(number: int) -> None:
        work = manager.close() if number % 2 else manager.open()
        try:
            await asyncio.wait_for(work, SECONDS)
            outcomes.append(None)
        except BaseException as error:
            outcomes.append(error)
        has_ended.release()
        # A loop that ended would take the work of others with it.
        await asyncio.get_running_loop().run_in_executor(None, may_leave.wait, 2 * SECONDS)

    threads = [threading.Thread(target=lambda n=n: asyncio.run(use(n))) for n in range(8)]
    for thread in threads:
        thread.start()
    assert all(has_ended.acquire(timeout=2 * SECONDS) for _ in threads)
    elsewhere.do(manager.close())
    may_leave.set()
    for thread in threads:
        thread.join(SECONDS)
    unexpected = [each for each in outcomes if not isinstance(each, (type(None), ClientClosed))]
    assert not unexpected
    assert set(statuses(manager).values()) <= {"closed"}


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


async def lose(member: Member) -> None:
    member.script.lose()
    await turns()


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


async def test_who_waits_for_an_opening_that_fails_opens_it() -> None:
    """F-MANY-21"""
    manager = Manager({"a": Member("x", seconds=1, refusals=1)}, required=["a"])
    outcomes = await asyncio.gather(manager.open(), manager.open(), return_exceptions=True)
    assert isinstance(outcomes[0], ServersFailed) and outcomes[1] is manager
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


async def test_opening_again_waits_until_it_is_closed() -> None:
    """F-MANY-21: what is closed last is not what was opened since."""

    class Slow(Member):
        async def close(self) -> None:
            await asyncio.sleep(2)
            await super().close()

    member = Slow("x")
    manager = await Manager({"a": member})
    stream = manager.events()
    closing = asyncio.ensure_future(manager.close())
    await turns()
    await manager.open()
    assert closing.done() and statuses(manager) == {"a": "connected"}
    assert (await manager.call_tool("a__x")).text == "x"
    assert [each async for each in stream]
    late = manager.events()
    await manager.close()
    assert [each async for each in late]


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


async def test_a_server_that_is_removed_while_it_is_added_again_is_not_returned() -> None:
    """F-MANY-21, F-MANY-6: the same name and configuration is the same connection, if it is one."""
    member = Member("x", seconds=5)
    async with Manager({"a": member}, wait="none") as manager:
        adding = asyncio.ensure_future(manager.add("a", member))
        await asyncio.sleep(1)
        before = manager.servers["a"]
        await manager.remove("a")
        added = await adding
        assert added is not before and added.status is Status.CONNECTED
        assert manager.servers["a"] is added


async def test_reloads_at_once_leave_what_the_last_one_says() -> None:
    """F-MANY-21, F-MANY-4: two that change the same servers do not mix."""

    def config(*tools: str) -> Config:
        return Config({"a": ServerConfig("a", target=Member(*tools, seconds=1))})

    async with Manager({"a": Member("x")}) as manager:
        await asyncio.gather(manager.reload(config("y")), manager.reload(config("z", "w")))
        assert [each.raw_name for each in manager.tools] == ["z", "w"]
        assert list(statuses(manager).values()) == ["connected"]


def test_every_reader_of_a_stream_reaches_its_end(elsewhere: Elsewhere) -> None:
    """F-MANY-21, F-MANY-2: two readers, and one in another loop; each event goes to one."""
    with opened_in(elsewhere, {"a": Member("x")}) as manager:
        stream = manager.events()

        async def read() -> list[Any]:
            return [each async for each in stream]

        readers = [elsewhere.submit(read()) for _ in range(2)]

        async def main() -> list[Any]:
            reading = asyncio.ensure_future(read())
            await asyncio.sleep(0.05)
            await manager.close()
            return await asyncio.wait_for(reading, SECONDS)

        found = asyncio.run(main())
        for reader in readers:
            found += reader.result(SECONDS)
        assert len(found) == 2
        assert elsewhere.do(read()) == [] == asyncio.run(read())


async def test_a_stream_of_a_closed_manager_has_ended() -> None:
    """F-MANY-21: it never did; and of one that is not open yet, it begins with the opening."""
    manager = Manager({"a": Member("x")})
    early = manager.events()
    await manager.open()
    assert (await early.__anext__()).server == "a"
    await manager.close()
    assert [each async for each in manager.events()] == []


def test_a_stream_that_was_read_in_a_loop_that_has_ended_goes_on() -> None:
    """F-MANY-21: with the manager, when that is opened again."""
    manager = Manager({"a": Member("x")})
    streams: list[Any] = []

    async def begin() -> None:
        await manager.open()
        streams.append(manager.events())
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(streams[0].__anext__(), 0.01)

    asyncio.run(begin())

    async def main() -> None:
        async with manager:
            seen: list[str] = []
            reading = asyncio.ensure_future(_read(streams[0], seen))
            await manager.disconnect("a")
        await asyncio.wait_for(reading, SECONDS)
        assert "closed" in seen

    asyncio.run(main())


async def _read(stream: Any, seen: list[str]) -> None:
    async for event in stream:
        if isinstance(event, mcpclient.StatusChanged):
            seen.append(event.new.value)
