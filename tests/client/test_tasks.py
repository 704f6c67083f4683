"""What both designs of tasks share: the capabilities that they look at."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.client.client import Client
from mcpclient.errors import ClientClosed, UsageError
from tests.client.scripted_server import HANDSHAKE, ScriptedServer
from tests.client.task_servers import CORE_TASKS, WITH_EXTENSION

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize(
    ("version", "capabilities", "missing"),
    [
        (HANDSHAKE, CORE_TASKS, "tasks.requests.tools.call"),
        ("2026-07-28", WITH_EXTENSION, "extensions.io.modelcontextprotocol/tasks"),
    ],
)
async def test_a_capability_that_is_missing_is_named(
    version: str, capabilities: dict[str, Any], missing: str
) -> None:
    """F-API-13: before anything is sent."""
    server = ScriptedServer(version=version, capabilities=capabilities)
    async with server.client(tasks=True) as client:
        client._tasks.check_call("echo", None)
    async with ScriptedServer(version=version).client(tasks=True) as client:
        with pytest.raises(UsageError, match=f"does not declare the capability {missing}"):
            client._tasks.check_call("echo", None)


async def test_before_there_is_a_connection_no_capability_is_missing() -> None:
    """F-API-13: what is missing is the connection."""
    client = Client(["server"])
    with pytest.raises(ClientClosed, match="not connected yet"):
        await client.call_tool_task("tool")
    with pytest.raises(ClientClosed, match="not connected yet"):
        await client.list_tasks()
