"""The caller's callbacks: F-API-7 and F-API-20."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.client.events.callbacks import Observer, OrderedCallback, ask
from mcpclient.errors import HandlerFailed, McpError, PeerError
from mcpclient.net.futures import BackgroundTasks
from mcpclient.protocol.types import LogMessage
from tests.client.scripted_server import ScriptedServer
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time


async def test_a_plain_function_runs_at_once() -> None:
    """F-API-7: no task, no delay; ``on_progress=print`` is a callback."""
    heard: list[tuple[Any, ...]] = []
    tasks = BackgroundTasks()
    callback = OrderedCallback(lambda *arguments: heard.append(arguments), tasks)
    callback(1)
    callback(2, "b")
    assert heard == [(1,), (2, "b")]
    await callback.finish(None)
    assert len(asyncio.all_tasks()) == 1


async def test_coroutines_run_in_order_one_at_a_time() -> None:
    """F-API-7: progress is heard in order, however long each callback takes."""
    heard: list[str] = []
    gates = [asyncio.Event() for _ in range(3)]

    async def slow(number: int) -> None:
        heard.append(f"begin {number}")
        await gates[number].wait()
        heard.append(f"end {number}")

    callback = OrderedCallback(slow, BackgroundTasks())
    for number in range(3):
        callback(number)
    for gate in reversed(gates):
        gate.set()
    await callback.finish(None)
    assert heard == ["begin 0", "end 0", "begin 1", "end 1", "begin 2", "end 2"]
    callback(0)
    await callback.finish(None)
    assert heard[-1] == "end 0"


async def test_a_callback_that_is_too_slow_misses_the_oldest_calls(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """F-API-20: memory is bounded; the log says so, once."""
    monkeypatch.setattr("mcpclient.client.events.callbacks._MAX_WAITING", 3)
    heard: list[int] = []

    async def slow(number: int) -> None:
        await asyncio.sleep(1)
        heard.append(number)

    callback = OrderedCallback(slow, BackgroundTasks())
    for number in range(8):
        callback(number)
    await callback.finish(None)
    assert heard == [0, 5, 6, 7]
    assert caplog.text.count("dropping its oldest calls") == 1


async def test_what_waits_for_a_slow_callback_is_bounded_in_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-API-20: ten thousand notifications of a message's size would be all the memory there is."""
    monkeypatch.setattr("mcpclient.client.events.callbacks._MAX_WEIGHT", 100_000)
    heard: list[int] = []

    async def slow(message: LogMessage) -> None:
        await asyncio.sleep(1)
        heard.append(message.raw["number"])

    callback = OrderedCallback(slow, BackgroundTasks())
    for number in range(8):
        callback(LogMessage({"number": number, "data": ["x" * 10_000] * 4}))
    callback(LogMessage({"number": 8, "data": "x" * 200_000}))
    callback(LogMessage({"number": 9}))
    await callback.finish(None)
    assert heard == [0, 9]


async def test_a_function_that_is_a_coroutine_at_times() -> None:
    """F-API-20: any awaitable counts, and plain calls wait for the ones before."""
    heard: list[int] = []
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def mixed(number: int) -> object:
        heard.append(number)
        return future if number == 0 else None

    callback = OrderedCallback(mixed, BackgroundTasks())
    for number in range(3):
        callback(number)
    assert heard == [0]
    future.set_result(None)
    await callback.finish(None)
    assert heard == [0, 1, 2]


def test_a_callback_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """F-API-20: plain or async, an exception is logged and the next call is made."""

    async def main() -> None:
        heard: list[int] = []

        def plain(number: int) -> None:
            heard.append(number)
            raise ValueError("plain trouble")

        async def later(number: int) -> None:
            heard.append(number)
            raise ValueError("async trouble")

        tasks = BackgroundTasks()
        for function in (plain, later):
            callback = OrderedCallback(function, tasks)
            callback(1)
            callback(2)
            await callback.finish(None)
        assert heard == [1, 2, 1, 2]

    with caplog.at_level(logging.ERROR, "mcpclient.client"):
        run(main())
    assert caplog.text.count("ValueError: plain trouble") == 2
    assert caplog.text.count("ValueError: async trouble") == 2


def test_a_callback_that_is_cancelled_by_itself_harms_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """F-API-20: nobody ended the session, so the calls that wait are made, in order."""

    async def main() -> None:
        heard: list[int] = []
        cancelled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        cancelled.cancel()

        def plain(number: int) -> None:
            heard.append(number)
            if number == 1:
                cancelled.result()

        async def later(number: int) -> None:
            await asyncio.sleep(1)
            heard.append(number)
            if number != 2:
                await cancelled

        for function in (plain, later):
            callback = OrderedCallback(function, BackgroundTasks())
            for number in range(1, 4):
                callback(number)
            await callback.finish(None)
            callback(4)
            await callback.finish(10)
        assert heard == [1, 2, 3, 4] * 2

    with caplog.at_level(logging.ERROR, "mcpclient.client"):
        run(main())
    assert caplog.text.count("failed") == 4


