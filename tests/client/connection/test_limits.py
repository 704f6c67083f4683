"""One timer for all calls: it goes off in time, and not while a human is asked."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.client.connection.limits import DEFAULT, Deadlines, RequestOptions, Seconds, Timeouts
from mcpclient.errors import CallTimeout, UsageError
from mcpclient.jsonrpc.correlator import Correlator
from mcpclient.jsonrpc.messages import Message
from tests.client.connection.test_session import on_bench
from tests.support.clients import now

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


# The limits of calls


def timeouts(
    idle: Seconds = DEFAULT,
    total: Seconds = DEFAULT,
    connect: Seconds = DEFAULT,
    close: float = 5.0,
    environ: Mapping[str, str] | None = None,
) -> Timeouts:
    return Timeouts.of(idle, total, connect, close, environ or {})


def test_defaults() -> None:
    """F-API-7: idle 30 s, total 10 min."""
    assert timeouts() == Timeouts(idle=30.0, total=600.0, tool=30.0, connect=30.0, close=5.0)


@pytest.mark.parametrize("nothing", [None, 0, 0.0])
def test_none_and_zero_disable(nothing: float | None) -> None:
    """F-API-7: each limit by itself."""
    assert timeouts(idle=nothing) == Timeouts(None, 600.0, None, None, 5.0)
    assert timeouts(total=nothing) == Timeouts(30.0, None, 30.0, 30.0, 5.0)
    assert timeouts(connect=nothing) == Timeouts(30.0, 600.0, 30.0, None, 5.0)


def test_what_the_caller_gives() -> None:
    """F-API-7: goes before the environment; a long idle limit lifts a total that is not given."""
    given = timeouts(5, 60, 2, 1.0, {"MCP_TIMEOUT": "1000", "MCP_TOOL_TIMEOUT": "2000"})
    assert given == Timeouts(5, 60, 5, 2, 1.0)
    assert timeouts(3600).total == 3600
    assert timeouts(3600, 60).total == 60
    assert timeouts(3600, None).total is None


@pytest.mark.parametrize(
    ("environ", "idle", "tool", "total"),
    [
        ({"MCP_TIMEOUT": "1500"}, 1.5, 1.5, 600.0),
        ({"MCP_TOOL_TIMEOUT": "90000"}, 30.0, 90.0, 600.0),
        ({"MCP_TIMEOUT": " 2000 ", "MCP_TOOL_TIMEOUT": "0"}, 2.0, None, 600.0),
        ({"MCP_TOOL_TIMEOUT": "100000000"}, 30.0, 100_000.0, 100_000.0),
        ({"MCP_TIMEOUT": "0"}, None, None, 600.0),
        ({"MCP_TIMEOUT": "", "MCP_TOOL_TIMEOUT": "  "}, 30.0, 30.0, 600.0),
    ],
)
def test_the_environment(
    environ: dict[str, str], idle: float | None, tool: float | None, total: float | None
) -> None:
    """F-API-7: MCP_TIMEOUT and MCP_TOOL_TIMEOUT, in milliseconds."""
    found = timeouts(environ=environ)
    assert (found.idle, found.tool, found.total) == (idle, tool, total)
    assert found.connect == idle


@pytest.mark.parametrize("value", ["soon", "1s", "nan", "-5"])
def test_nonsense_in_the_environment(value: str) -> None:
    """F-API-7: one plain error, which names the variable, instead of a limit nobody meant."""
    for name in ("MCP_TIMEOUT", "MCP_TOOL_TIMEOUT"):
        with pytest.raises(UsageError, match=f"{name} is a number of milliseconds.*'{value}'"):
            timeouts(environ={name: value})


@pytest.mark.parametrize("value", [-1, -0.001, math.nan, -math.inf, "5"])
def test_nonsense_from_the_caller(value: Any) -> None:
    """F-API-7: negative limits, and what is no number."""
    for limits in ((value, DEFAULT, DEFAULT), (DEFAULT, value, 1), (DEFAULT, 1, value)):
        with pytest.raises(UsageError, match="timeout"):
            timeouts(*limits)
    with pytest.raises(UsageError, match="timeout"):
        timeouts().for_call("tools/call", value, DEFAULT)


@pytest.mark.parametrize("value", [None, -1, math.nan, "5"])
def test_closing_has_a_limit(value: Any) -> None:
    """F-LIFE-6: closing is bounded; 0 leaves it no time at all."""
    with pytest.raises(UsageError, match="close_timeout is a number of seconds"):
        timeouts(close=value)
    assert timeouts(close=0).close == 0


def test_limits_of_one_call() -> None:
    """F-API-7: tools have an idle limit of their own, and each call may have others."""
    limits = timeouts(environ={"MCP_TIMEOUT": "1000", "MCP_TOOL_TIMEOUT": "2000"})

    def of(method: str, timeout: Seconds, max_timeout: Seconds) -> tuple[Any, Any]:
        options = limits.for_call(method, timeout, max_timeout)
        return options.timeout, options.max_timeout

    for _ in range(2):
        assert of("tools/list", DEFAULT, DEFAULT) == (1.0, 600.0)
    assert of("tools/call", DEFAULT, DEFAULT) == (2.0, 600.0)
    assert of("tools/call", 7, 8) == (7, 8)
    assert of("tools/call", None, 0) == (None, None)
