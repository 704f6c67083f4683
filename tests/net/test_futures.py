"""Futures that fail when nobody waits for them any more."""

from __future__ import annotations

import asyncio
import gc

import pytest

from mcpclient.net.futures import (
    cancel,
    cancel_all,
    consume_exception,
    gather_outcomes,
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
