"""What a client knows of its server's tools. F-API-13, F-API-23, F-MANY-12."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.client.events.around import Call, Proceed
from mcpclient.client.listed_tools import ListedTools
from mcpclient.errors import ClientClosed
from mcpclient.protocol.types import CallToolResult, Tool
from tests.client.scripted_server import HANDSHAKE, STATELESS, ScriptedServer, turns
from tests.client.task_servers import DONE, handshake_server, listed
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time


READS = Tool({"name": "reads", "annotations": {"readOnlyHint": True}})
SLOW = Tool({"name": "slow", "execution": {"taskSupport": "required"}})


def test_the_last_list_is_what_is_known() -> None:
    """F-API-23"""
    tools = ListedTools()
    assert tools.are_stale and tools.find("reads") is None
    tools.learn([READS, SLOW])
    assert not tools.are_stale
    assert (tools.find("reads"), tools.find("other")) == (READS, None)
    assert tools.only_tasks == {"slow"}
    tools.learn([READS])
    assert tools.find("slow") is None and not tools.only_tasks


def test_a_definition_that_may_have_changed_is_not_known() -> None:
    """F-API-23, F-MANY-12: how a tool is called is no matter of trust, and stays."""
    tools = ListedTools()
    tools.learn([READS, SLOW])
    tools.notified("notifications/prompts/list_changed", {})
    assert tools.find("reads") is READS
    tools.notified("notifications/tools/list_changed", {})
    assert tools.are_stale and tools.find("reads") is None
    assert tools.only_tasks == {"slow"}


def test_a_result_is_not_lost_when_the_client_is_closed_before_it_is_checked() -> None:
    """F-API-13: only a client that is open can say what its sandbox has denied."""

    def closed() -> str:
        raise ClientClosed()

    result = CallToolResult({"isError": True, "content": []})
    ListedTools(stderr_of_sandbox=closed).check("reads", result)
    assert result.is_error and result.warnings == []


@pytest.mark.parametrize("version", [HANDSHAKE, STATELESS])
async def test_no_approval_rests_on_what_a_tool_was(version: str) -> None:
    """F-API-23: a tool that was read-only may destroy something once the tools have changed."""
    answers = {"tools/list": {"tools": [READS.raw]}, "tools/call": DONE}
    server = ScriptedServer(answers, version=version)
    seen: list[bool] = []

    async def note(call: Call, proceed: Proceed) -> CallToolResult:
        seen.append(call.read_only)
        return await proceed(call)

    async with server.client(around=[note], trusted=True, cache=False) as client:
        await client.call_tool("reads")
        await client.list_tools()
        await client.call_tool("reads")
        server.notify("notifications/tools/list_changed")
        await turns()
        await client.call_tool("reads")
        await client.list_tools()
        await client.call_tool("reads")
    assert seen == [False, True, False, True]


async def test_a_tool_that_can_only_be_a_task_stays_one_until_the_next_list() -> None:
    """F-API-13: news of some other tool does not break calls of this one."""
    server = handshake_server()
    server.answers["tools/list"] = listed("required")
    async with server.client() as client:
        await client.list_tools()
        server.notify("notifications/tools/list_changed")
        await turns()
        assert (await client.call_tool("slow")).text == "done"
    assert server.sent("tools/call")[0]["task"] == {}


def test_of_two_tools_with_one_name_the_first_counts() -> None:
    """F-SAFE-5: for hooks and for output schemas, as for a manager and for a lock."""
    first = {"name": "x", "description": "first", "outputSchema": {"type": "object"}}
    second = {"name": "x", "description": "second", "outputSchema": {"type": "array"}}
    seen: list[Tool | None] = []

    async def note(call: Call, proceed: Proceed) -> CallToolResult:
        seen.append(call.tool)
        return await proceed(call)

    async def main() -> None:
        answers: dict[str, Any] = {
            "tools/list": {"tools": [first, second]},
            "tools/call": {"content": [], "structuredContent": {}},
        }
        scripted = ScriptedServer(answers, version=STATELESS, capabilities={"tools": {}})
        async with scripted.client(around=[note], validate="strict") as client:
            assert [each.description for each in await client.list_tools()] == ["first", "second"]
            assert (await client.call_tool("x")).structured == {}

    run(main())
    assert [each and each.description for each in seen] == ["first"]
