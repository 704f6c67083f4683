"""Tasks as the extension has them."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import McpError, PeerError, ProtocolViolation, TaskFailed
from mcpclient.protocol.negotiation import TASKS
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
from tests.support.tables import each_row

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
    assert capabilities == {"extensions": {TASKS: {}}}
    assert server.sent("tasks/result") == []


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


@each_row(
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
