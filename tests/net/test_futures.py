"""Futures that fail when nobody waits for them any more."""

from __future__ import annotations

import asyncio
import gc

import pytest

from mcpclient.errors import ConnectionLost
from mcpclient.net.futures import (
    NextChange,
    TaskLocks,
    call_from_thread,
    cancel,
    cancel_all,
    consume_exception,
    gather_outcomes,
    resolve,
)


async def test_what_is_disregarded_is_not_complained_of() -> None:
    """F-LIFE-5: neither before nor after it fails; the guard of the suite hears of complaints."""
    early: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    early.add_done_callback(consume_exception)
    early.set_exception(LookupError())
    late: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    late.set_exception(LookupError())
    consume_exception(late)
    await asyncio.sleep(0)
    del early, late
    gc.collect()


async def test_other_outcomes_are_left_alone() -> None:
    """F-API-8"""
    pending: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    consume_exception(pending)
    pending.set_result(1)
    consume_exception(pending)
    assert await pending == 1
    cancelled: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    cancelled.cancel()
    consume_exception(cancelled)
    assert cancelled.cancelled()


@pytest.mark.virtual_time
async def test_outcomes_of_work_done_side_by_side() -> None:
    """F-API-2: in order, an error in the place of what it kept from coming."""

    async def give(value: object, delay: float) -> object:
        await asyncio.sleep(delay)
        if isinstance(value, BaseException):
            raise value
        return value

    lost = ConnectionLost("gone")
    assert await gather_outcomes([give(1, 3), give(lost, 1), give(2, 2)]) == [1, lost, 2]
    assert asyncio.get_running_loop().time() < 4
    assert await gather_outcomes([]) == []


@pytest.mark.virtual_time
async def test_a_bug_in_one_ends_the_others() -> None:
    """F-API-8"""
    ended: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waiting")

    async def fail() -> None:
        await asyncio.sleep(1)
        raise LookupError

    with pytest.raises(LookupError):
        await gather_outcomes([wait(), fail()])
    assert ended == ["waiting"]
    await cancel_all([])


def test_a_task_is_cancelled_unless_its_loop_is_gone() -> None:
    """F-LIFE-5: there it never runs again, and asking for it would raise."""
    cancel(None)

    async def main() -> asyncio.Task[None]:
        soon = asyncio.ensure_future(asyncio.sleep(60))
        cancel(soon)
        await asyncio.wait({soon})
        assert soon.cancelled()
        return asyncio.ensure_future(asyncio.sleep(60))

    loop = asyncio.new_event_loop()
    late = loop.run_until_complete(main())
    loop.close()
    cancel(late)
    assert not late.done()
    late._log_destroy_pending = False  # type: ignore[attr-defined]


@pytest.mark.virtual_time
async def test_a_change_wakes_everyone_who_waits() -> None:
    """F-MANY-21: one that comes later waits for the next; and a limit is a limit."""
    loop, change = asyncio.get_running_loop(), NextChange()
    change.notify()  # nobody waits
    waiting = [asyncio.ensure_future(change.wait()) for _ in range(3)]
    await asyncio.sleep(1)
    change.notify()
    await asyncio.gather(*waiting)
    await change.wait(5)
    assert loop.time() == 6


def test_a_change_is_awaited_in_another_loop_after_the_first_has_ended() -> None:
    """F-MANY-21"""
    change = NextChange()

    asyncio.run(change.wait(0.01))
    change.notify()
    asyncio.run(change.wait(0.01))


async def test_an_outcome_is_handed_on_from_another_thread() -> None:
    """F-LIFE-9: unless the future has one already, or the loop is closed."""
    loop = asyncio.get_running_loop()
    good, bad, stopped = loop.create_future(), loop.create_future(), loop.create_future()
    assert call_from_thread(loop, resolve, good, 1)
    resolve(bad, None, ValueError("no"))
    resolve(stopped, None, asyncio.CancelledError())
    assert await good == 1
    resolve(good, 2)
    assert good.result() == 1
    with pytest.raises(ValueError, match="no"):
        await bad
    assert stopped.cancelled()
    closed = asyncio.new_event_loop()
    closed.close()
    assert not call_from_thread(closed, print)


def test_task_locks_belong_to_their_loop() -> None:
    """F-MANY-21: one object may serve several loops, one after the other."""
    task_locks = TaskLocks()

    async def main() -> None:
        assert task_locks.lock("a") is task_locks.lock("a")
        assert task_locks.lock("a") is not task_locks.lock("b")
        async with task_locks.lock("a"):
            pass

    for _ in range(2):
        asyncio.run(main())
