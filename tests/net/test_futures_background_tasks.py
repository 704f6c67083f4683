"""Background tasks: F-API-20, F-LIFE-5 and F-LIFE-6."""

from __future__ import annotations

import asyncio
import logging

import pytest

from mcpclient.net.futures import BackgroundTasks


@pytest.mark.virtual_time
async def test_a_group_cancels_all_but_the_one_that_asks() -> None:
    """F-LIFE-5: a callback may close its own client."""
    tasks = BackgroundTasks()
    reached: list[str] = []

    async def waits() -> None:
        await asyncio.Event().wait()

    async def closes() -> None:
        tasks.cancel()
        await tasks.wait(5)
        reached.append("end")

    other = tasks.start(waits())
    await tasks.start(closes())
    assert other.cancelled()
    assert reached == ["end"]
    await tasks.wait(0)


@pytest.mark.virtual_time
async def test_it_is_told_apart_who_cancelled_a_task() -> None:
    """F-API-20: what a task waits for may have been cancelled, and not the task."""
    tasks = BackgroundTasks()
    told: list[bool] = []

    async def waits(awaited: asyncio.Future[None]) -> None:
        try:
            await awaited
        finally:
            told.append(tasks.has_cancelled(asyncio.current_task()))

    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    tasks.start(waits(future))
    await asyncio.sleep(0)
    future.cancel()
    await tasks.wait()
    tasks.start(waits(asyncio.get_running_loop().create_future()))
    await asyncio.sleep(0)
    tasks.cancel()
    await tasks.wait()
    assert told == [False, True]
    assert not tasks.has_cancelled(None)


@pytest.mark.loses_an_exception
async def test_an_escaped_exception_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """F-API-20: no failure of a background task is lost, and none stops anything else."""

    async def fails() -> None:
        raise ValueError("background trouble")

    with caplog.at_level(logging.ERROR, "mcpclient.client"):
        await asyncio.wait({BackgroundTasks().start(fails())})
        await asyncio.sleep(0)
    assert "background trouble" in caplog.text


@pytest.mark.virtual_time
async def test_waiting_is_bounded() -> None:
    """F-LIFE-6: a task that will not end holds nobody up."""
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    tasks = BackgroundTasks()
    task = tasks.start(stubborn())
    await asyncio.sleep(0)
    tasks.cancel()
    await tasks.wait(0.01)
    assert not task.done()
    release.set()
    await task


def test_cancelling_outside_of_any_loop() -> None:
    """F-LIFE-5: a client may be dropped when there is no loop any more."""
    BackgroundTasks().cancel()


def test_tasks_of_a_loop_that_is_gone_are_left_alone() -> None:
    """F-LIFE-5: nothing runs there any more, and asking for it would raise."""
    tasks = BackgroundTasks()

    async def main() -> asyncio.Task[None]:
        return tasks.start(asyncio.sleep(60))

    loop = asyncio.new_event_loop()
    task = loop.run_until_complete(main())
    loop.close()
    tasks.cancel()
    assert not task.done()
    task._log_destroy_pending = False  # type: ignore[attr-defined]


@pytest.mark.virtual_time
async def test_an_owner_may_take_its_failures() -> None:
    """F-API-20: where whoever waits for a task hears of them."""
    heard: list[Exception] = []

    async def fails() -> None:
        raise ValueError("expected trouble")

    tasks = BackgroundTasks(heard.append)
    tasks.start(fails())
    await tasks.wait()
    await asyncio.sleep(0)
    assert [str(error) for error in heard] == ["expected trouble"]
