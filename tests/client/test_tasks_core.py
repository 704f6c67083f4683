"""Tasks as revision 2025-11-25 has them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.errors import PeerError, ProtocolViolation, UsageError
from mcpclient.protocol.negotiation import RELATED_TASK, TASKS
from mcpclient.protocol.types import Tool
from tests.client.task_servers import (
    ADA,
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

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize(
    ("make", "capabilities", "options", "expected"),
    [
        (handshake_server, {}, {}, r"tasks\.requests\.tools\.call"),
        (stateless_server, WITH_EXTENSION, {}, "tasks=True"),
        (stateless_server, {}, {"tasks": True}, TASKS),
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
