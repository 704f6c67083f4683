"""One timer for all calls: it goes off in time, and not while a human is asked."""

from __future__ import annotations

import asyncio

import pytest

from mcpclient.client.connection.limits import Deadlines, RequestOptions
from mcpclient.errors import CallTimeout
from mcpclient.jsonrpc.correlator import Correlator
from mcpclient.jsonrpc.messages import Message
from tests.client.connection.test_session import now, on_bench

pytestmark = pytest.mark.virtual_time


async def test_time_spent_on_a_human_counts_in_no_limit() -> None:
    """F-API-7: idle and total limits, and no clock while a human is asked."""
    async with on_bench() as bench:
        call = bench.call(RequestOptions(timeout=5, max_timeout=8))
        await asyncio.sleep(3)
        with bench.session.deadlines.held():
            with bench.session.deadlines.held():
                await asyncio.sleep(1000)
            await asyncio.sleep(1000)
        with pytest.raises(CallTimeout):
            await call
        assert now() == 2005


async def test_each_call_has_limits_of_its_own() -> None:
    """F-API-7: whichever comes first sets the one timer."""
    async with on_bench() as bench:
        times: list[tuple[float, float]] = []

        async def call(seconds: float) -> None:
            with pytest.raises(CallTimeout):
                await bench.session.request("ping", None, RequestOptions(seconds))
            times.append((seconds, now()))

        await asyncio.gather(*(call(seconds) for seconds in (9, 3, 6, 1)))
        assert [seconds for seconds, _ in times] == [1, 3, 6, 9]
        assert all(seconds <= at < seconds + 0.01 for seconds, at in times)


@pytest.mark.parametrize("limit", [None, 0])
async def test_no_limit_is_no_limit(limit: float | None) -> None:
    """F-API-7"""
    async with on_bench() as bench:
        call = bench.call(RequestOptions(timeout=limit, max_timeout=limit))
        await asyncio.sleep(86_000)
        bench.answer(1, ok=True)
        assert await call == {"ok": True}


async def test_stopping_forgets_every_deadline_and_others_may_come() -> None:
    """F-API-7: a session goes on over another transport."""
    loop = asyncio.get_running_loop()
    correlator = Correlator()
    deadlines = Deadlines(correlator, loop)
    for idle, outcome in ((5.0, None), (7.0, CallTimeout)):
        waiter: asyncio.Future[Message] = loop.create_future()
        pending = correlator.open("ping", waiter, loop.time(), idle=idle)
        deadlines.watch(pending.deadline)
        if outcome is None:
            deadlines.stop()
            deadlines.stop()
            correlator.close(pending)
        else:
            with pytest.raises(outcome):
                await waiter
    assert loop.time() == 7


async def test_how_long_they_stood_still_is_known() -> None:
    """F-API-7: also while they still do."""
    loop = asyncio.get_running_loop()
    deadlines = Deadlines(Correlator(), loop)

    def held_seconds(deadlines: Deadlines) -> float:
        return loop.time() - deadlines.counted_time()

    assert held_seconds(deadlines) == 0
    for already in (0, 10):
        with deadlines.held():
            await asyncio.sleep(4)
            assert held_seconds(deadlines) == already + 4
            with deadlines.held():
                pass
            await asyncio.sleep(6)
        await asyncio.sleep(100)
    assert held_seconds(deadlines) == 20
    before, later = deadlines.counted_time(), Deadlines(Correlator(), loop)
    later.go_on_from(deadlines)
    assert (held_seconds(later), later.counted_time()) == (20, before)
