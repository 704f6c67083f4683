"""Tasks as revision 2025-11-25 has them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.errors import CallTimeout, PeerError, ProtocolViolation, UsageError
from mcpclient.protocol.tasks import EXTENSION, RELATED_TASK
from mcpclient.protocol.types import Tool
from tests.client.task_servers import (
    ADA,
    CORE_TASKS,
    DONE,
    WITH_EXTENSION,
    HandshakeServer,
    InsistentServer,
    handshake_server,
    listed,
    noting,
    stateless_server,
    task,
    wait_for_it,
)
from tests.support import virtual_time
from tests.support.clients import now

pytestmark = pytest.mark.virtual_time


async def test_a_call_becomes_a_task_of_the_core() -> None:
    """F-API-13: task in the params, CreateTaskResult, tasks/get until it is over, tasks/result."""
    server = handshake_server()
    async with server.client() as client:
        task = await client.call_tool_task("slow", {"a": 1}, ttl=60)
        assert (task.id, task.status, task.ttl) == ("t1", "working", 60)
        assert (await client.get_task(task)).status == "working"
        seen: list[str] = []
        result = await client.await_task(task, on_status=lambda now: seen.append(now.status))
        assert result.text == "done"
        assert seen == ["working", "completed"]
    (call,) = server.sent("tools/call")
    assert call == {"name": "slow", "arguments": {"a": 1}, "task": {"ttl": 60_000}}
    assert server.sent("tasks/result") == [{"taskId": "t1"}]
    assert server.sent("tasks/get") == [{"taskId": "t1"}] * 4


async def test_tasks_are_listed_where_the_server_lists_them() -> None:
    """F-API-13: tasks/list, all pages, if the server declares it."""
    server = handshake_server()
    async with server.client() as client:
        assert [task.id for task in await client.list_tasks()] == ["t1", "t2"]
    async with handshake_server({"tasks": {}}).client() as client:
        with pytest.raises(UsageError, match=r"tasks\.list"):
            await client.list_tasks()
    async with stateless_server().client(tasks=True) as client:
        with pytest.raises(UsageError, match="do not list"):
            await client.list_tasks()


@pytest.mark.parametrize(
    ("make", "capabilities", "options", "expected"),
    [
        (handshake_server, {}, {}, r"tasks\.requests\.tools\.call"),
        (stateless_server, WITH_EXTENSION, {}, "tasks=True"),
        (stateless_server, {}, {"tasks": True}, EXTENSION),
    ],
)
async def test_nothing_is_asked_for_that_was_not_agreed_on(
    make: Any, capabilities: Any, options: Any, expected: str
) -> None:
    """F-API-13, F-API-19: clear errors, and not a single request behind the caller's back."""
    server = make(capabilities)
    async with server.client(**options) as client:
        with pytest.raises(UsageError, match=expected):
            await client.call_tool_task("slow")
    assert server.sent("tools/call") == [] and server.sent("tools/list") == []


async def test_what_the_server_does_not_cancel_is_not_asked_of_it() -> None:
    """F-API-13"""
    async with handshake_server({"tasks": {}}).client() as client:
        with pytest.raises(UsageError, match=r"tasks\.cancel"):
            await client.cancel_task("t1")


async def test_a_listed_tool_says_whether_it_can_be_a_task() -> None:
    """F-API-13: execution.taskSupport, where the caller has the tool at hand."""
    server = handshake_server()
    optional = Tool({"name": "slow", "execution": {"taskSupport": "optional"}})
    async with server.client() as client:
        assert (await client.call_tool_task(optional)).id == "t1"
        with pytest.raises(UsageError, match="'echo'"):
            await client.call_tool_task(Tool({"name": "echo"}))
    assert len(server.sent("tools/call")) == 1


async def test_a_tool_that_can_only_be_a_task_is_called_as_one() -> None:
    """F-API-13: the listing says so, and `call_tool` returns the result all the same."""
    server = handshake_server()
    server.answers["tools/list"] = listed("required")
    heard: list[float] = []
    async with server.client() as client:
        await client.list_tools()
        calling = asyncio.ensure_future(
            client.call_tool(
                "slow",
                on_progress=lambda step: heard.append(step.progress),
                meta={"com.example/a": 1},
            )
        )
        await asyncio.sleep(1)
        meta = server.sent("tools/call")[0]["_meta"]
        assert meta["com.example/a"] == 1
        token = meta["progressToken"]
        server.notify("notifications/progress", progressToken=token, progress=1)
        assert (await calling).text == "done"
        assert heard == [1]
    assert server.sent("tools/call")[0]["task"] == {}
    assert server.sent("tasks/result") == [{"taskId": "t1"}]


