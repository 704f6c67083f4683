"""Calling tools as tasks, in both designs, over an in-process server in virtual time."""

from __future__ import annotations

import asyncio
import gc
import warnings
import weakref
from functools import partial
from typing import Any

import pytest

from mcpclient.client.client import Client
from mcpclient.client.tasks import TaskInputs
from mcpclient.errors import ClientClosed, ProtocolViolation, UsageError
from tests.client.scripted_server import turns
from tests.client.task_servers import DONE, handshake_server, stateless_server
from tests.support import virtual_time

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize("make", [handshake_server, stateless_server])
async def test_an_answer_at_once_is_a_task_that_is_over(make: Any) -> None:
    """F-API-13: a server may answer without making a task of the call."""
    server = make()
    server.answers["tools/call"] = DONE
    async with server.client(tasks=True) as client:
        task = await client.call_tool_task("quick")
        assert task.is_over
        assert (await client.await_task(task)).text == "done"
        with pytest.raises(UsageError, match="no id"):
            await client.cancel_task(task)


async def test_progress_goes_on_for_as_long_as_the_task() -> None:
    """F-API-13, F-API-7: the token of the call stays valid after its answer."""
    server = handshake_server()
    heard: list[float] = []
    async with server.client() as client:
        task = await client.call_tool_task(
            "slow", on_progress=lambda progress: heard.append(progress.progress)
        )
        token = server.sent("tools/call")[0]["_meta"]["progressToken"]
        for step in range(3):
            server.notify("notifications/progress", progressToken=token, progress=step)
        server.notify("notifications/progress", progressToken="other", progress=9)
        server.notify("notifications/progress", progressToken=[], progress=9)
        await client.await_task(task)
    assert heard == [0, 1, 2]


async def test_what_is_remembered_of_tasks_is_bounded() -> None:
    """F-API-13: a program that starts tasks and never comes back does not grow."""
    server = handshake_server()
    kept: weakref.WeakSet[Any] = weakref.WeakSet()
    async with server.client() as client:
        for number in range(1010):
            handler = partial(print, number)
            kept.add(handler)
            await client.call_tool_task("slow", on_progress=handler)
            waiting = asyncio.ensure_future(client.await_task(str(number)))
            await asyncio.sleep(0)
            waiting.cancel()
        assert len(kept) == 1000
        assert sum(isinstance(each, TaskInputs) for each in gc.get_objects()) == 1000


def test_a_call_that_is_given_up_as_the_client_is_closed() -> None:
    """F-API-13, F-LIFE-5: what was to cancel its task is not begun, and no warning says so."""
    server = handshake_server()
    server.answers["tools/call"] = lambda params: None

    async def main() -> None:
        async with server.client() as client:
            calling = asyncio.ensure_future(client.call_tool_task("slow"))
            await turns()
            calling.cancel()
            closing = asyncio.ensure_future(client.close())
            await asyncio.wait({calling, closing})
            assert calling.cancelled()

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        virtual_time.run(main())
        gc.collect()
    assert warned == []


@pytest.mark.parametrize("wait", [False, True])
async def test_the_state_of_another_task_is_a_violation(wait: bool) -> None:
    """F-API-13: whoever asked for t1 is not told what became of t2."""
    server = handshake_server()
    server.answers["tasks/get"] = {"taskId": "t2", "status": "completed"}
    async with server.client() as client:
        with pytest.raises(ProtocolViolation, match=r"asked for task t1, .* described t2"):
            await (client.await_task("t1") if wait else client.get_task("t1"))


@pytest.mark.parametrize("make", [handshake_server, stateless_server])
async def test_the_result_of_a_task_is_no_task(make: Any) -> None:
    """F-API-13: it would lead to the next one, and so on."""
    server = make()
    if make is handshake_server:
        server.answers["tasks/result"] = {"task": {"taskId": "t2", "status": "working"}}
    else:
        another = {"resultType": "task", "taskId": "t2", "status": "working"}
        server.answers["tasks/get"] = {"taskId": "t1", "status": "completed", "result": another}
    async with server.client(tasks=True) as client:
        task = await client.call_tool_task("slow")
        with pytest.raises(ProtocolViolation):
            await client.await_task(task)


# What both designs of tasks share: the capabilities that they look at


async def test_before_there_is_a_connection_no_capability_is_missing() -> None:
    """F-API-13: what is missing is the connection."""
    client = Client(["server"])
    with pytest.raises(ClientClosed, match="not connected yet"):
        await client.call_tool_task("tool")
    with pytest.raises(ClientClosed, match="not connected yet"):
        await client.list_tasks()
