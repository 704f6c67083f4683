"""The limit of a whole call, whatever the call is made of."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.client.connection.call_recovery import CallDeadline
from mcpclient.client.connection.limits import RequestOptions
from mcpclient.client.requests import connection_of
from mcpclient.errors import CallTimeout
from mcpclient.protocol.negotiation import TASKS
from tests.client.scripted_server import ScriptedServer
from tests.support.clients import now
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time


def slow(seconds: float, result: Mapping[str, Any]) -> Any:
    async def answer(params: Mapping[str, Any]) -> Mapping[str, Any]:
        await asyncio.sleep(seconds)
        return result

    return answer


def timed_out(server: ScriptedServer, **options: Any) -> float:
    """Call a tool that takes over two seconds in all; return when that is noticed."""

    async def session() -> float:
        async with server.client(**options) as client:
            began = now()
            with pytest.raises(CallTimeout) as caught:
                await client.call_tool("t", timeout=30, max_timeout=2)
            assert (caught.value.seconds, caught.value.limit) == (2, "total")
            took = now() - began
            await asyncio.sleep(1)
            return took

    return run(session())


def test_the_pause_between_two_rounds_counts() -> None:
    """F-API-7, F-API-12: a server that always wants only its state is given up in time."""
    asking = {"resultType": "input_required", "requestState": "s"}
    assert timed_out(ScriptedServer({"tools/call": asking})) == pytest.approx(2)


@pytest.mark.parametrize("late", [False, True])
def test_a_task_the_server_made_of_a_call_shares_its_limit(late: bool) -> None:
    """F-API-7, F-API-13: the wait for it takes the remaining time of the call."""
    task = {"taskId": "t", "status": "working", "pollIntervalMs": 100}
    server = ScriptedServer(
        {
            "tools/call": slow(1.5, {"resultType": "task", **task}),
            "tasks/get": slow(5, task) if late else task,
            "tasks/cancel": {},
        },
        capabilities={"extensions": {TASKS: {}}},
    )
    assert timed_out(server, tasks=True) == pytest.approx(2)
    assert server.sent("tasks/cancel")[0]["taskId"] == "t"


async def test_a_cancellation_stays_one() -> None:
    """F-API-8: also where the limit is reached in the same moment, as far as Python can tell."""
    async with ScriptedServer().client() as client:
        time = CallDeadline(connection_of(client), "m", RequestOptions(None, 5))
        task = asyncio.ensure_future(time.limit(asyncio.sleep(10)))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.spent == 1
        with pytest.raises(CallTimeout):
            await time.limit(asyncio.sleep(10))
        with pytest.raises(CallTimeout):
            time.rest_of(RequestOptions(None, 5))


async def test_the_alarm_waits_while_the_clock_stands_still() -> None:
    """F-API-7: a login in the middle of it takes as long as it takes."""
    async with ScriptedServer().client() as client:
        deadlines = connection_of(client).session.deadlines

        async def log_in() -> str:
            with deadlines.held():
                await asyncio.sleep(1000)
            return "in"

        time = CallDeadline(connection_of(client), "m", RequestOptions(None, 5))
        assert await time.limit(log_in()) == "in"
        assert time.spent == 0
        with time.paused():
            await asyncio.sleep(1000)
        assert time.left == 5