@pytest.mark.parametrize(
    ("support", "capabilities"), [("optional", CORE_TASKS), (None, CORE_TASKS), ("required", {})]
)
async def test_any_other_tool_is_called_plainly(support: str | None, capabilities: Any) -> None:
    """F-API-13: also where the server could not make a task of it."""
    server = handshake_server(capabilities)
    server.answers.update({"tools/list": listed(support), "tools/call": DONE})
    async with server.client() as client:
        await client.list_tools()
        assert (await client.call_tool("slow")).text == "done"
    assert "task" not in server.sent("tools/call")[0]


@pytest.mark.parametrize("immediate", [False, True])
async def test_a_call_that_is_a_task_can_be_cancelled(immediate: bool) -> None:
    """F-API-13: with tasks/cancel, as soon as the id is known; an answer at once is a result."""
    server = handshake_server()
    server.answers["tools/list"] = listed("required")
    if immediate:
        server.answers["tools/call"] = DONE
    async with server.client() as client:
        await client.list_tools()
        calling = asyncio.ensure_future(client.call_tool("slow"))
        await asyncio.sleep(1)
        if immediate:
            assert (await calling).text == "done"
            return
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await asyncio.sleep(1)
        assert server.sent("tasks/cancel") == [{"taskId": "t1"}]


@pytest.mark.parametrize("as_task", [False, True])
@pytest.mark.parametrize("answer", ["task", "result", "error", "none"])
async def test_a_task_is_cancelled_by_its_id_and_by_nothing_else(
    as_task: bool, answer: str
) -> None:
    """F-API-13: also where its id comes only after the caller has given the call up.

    "For task-augmented requests, the tasks/cancel request MUST be used instead of the
    notifications/cancelled notification" (2025-11-25, Cancellation).
    """
    server = handshake_server()
    server.answers["tools/list"] = listed("required")
    created = server.answers["tools/call"]

    async def late(_: Mapping[str, Any]) -> Any:
        await asyncio.sleep(5)
        if answer == "error":
            raise PeerError(-32603, "it failed")
        return {"task": created, "result": DONE, "none": None}[answer]

    server.answers["tools/call"] = late
    async with server.client(timeout=20) as client:
        await client.list_tools()
        work = client.call_tool_task("slow") if as_task else client.call_tool("slow")
        calling = asyncio.ensure_future(work)
        await asyncio.sleep(1)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert server.sent("tasks/cancel") == []
        await asyncio.sleep(60)
        assert server.sent("tasks/cancel") == ([{"taskId": "t1"}] if answer == "task" else [])
    assert server.sent("notifications/cancelled") == []


async def test_nobody_waits_for_the_id_of_a_task_once_the_client_is_closed() -> None:
    """F-API-13, F-LIFE-6"""
    server = handshake_server()
    server.answers["tools/call"] = lambda _: None
    async with server.client() as client:
        calling = asyncio.ensure_future(client.call_tool_task("slow"))
        await asyncio.sleep(1)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_call_that_asks_for_a_task_has_limits_as_any_other() -> None:
    """F-API-7, F-API-13: the server is told nothing, since the id is not known."""
    server = handshake_server()
    server.answers["tools/call"] = lambda _: None
    async with server.client() as client:
        with pytest.raises(CallTimeout):
            await client.call_tool_task("slow", timeout=3)
        assert now() == pytest.approx(3, abs=0.1)
    assert server.sent("notifications/cancelled") == []


async def test_a_tool_that_is_known_not_to_be_a_task_is_not_called_as_one() -> None:
    """F-API-13: the name is enough once it has been listed."""
    server = handshake_server()
    server.answers["tools/list"] = listed(None)
    async with server.client() as client:
        await client.call_tool_task("slow")
        await client.list_tools()
        with pytest.raises(UsageError, match="cannot be called as a task"):
            await client.call_tool_task("slow")
    assert len(server.sent("tools/call")) == 1


