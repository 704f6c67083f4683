"""Tasks as the extension has them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.errors import CallTimeout, McpError, PeerError, ProtocolViolation, TaskFailed
from mcpclient.protocol.tasks import EXTENSION
from tests.client.scripted_server import turns
from tests.client.task_servers import (
    ADA,
    ASK_NAME,
    CREATED,
    DONE,
    StatelessServer,
    noting,
    stateless_server,
    task,
    wait_for_it,
)
from tests.support import virtual_time
from tests.support.clients import now

pytestmark = pytest.mark.virtual_time


async def test_a_call_becomes_a_task_of_the_extension() -> None:
    """F-API-13: the server decides; the result comes with the task."""
    server = stateless_server()
    async with server.client(tasks=True) as client:
        task = await client.call_tool_task("slow")
        assert (await client.await_task(task.id)).text == "done"
    (call,) = server.sent("tools/call")
    assert "task" not in call
    capabilities = call["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert capabilities == {"extensions": {EXTENSION: {}}}
    assert server.sent("tasks/result") == []


async def test_a_plain_call_waits_for_the_task_the_server_made_of_it() -> None:
    """F-API-13: unsolicited handles; the caller sees only the result."""
    server = stateless_server()
    async with server.client(tasks=True) as client:
        assert (await client.call_tool("slow")).text == "done"
        server.answers["tools/call"] = DONE
        assert (await client.call_tool("quick")).text == "done"
    assert len(server.sent("tools/call")) == 2


async def test_calls_at_the_same_time_wait_for_the_tasks_the_server_made_of_them() -> None:
    """F-API-13, F-API-2"""
    server = stateless_server()
    async with server.client(tasks=True) as client:
        outcomes = await client.call_tools([("slow", {}), ("slower", {})])
        assert [outcome.text for outcome in outcomes] == ["done", "done"]  # type: ignore[union-attr]


async def test_only_tool_calls_become_tasks() -> None:
    """F-API-13: a handle in answer to another request is invalid; so is one without id."""
    server = stateless_server()
    server.answers["prompts/get"] = {"resultType": "task", **CREATED}
    server.answers["tools/call"] = {"resultType": "task"}
    async with server.client(tasks=True) as client:
        with pytest.raises(ProtocolViolation):
            await client.get_prompt("x")
        with pytest.raises(ProtocolViolation, match="without id"):
            await client.call_tool("slow")


async def test_giving_up_a_plain_call_gives_up_its_task() -> None:
    """F-API-8: timeout and cancellation tell the server, which here means tasks/cancel."""
    server = stateless_server()
    server.answers["tasks/get"] = CREATED
    async with server.client(tasks=True) as client:
        with pytest.raises(CallTimeout):
            await client.call_tool("slow", max_timeout=5)
        await turns()
        assert len(server.sent("tasks/cancel")) == 1
        server.answers.pop("tasks/cancel")
        call = asyncio.ensure_future(client.call_tool("slow"))
        await asyncio.sleep(2)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await turns()
        assert len(server.sent("tasks/cancel")) == 2
        call = asyncio.ensure_future(client.call_tool("slow"))
        await asyncio.sleep(2)
        call.cancel()
        await client.close()
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_the_error_of_a_task_is_the_error_of_the_plain_call() -> None:
    """F-API-13"""
    server = stateless_server()
    error = {"code": -32603, "message": "rate limit", "data": {"retry": 1}}
    server.answers["tasks/get"] = {**CREATED, "status": "failed", "error": error}
    async with server.client(tasks=True) as client:
        with pytest.raises(PeerError, match="rate limit"):
            await client.call_tool("slow")
        await turns()
        assert server.sent("tasks/cancel") == []


def test_input_is_given_through_the_handlers_once() -> None:
    """F-API-13: inputRequests answered with tasks/update, and never twice for one key."""
    asked: list[Any] = []
    server = StatelessServer(
        (0, task("input_required", inputRequests={"name": ASK_NAME})),
        (5, task("working")),
        (6, task("completed", result=DONE)),
    )
    assert wait_for_it(server, elicitation=noting(asked))[0] == "done"
    assert len(asked) == 1
    (update,) = server.sent("tasks/update")
    assert update["taskId"] == "t1"
    assert update["inputResponses"] == {"name": ADA}


def test_requests_for_input_may_come_one_after_another() -> None:
    """F-API-13: each key is a request of its own; those answered are left out."""
    server = StatelessServer(
        (0, task("input_required", inputRequests={"a": ASK_NAME})),
        (3, task("input_required", inputRequests={"a": ASK_NAME, "b": ASK_NAME})),
        (6, task("completed", result=DONE)),
    )
    wait_for_it(server, elicitation=lambda request: ADA)
    assert [list(each["inputResponses"]) for each in server.sent("tasks/update")] == [["a"], ["b"]]


async def test_two_waits_ask_the_user_once() -> None:
    """F-API-13: whoever waits for the same task shares the answers."""
    asked: list[Any] = []
    server = StatelessServer(
        (0, task("input_required", inputRequests={"name": ASK_NAME})),
        (20, task("completed", result=DONE)),
    )

    async def elicit(request: object) -> dict[str, Any]:
        asked.append(request)
        await asyncio.sleep(5)
        return ADA

    async with server.client(tasks=True, elicitation=elicit) as client:
        await asyncio.gather(*(client.await_task("t1") for _ in range(2)))
    assert len(asked) == 1 and len(server.sent("tasks/update")) == 1


def test_a_human_may_take_his_time() -> None:
    """F-API-7: time in which a handler answers is not counted."""
    server = StatelessServer(
        (0, task("input_required", inputRequests={"name": ASK_NAME})),
        (3601, task("completed", result=DONE)),
    )

    async def elicit(request: object) -> dict[str, Any]:
        await asyncio.sleep(3600)
        return ADA

    assert wait_for_it(server, elicitation=elicit, max_timeout=10)[0] == "done"


def test_time_counts_again_after_the_answer() -> None:
    """F-API-7: what a human takes is left out to the moment, and nothing else is."""
    server = StatelessServer(
        (0, task("input_required", inputRequests={"name": ASK_NAME})), (20, task("working"))
    )

    async def elicit(request: object) -> dict[str, Any]:
        await asyncio.sleep(20.25)
        return ADA

    async def main() -> float:
        async with server.client(tasks=True, elicitation=elicit) as client:
            with pytest.raises(CallTimeout):
                await client.await_task("t1", max_timeout=10)
            return now()

    assert virtual_time.run(main()) == 30.25


def test_a_slow_server_may_take_its_time_while_a_model_answers() -> None:
    """F-API-7: a request meanwhile has the limits of any other."""
    asked = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}
    server = StatelessServer(
        (0, task("input_required", inputRequests={"model": asked})),
        (31, task("completed", result=DONE)),
    )

    async def get_slowly(params: Mapping[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(1)
        return server._get(params)

    async def sample(request: object) -> str:
        await asyncio.sleep(30)
        return "yes"

    server.answers["tasks/get"] = get_slowly
    assert wait_for_it(server, sampling=sample, max_timeout=10)[0] == "done"


def test_a_task_that_ends_meanwhile_needs_no_answer() -> None:
    """F-API-13: the handler is cancelled, and nothing is sent."""
    server = StatelessServer(
        (0, task("input_required", inputRequests={"name": ASK_NAME})), (3, task("cancelled"))
    )

    async def elicit(request: object) -> dict[str, Any]:
        await asyncio.sleep(3600)
        return ADA

    with pytest.raises(TaskFailed):
        wait_for_it(server, elicitation=elicit)
    assert server.sent("tasks/update") == []


@pytest.mark.parametrize(
    ("state", "error", "match"),
    [
        (task("failed", error={"code": -5, "message": "no", "data": 1}), PeerError, "no"),
        (task("failed", statusMessage="bad luck"), TaskFailed, "bad luck"),
        (task("failed", error={"message": "no code"}), TaskFailed, "failed"),
        (task("failed", error={"code": -5.0, "message": "as a float"}), PeerError, "error -5: as"),
        (task("failed", error={"code": True}, statusMessage="no code"), TaskFailed, "no code"),
        (task("cancelled", statusMessage="by request"), TaskFailed, "by request"),
        (task("completed"), ProtocolViolation, "missing"),
    ],
)
def test_ends_without_a_result(state: dict[str, Any], error: type[McpError], match: str) -> None:
    """F-API-13: the error the call ended with, or that there is nothing."""
    with pytest.raises(error, match=match):
        wait_for_it(StatelessServer((0, state)))
