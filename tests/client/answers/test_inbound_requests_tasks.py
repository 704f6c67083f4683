"""Tasks that the server creates for what it asks of the client (2025-11-25)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient import Client
from mcpclient.errors import CallTimeout
from mcpclient.protocol.tasks import RELATED_TASK
from tests.client.scripted_server import HANDSHAKE, ScriptedServer, turns
from tests.support import virtual_time

pytestmark = pytest.mark.virtual_time

SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 9}
REPLY = {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"}


async def sample_slowly(request: object) -> Mapping[str, Any]:
    await asyncio.sleep(10)
    return REPLY


def connected(**options: Any) -> tuple[ScriptedServer, Client]:
    server = ScriptedServer(version=HANDSHAKE)
    options = {"sampling": sample_slowly, "tasks": True, **options}
    return server, server.client(**options)


async def create(server: ScriptedServer, number: int = 1, **task: Any) -> dict[str, Any]:
    answer = await server.ask(f"ask-{number}", "sampling/createMessage", **SAMPLE, task=task)
    found: dict[str, Any] = answer["result"]["task"]
    return found


def test_the_capability_names_what_has_a_handler() -> None:
    """F-API-13: tasks.requests.sampling.createMessage, and nothing more."""

    async def main(**options: Any) -> Any:
        server, client = connected(**options)
        async with client:
            return server.sent("initialize")[0]["capabilities"].get("tasks")

    assert virtual_time.run(main()) == {
        "list": {},
        "cancel": {},
        "requests": {"sampling": {"createMessage": {}}},
    }
    assert virtual_time.run(main(sampling=None)) is None
    assert virtual_time.run(main(tasks=False)) is None


async def test_a_request_becomes_a_task() -> None:
    """F-API-13: created at once, polled, and its result fetched."""
    server, client = connected()
    async with client:
        task = await create(server, ttl=60_000)
        assert task["status"] == "working" and task["ttl"] == 60_000
        assert task["createdAt"].endswith("Z") and task["pollInterval"] > 0
        found = (await server.ask("get", "tasks/get", taskId=task["taskId"]))["result"]
        assert found == task
        await asyncio.sleep(11)
        found = (await server.ask("get", "tasks/get", taskId=task["taskId"]))["result"]
        assert found["status"] == "completed"
        result = (await server.ask("result", "tasks/result", taskId=task["taskId"]))["result"]
        assert result["content"] == REPLY["content"]
        assert result["_meta"] == {RELATED_TASK: {"taskId": task["taskId"]}}


async def test_the_result_can_be_waited_for() -> None:
    """F-API-13: tasks/result blocks until the task is over."""
    server, client = connected()
    async with client:
        task = await create(server)
        result = await server.ask("result", "tasks/result", taskId=task["taskId"])
        assert "result" in result
        assert asyncio.get_running_loop().time() == 10


async def test_tasks_are_listed() -> None:
    """F-API-13: one page; ids that cannot be guessed."""
    server, client = connected()
    async with client:
        created = [await create(server, number) for number in range(3)]
        listed = (await server.ask("list", "tasks/list"))["result"]["tasks"]
        assert listed == created
        assert all(len(each["taskId"]) == 32 for each in listed)
        answer = await server.ask("list", "tasks/list", cursor="2")
        assert answer["error"]["code"] == -32602


async def test_a_task_can_be_cancelled_once() -> None:
    """F-API-13: it is cancelled before the answer, and stays so."""
    server, client = connected()
    async with client:
        task_id = (await create(server))["taskId"]
        cancelled = (await server.ask("c", "tasks/cancel", taskId=task_id))["result"]
        assert cancelled["status"] == "cancelled" and cancelled["statusMessage"]
        again = await server.ask("c", "tasks/cancel", taskId=task_id)
        assert again["error"]["code"] == -32602
        result = await server.ask("r", "tasks/result", taskId=task_id)
        assert result["error"]["code"] == -32600
        await asyncio.sleep(20)
        found = (await server.ask("g", "tasks/get", taskId=task_id))["result"]
        assert found["status"] == "cancelled"


async def test_a_handler_that_fails_fails_the_task() -> None:
    """F-API-13, F-API-10: the status says so, and the result is the same error."""

    def fail(request: object) -> dict[str, Any]:
        raise RuntimeError("a secret")

    server, client = connected(sampling=fail)
    async with client:
        task_id = (await create(server))["taskId"]
        await turns()
        found = (await server.ask("g", "tasks/get", taskId=task_id))["result"]
        assert found["status"] == "failed" and found["statusMessage"]
        error = (await server.ask("r", "tasks/result", taskId=task_id))["error"]
        assert error["message"] == found["statusMessage"]
        assert "secret" not in str(found) + str(error)


async def test_a_handler_that_is_cancelled_cancels_the_task() -> None:
    """F-API-13"""

    async def cancelled(request: object) -> dict[str, Any]:
        raise asyncio.CancelledError

    server, client = connected(sampling=cancelled)
    async with client:
        task_id = (await create(server))["taskId"]
        await turns()
        found = (await server.ask("g", "tasks/get", taskId=task_id))["result"]
        assert found["status"] == "cancelled"


@pytest.mark.parametrize(
    ("ttl", "kept"),
    [(5000, 5), (None, 3600), ("5", 3600), (True, 3600), (-1, 3600), (10**400, 86_400)],
)
def test_a_task_is_kept_for_its_time_and_no_longer(ttl: object, kept: float) -> None:
    """F-API-13: an hour by default, a day at most; then it is stopped and forgotten."""

    async def sample_for_ever(request: object) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def main() -> None:
        server, client = connected(sampling=sample_for_ever)
        async with client:
            task = await create(server, ttl=ttl)
            assert task["ttl"] == kept * 1000
            await asyncio.sleep(kept - 1)
            assert "result" in await server.ask("g", "tasks/get", taskId=task["taskId"])
            await asyncio.sleep(2)
            gone = await server.ask("g", "tasks/get", taskId=task["taskId"])
            assert gone["error"]["code"] == -32602

    virtual_time.run(main(), limit=100_000)


async def test_the_number_of_tasks_is_bounded() -> None:
    """F-API-13: a server cannot make the client work without end."""
    server, client = connected()
    async with client:
        for number in range(100):
            await create(server, number)
        answer = await server.ask("more", "sampling/createMessage", **SAMPLE, task={})
        assert "100" in answer["error"]["message"]


async def test_an_unknown_task_is_an_error() -> None:
    """F-API-13"""
    server, client = connected()
    async with client:
        for task_id in ("nope", 5, None):
            answer = await server.ask("g", "tasks/get", taskId=task_id)
            assert answer["error"]["code"] == -32602


async def test_who_takes_no_part_in_tasks_answers_at_once() -> None:
    """F-API-13: the task metadata is ignored, and tasks/get is not known."""
    server, client = connected(tasks=False)
    async with client:
        answer = await server.ask("a", "sampling/createMessage", **SAMPLE, task={})
        assert answer["result"]["content"] == REPLY["content"]
        answer = await server.ask("g", "tasks/get", taskId="x")
        assert answer["error"]["code"] == -32601


async def test_an_answer_says_which_task_it_belongs_to() -> None:
    """F-API-22: related-task metadata comes back."""
    server, client = connected(tasks=False)
    async with client:
        meta = {RELATED_TASK: {"taskId": "t1"}}
        answer = await server.ask("a", "sampling/createMessage", **SAMPLE, _meta=meta)
        assert answer["result"]["_meta"] == meta
        assert not client._connection.options.handlers.is_answering("t1")


async def test_a_humans_time_is_not_the_callers() -> None:
    """F-API-7: while the handler works on a task, the call that led to it does not time out."""
    server, client = connected()

    async def call(_: object) -> dict[str, Any]:
        task = await create(server)
        answer = await server.ask("result", "tasks/result", taskId=task["taskId"])
        return dict(answer["result"])

    server.answers["tools/call"] = call
    async with client:
        result = await client.call_tool("ask", timeout=2, max_timeout=3)
        assert result.raw["model"] == "m"
        server.answers["tools/call"] = lambda _: None
        with pytest.raises(CallTimeout):
            await client.call_tool("ask", timeout=2)


async def test_closing_stops_what_still_runs() -> None:
    """F-LIFE-5: no task outlives the client; a lost connection ends none."""
    ended: list[float] = []

    async def sample_for_long(request: object) -> Mapping[str, Any]:
        try:
            return await sample_slowly(request)
        finally:
            ended.append(asyncio.get_running_loop().time())

    server, client = connected(sampling=sample_for_long)
    async with client:
        task_id = (await create(server))["taskId"]
        server.lose()
        await asyncio.sleep(1)
        await client.connect()
        assert "result" in await server.ask("g", "tasks/get", taskId=task_id)
        assert ended == []
    await asyncio.sleep(0)
    assert ended == [1]
