"""Tasks that the server creates for its requests to the client (2025-11-25)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient import Client
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


@pytest.mark.parametrize(("ttl", "kept"), [(5000, 5), (None, 3600), (10**9, 86_400)])
def test_a_task_is_kept_for_its_time_and_no_longer(ttl: object, kept: float) -> None:
    """F-API-13: an hour by default, a day at most; then it is stopped and forgotten."""

    async def sample_for_ever(request: object) -> None:
        await asyncio.Event().wait()

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
