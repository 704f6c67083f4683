"""Waiting for a task: losses, limits, and every way it can end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.errors import (
    CallTimeout,
    ClientClosed,
    ConnectionLost,
    HandlerFailed,
    McpError,
    PeerError,
    ProtocolViolation,
    TaskFailed,
)
from mcpclient.protocol.tasks import EXTENSION, Task
from tests.client.scripted_server import ScriptedServer
from tests.client.task_servers import (
    ADA,
    ASK_NAME,
    DONE,
    CuriousServer,
    StatelessServer,
    noting,
    task,
    wait_for_it,
)
from tests.support.clients import now

pytestmark = pytest.mark.virtual_time


def test_it_is_asked_as_often_as_the_server_wants() -> None:
    """F-API-13: pollInterval."""
    server = StatelessServer((0, task("working")), (7.5, task("completed", result=DONE)))
    assert wait_for_it(server) == ("done", 8)
    assert len(server.sent("tasks/get")) == 9


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


def test_status_may_be_taken_by_a_coroutine() -> None:
    """F-API-13: in order, each change once, all before the result."""
    seen: list[str | None] = []

    async def slowly(each: Task) -> None:
        await asyncio.sleep(3)
        seen.append(each.status_message)

    server = StatelessServer(
        (0, task("working", statusMessage="one")),
        (2, task("working", statusMessage="two")),
        (4, task("completed", statusMessage="three", result=DONE)),
    )
    assert wait_for_it(server, on_status=slowly) == ("done", 9)
    assert seen == ["one", "two", "three"]


def test_a_task_that_vanished_is_the_servers_error() -> None:
    """F-API-13: -32602, at once and without a retry."""
    server = ScriptedServer(capabilities={"extensions": {EXTENSION: {}}})

    def gone(_: Mapping[str, Any]) -> dict[str, Any]:
        raise PeerError(-32602, "Task not found")

    server.answers["tasks/get"] = gone
    with pytest.raises(PeerError, match="Task not found"):
        wait_for_it(server)
    assert len(server.sent("tasks/get")) == 1


def test_a_task_that_never_ends_outlives_its_time() -> None:
    """F-API-13: bounded by the time to live, whatever max_timeout says by default."""
    server = StatelessServer((0, task("working", ttlMs=3_600_000)))
    with pytest.raises(TaskFailed, match="time to live") as caught:
        wait_for_it(server)
    assert (caught.value.task_id, caught.value.status) == ("t1", "working")
    assert len(server.sent("tasks/get")) == pytest.approx(3601, abs=2)


async def test_a_task_without_a_time_to_live_has_the_clients_limit() -> None:
    """F-API-13: never waits without end by default."""
    server = StatelessServer((0, task("working")))
    async with server.client(tasks=True) as client:
        with pytest.raises(CallTimeout, match="max_timeout"):
            await client.await_task("t1")
        assert now() == 600


async def test_the_callers_limit_counts_before_the_time_to_live() -> None:
    """F-API-13"""
    server = StatelessServer((0, task("working", pollIntervalMs=100_000)))
    async with server.client(tasks=True) as client:
        with pytest.raises(CallTimeout):
            await client.await_task("t1", max_timeout=2.5)
        assert now() == 2.5
        waiting = asyncio.ensure_future(client.await_task("t1", max_timeout=None))
        await asyncio.sleep(50_000)
        assert not waiting.done()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting


@pytest.mark.parametrize("seconds", [9, 60])
async def test_a_server_that_falls_silent_gets_no_more_time_than_there_is(seconds: int) -> None:
    """F-API-13, F-API-7: the last request does not get its own limit on top of the caller's, nor
    none at all when the time is over as it is made.
    """
    server = StatelessServer((0, task("working", pollIntervalMs=seconds * 1000)))

    def fall_silent(_: Mapping[str, Any]) -> dict[str, Any] | None:
        return None if now() else server.states[0][1]

    server.answers["tasks/get"] = fall_silent
    async with server.client(tasks=True) as client:
        with pytest.raises(CallTimeout, match="task t1"):
            await client.await_task("t1", max_timeout=10)
        assert now() == pytest.approx(10, abs=0.2)


async def test_cancelling_the_wait_leaves_the_task_alone() -> None:
    """F-API-13: the task goes on, and can be waited for again."""
    server = StatelessServer((0, task("working")), (9, task("completed", result=DONE)))
    async with server.client(tasks=True) as client:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.await_task("t1"), 3)
        assert (await client.await_task("t1")).text == "done"
    assert server.sent("tasks/cancel") == []


async def test_giving_up_the_wait_gives_up_the_question() -> None:
    """F-API-13: nobody would send what the user answers."""
    server = StatelessServer((0, task("input_required", inputRequests={"name": ASK_NAME})))
    ends: list[str] = []

    async def elicit(request: object) -> dict[str, Any]:
        try:
            await asyncio.sleep(3600)
        finally:
            ends.append("withdrawn")
        return ADA

    async with server.client(tasks=True, elicitation=elicit) as client:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.await_task("t1"), 3)
        assert ends == ["withdrawn"]


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


async def test_a_server_that_stays_away_is_given_up() -> None:
    """F-API-13: five tries in a row."""
    server = StatelessServer((0, task("working")))
    async with server.client(tasks=True) as client:
        waiting = asyncio.ensure_future(client.await_task("t1"))
        await asyncio.sleep(2.5)
        server.answers["server/discover"] = lambda _: server.lose()
        server.lose()
        with pytest.raises(ConnectionLost):
            await waiting
    assert server.connections >= 6


async def test_losses_do_not_stretch_the_limit() -> None:
    """F-API-13: the limit is looked at before every new try."""
    server = StatelessServer((0, task("working")))
    async with server.client(tasks=True) as client:
        waiting = asyncio.ensure_future(client.await_task("t1", max_timeout=4))
        await asyncio.sleep(2.5)
        server.answers["server/discover"] = lambda _: server.lose()
        server.lose()
        with pytest.raises(CallTimeout):
            await waiting
        assert now() < 10


async def test_closing_the_client_ends_the_wait() -> None:
    """F-LIFE-5: and does not reconnect it."""
    server = StatelessServer((0, task("working")))
    async with server.client(tasks=True) as client:
        waiting = asyncio.ensure_future(client.await_task("t1"))
        await asyncio.sleep(2.5)
        await client.close()
        with pytest.raises(ClientClosed):
            await waiting
    assert server.connections == 1


def test_an_answer_that_was_not_delivered_is_sent_again() -> None:
    """F-API-13: the user is not asked a second time because the connection broke."""
    asked: list[Any] = []
    server = StatelessServer(
        (0, task("input_required", inputRequests={"name": ASK_NAME})),
        (20, task("completed", result=DONE)),
    )
    server.answers["tasks/update"] = lambda _: server.lose() if server.connections == 1 else {}
    wait_for_it(server, elicitation=noting(asked))
    assert len(asked) == 1
    assert len(server.sent("tasks/update")) == 2


def test_input_nobody_can_give_ends_the_wait() -> None:
    """F-API-10: what was not declared, and a handler that fails, are errors of the wait."""
    states = (0, task("input_required", inputRequests={"name": ASK_NAME}))
    with pytest.raises(McpError, match="elicitation"):
        wait_for_it(StatelessServer(states))

    def fail(request: object) -> dict[str, Any]:
        raise RuntimeError("no idea")

    with pytest.raises(HandlerFailed):
        wait_for_it(StatelessServer(states), elicitation=fail)


async def test_a_handler_that_is_cancelled_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-13"""
    server = StatelessServer((0, task("input_required", inputRequests={"name": ASK_NAME})))
    async with server.client(tasks=True, elicitation=lambda request: ADA) as client:

        async def cancelled(requests: object) -> dict[str, Any]:
            raise asyncio.CancelledError

        monkeypatch.setattr(client._caller, "answers", cancelled)
        with pytest.raises(HandlerFailed, match="cancelled"):
            await client.await_task("t1")


def test_a_task_may_ask_for_so_much_and_no_more() -> None:
    """F-API-12, F-API-13: a user was asked 4,430 times in eight seconds."""
    asked: list[Any] = []
    with pytest.raises(ProtocolViolation, match="asked for input more than 100 times"):
        wait_for_it(CuriousServer(), elicitation=noting(asked))
    assert len(asked) == 100
