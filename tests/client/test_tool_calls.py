"""What calls and tasks have in common: the functions around them. F-API-23."""

from __future__ import annotations

from typing import Any

import mcpclient
from mcpclient.client.events.around import Call, Proceed
from mcpclient.protocol.types import CallToolResult
from tests.client.scripted_server import HANDSHAKE, ScriptedServer
from tests.support.virtual_time import run

TASK = {"taskId": "7", "status": "working", "ttl": None, "createdAt": "", "lastUpdatedAt": ""}
CAPABILITIES: dict[str, Any] = {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}


def server() -> ScriptedServer:
    answers: dict[str, Any] = {"tools/call": {"task": TASK}}
    return ScriptedServer(answers, version=HANDSHAKE, capabilities=CAPABILITIES)


def test_a_task_is_made_inside_the_hooks() -> None:
    """F-API-23: an approval of calls approves calls that become tasks."""
    seen: list[Call] = []

    async def note(call: Call, proceed: Proceed) -> CallToolResult:
        seen.append(call)
        return await proceed(call)

    async def main() -> None:
        async with server().client(around=[note]) as client:
            task = await client.call_tool_task("slow", {"a": 1}, around=[note])
            assert task.id == "7"

    run(main())
    assert [(call.name, call.arguments) for call in seen] == [("slow", {"a": 1})] * 2


def test_a_refused_task_is_over() -> None:
    """F-API-23: its result is the refusal, as a server's that answers at once."""

    async def refuse(call: Call, proceed: Proceed) -> CallToolResult:
        return mcpclient.refusal("no")

    async def main() -> None:
        scripted = server()
        async with scripted.client(around=[refuse]) as client:
            task = await client.call_tool_task("slow")
            result = await client.await_task(task)
            assert (result.is_error, result.text) == (True, "no")
        assert not scripted.sent("tools/call")

    run(main())
