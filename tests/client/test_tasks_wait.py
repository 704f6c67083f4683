"""Waiting for a task: losses, limits, and every way it can end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpclient.errors import HandlerFailed, ProtocolViolation, TaskFailed
from mcpclient.protocol.tasks import Task
from tests.client.task_servers import (
    ASK_NAME,
    DONE,
    CuriousServer,
    StatelessServer,
    noting,
    task,
    wait_for_it,
)

pytestmark = pytest.mark.virtual_time


async def test_a_handle_that_is_new_is_not_asked_about_at_once() -> None:
    """F-API-13: what the call said is the first status; news may come before the first question."""
    seen: list[str] = []
    server = StatelessServer((0, task("completed", result=DONE)))
    async with server.client(tasks=True) as client:
        handle = Task(task("working"))
        note = seen.append
        waiting = asyncio.ensure_future(
            client.await_task(handle, on_status=lambda each: note(each.status))
        )
        await asyncio.sleep(0.5)
        server.notify("notifications/tasks", **task("paused"))
        server.notify("notifications/tasks", **task("completed", result=DONE))
        server.notify("notifications/tasks", **task("working"))
        assert (await waiting).text == "done"
    assert seen == ["working", "paused", "completed"]
    assert server.sent("tasks/get") == []


def test_an_unknown_status_is_kept_and_waited_through() -> None:
    """F-API-13: the next revision's states do no harm."""
    seen: list[str] = []
    server = StatelessServer((0, task("queued")), (2, task("completed", result=DONE)))
    wait_for_it(server, on_status=lambda each: seen.append(each.status))
    assert seen == ["queued", "completed"]


def test_a_task_that_never_ends_outlives_its_time() -> None:
    """F-API-13: bounded by the time to live, whatever max_timeout says by default."""
    server = StatelessServer((0, task("working", ttlMs=60_000)))
    with pytest.raises(TaskFailed, match="time to live") as caught:
        wait_for_it(server)
    assert (caught.value.task_id, caught.value.status) == ("t1", "working")
    assert len(server.sent("tasks/get")) == pytest.approx(61, abs=2)


async def test_it_survives_a_reconnection() -> None:
    """F-API-13: only the id is needed."""
    server = StatelessServer((0, task("working")), (30, task("completed", result=DONE)))
    async with server.client(tasks=True) as client:
        waiting = asyncio.ensure_future(client.await_task("t1"))
        for _ in range(3):
            await asyncio.sleep(8)
            server.lose()
        assert (await waiting).text == "done"
    assert server.connections == 4


async def test_a_handler_that_is_cancelled_ends_the_wait() -> None:
    """F-API-13"""

    async def cancelled(request: object) -> dict[str, Any]:
        raise asyncio.CancelledError

    server = StatelessServer((0, task("input_required", inputRequests={"name": ASK_NAME})))
    async with server.client(tasks=True, elicitation=cancelled) as client:
        with pytest.raises(HandlerFailed, match="cancelled"):
            await client.await_task("t1")


def test_a_task_may_ask_for_so_much_and_no_more() -> None:
    """F-API-12, F-API-13: a user was asked 4,430 times in eight seconds."""
    asked: list[Any] = []
    with pytest.raises(ProtocolViolation, match="asked for input more than 100 times"):
        wait_for_it(CuriousServer(), elicitation=noting(asked))
    assert len(asked) == 100
