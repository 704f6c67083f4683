"""The caller's callbacks: F-API-7 and F-API-20."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from mcpclient.client.events.callbacks import OrderedCallback, ask
from mcpclient.errors import HandlerFailed, PeerError
from mcpclient.net.futures import BackgroundTasks
from mcpclient.protocol.types import LogMessage
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time


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
    """F-API-20: the session was not ended, so the calls that wait are made, in order."""

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


def test_an_error_meant_for_the_server() -> None:
    """F-API-10: a handler may say which error to answer with."""
    with pytest.raises(HandlerFailed) as caught:
        asyncio.run(ask("m", raises(PeerError(-1, "no, thank you"))))
    assert (caught.value.code, caught.value.reason) == (-1, "no, thank you")