async def test_calls_that_wait_are_forgotten_with_their_session() -> None:
    """F-LIFE-5: they are not made before those of the next."""
    heard: list[int] = []

    async def slow(number: int) -> None:
        await asyncio.sleep(1)
        heard.append(number)

    tasks = BackgroundTasks()
    callback = OrderedCallback(slow, tasks)
    callback(1)
    callback(2)
    await asyncio.sleep(0)
    tasks.cancel()
    await tasks.wait()
    await asyncio.sleep(0)
    callback(3)
    callback(4)
    await callback.finish(None)
    assert heard == [3, 4]


async def test_a_callback_may_call_itself() -> None:
    """F-API-10: what a coroutine callback sets off is heard after it."""
    heard: list[int] = []

    async def function(number: int) -> None:
        if number < 3:
            callback(number + 1)
        heard.append(number)

    callback = OrderedCallback(function, BackgroundTasks())
    callback(1)
    await callback.finish(None)
    assert heard == [1, 2, 3]


@pytest.mark.parametrize("steps", [0, 1])
async def test_the_end_of_the_session_ends_the_callback(steps: int) -> None:
    """F-LIFE-5: also in the turn in which it was called, and with no coroutine left unawaited."""

    async def endless(_: int) -> None:
        await asyncio.Event().wait()

    tasks = BackgroundTasks()
    callback = OrderedCallback(endless, tasks)
    callback(1)
    callback(2)
    for _ in range(steps):
        await asyncio.sleep(0)
    tasks.cancel()
    await callback.finish(None)
    await tasks.wait(5)
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1
    # Not stuck behind a task that is gone.
    later = asyncio.Event()
    again = OrderedCallback(later.set, BackgroundTasks())
    again()
    assert later.is_set()


async def test_a_callback_works_on_after_a_cancelled_call() -> None:
    """F-API-20: a task cancelled before its first step leaves the callback usable."""
    heard: list[int] = []

    async def function(number: int) -> None:
        heard.append(number)

    tasks = BackgroundTasks()
    callback = OrderedCallback(function, tasks)
    callback(1)
    tasks.cancel()
    await tasks.wait(5)
    await asyncio.sleep(0)
    callback(2)
    await callback.finish(None)
    assert heard == [2]


# Calling a handler of the caller's


async def double(value: int) -> int:
    await asyncio.sleep(0)
    return value * 2


def raises(error: BaseException) -> Any:
    def handler() -> None:
        raise error

    return handler


@pytest.mark.parametrize("handler", [double, lambda value: value * 2, lambda value: double(value)])
def test_plain_or_async(handler: Any) -> None:
    """F-API-10: a plain function, a coroutine function, or one that returns an awaitable."""
    assert asyncio.run(ask("m", handler, 21)) == 42


def test_an_exception_becomes_a_failure_without_its_text() -> None:
    """F-API-10: the server learns the type only; the caller finds the rest in the cause."""
    error = KeyError("s3cret")
    with pytest.raises(HandlerFailed) as caught:
        asyncio.run(ask("roots/list", raises(error)))
    assert (caught.value.method, caught.value.code) == ("roots/list", -32603)
    assert caught.value.reason == "its handler raised KeyError"
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is error


def test_an_error_meant_for_the_server() -> None:
    """F-API-10: a handler may say which error to answer with."""
    with pytest.raises(HandlerFailed) as caught:
        asyncio.run(ask("m", raises(PeerError(-1, "no, thank you"))))
    assert (caught.value.code, caught.value.reason) == (-1, "no, thank you")


def test_a_failure_stays_what_it_is() -> None:
    """F-API-10"""
    failure = HandlerFailed("m", "because")
    with pytest.raises(HandlerFailed) as caught:
        asyncio.run(ask("m", raises(failure)))
    assert caught.value is failure


# Observers: who follows a connection from session to session


class Diary(Observer):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.entries: list[str] = []

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        super().notified(method, params)
        self.entries.append(method)

    def connected(self) -> None:
        super().connected()
        self.entries.append("connected")

    def lost(self, error: McpError) -> None:
        super().lost(error)
        self.entries.append("lost")

    def closed(self) -> None:
        super().closed()
        self.entries.append("closed")


async def test_an_observer_is_told_everything_in_order() -> None:
    """F-API-20: over two connections, and before the caller's own callback."""
    server, diary = ScriptedServer(), Diary()
    said = diary.entries.append
    client = server.client(on_notification=lambda method, _: said(f"callback {method}"))
    client._connection.observers.append(diary)
    async with client:
        server.notify("notifications/tools/list_changed")
        await asyncio.sleep(0.1)
        server.lose()
        await asyncio.sleep(0.1)
        await client.connect()
    assert diary.entries == [
        "connected",
        "notifications/tools/list_changed",
        "callback notifications/tools/list_changed",
        "lost",
        "connected",
        "closed",
    ]