def test_input_is_asked_for_over_the_request_for_the_result() -> None:
    """F-API-13: input_required means to call tasks/result, beside further polling."""
    server, seen = HandshakeServer(), []
    text, _ = wait_for_it(
        server, elicitation=lambda request: ADA, on_status=lambda each: seen.append(each.status)
    )
    assert text == "done"
    assert server.answer["result"]["content"] == {"name": "Ada"}
    assert server.answer["result"]["_meta"] == {RELATED_TASK: {"taskId": "t1"}}
    assert seen[0] == "input_required" and "working" in seen
    assert len(server.sent("tasks/result")) == 1


def test_a_human_may_take_his_time_in_the_handshake_era() -> None:
    """F-API-7: the wait knows which of the server's requests belong to its task."""

    async def elicit(request: object) -> dict[str, Any]:
        await asyncio.sleep(3600)
        return ADA

    text, took = wait_for_it(HandshakeServer(), elicitation=elicit, max_timeout=10)
    assert text == "done" and took >= 3600


def test_a_request_for_the_result_that_breaks_is_made_again() -> None:
    """F-API-13: asking goes on meanwhile, and so does the wait."""
    server = HandshakeServer()
    result = server.answers["tasks/result"]
    assert callable(result)

    def breaking(params: dict[str, Any]) -> Any:
        return server.lose() if server.connections == 1 else result(params)

    server.answers["tasks/result"] = breaking
    assert wait_for_it(server, elicitation=lambda request: ADA)[0] == "done"
    assert server.connections == 2


def test_the_error_of_the_result_is_raised() -> None:
    """F-API-13: tasks/result gives exactly what the call would have given."""

    def fail(_: Mapping[str, Any]) -> dict[str, Any]:
        raise PeerError(-32603, "it failed")

    waiting = HandshakeServer()
    waiting.answers["tasks/result"] = fail
    over = HandshakeServer()
    over.answers = {"tasks/get": task("failed"), "tasks/result": fail}
    for server in (waiting, over):
        with pytest.raises(PeerError, match="it failed"):
            wait_for_it(server, elicitation=lambda request: ADA)
        assert [params["taskId"] for params in server.sent("tasks/result")] == ["t1"]


def test_a_wait_that_is_over_asks_no_second_time_for_the_result() -> None:
    """F-API-13: some servers forget a result once it has been fetched."""
    server = HandshakeServer()

    async def late(params: dict[str, Any]) -> dict[str, Any]:
        server.answered_at = 0.0
        await asyncio.sleep(3)
        return DONE

    server.answers["tasks/result"] = late
    assert wait_for_it(server)[0] == "done"
    assert len(server.sent("tasks/result")) == 1

    async def never(params: dict[str, Any]) -> None:
        if len(server.sent("tasks/result")) > 2:
            server.answers["tasks/result"] = DONE
            server.reply(server.ids("tasks/result")[-1], DONE)

    server = HandshakeServer()
    server.answers["tasks/result"] = lambda _: setattr(server, "answered_at", 0.0)
    server.answers["tasks/get"] = lambda _: task(
        "completed" if server.answered_at is not None else "input_required"
    )

    async def main() -> None:
        async with server.client(timeout=5) as client:
            waiting = asyncio.ensure_future(client.await_task("t1"))
            await asyncio.sleep(3)
            server.answers["tasks/result"] = DONE
            assert (await waiting).text == "done"

    virtual_time.run(main())
    assert len(server.sent("tasks/result")) == 2


def test_a_task_of_the_handshake_era_may_ask_for_so_much_and_no_more() -> None:
    """F-API-13: each of its requests is answered, with an error in the end."""
    asked: list[Any] = []
    server = InsistentServer(0.001)
    with pytest.raises(ProtocolViolation, match="asked for input more than 100 times"):
        wait_for_it(server, elicitation=noting(asked))
    assert len(asked) == 100
    assert set(server.refusals) == {"this task has asked for too much input"}


def test_asking_does_not_stop_the_clock_of_a_task() -> None:
    """F-API-7: only the time that a handler takes is not counted."""
    with pytest.raises(CallTimeout, match="max_timeout"):
        wait_for_it(InsistentServer(0.4), elicitation=lambda request: ADA, max_timeout=20)
