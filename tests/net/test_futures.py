"""Futures that fail when nobody waits for them any more."""

from __future__ import annotations

import asyncio
import gc

from mcpclient.net.futures import disregard


def test_what_is_disregarded_is_not_complained_of() -> None:
    """F-LIFE-5: neither before nor after it fails; the guard of the suite hears of complaints."""

    async def main() -> None:
        early: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        early.add_done_callback(disregard)
        early.set_exception(LookupError())
        late: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        late.set_exception(LookupError())
        disregard(late)
        await asyncio.sleep(0)
        del early, late
        gc.collect()

    asyncio.run(main())


def test_other_outcomes_are_left_alone() -> None:
    async def main() -> None:
        pending: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        disregard(pending)
        pending.set_result(1)
        disregard(pending)
        assert await pending == 1
        cancelled: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        cancelled.cancel()
        disregard(cancelled)
        assert cancelled.cancelled()

    asyncio.run(main())
