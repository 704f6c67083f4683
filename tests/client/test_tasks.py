"""Calling tools as tasks, in both designs, over an in-process server in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.errors import CallTimeout, PeerError, ProtocolViolation, UsageError
from mcpclient.protocol.tasks import EXTENSION, Task
from mcpclient.protocol.types import Tool
from tests.client.scripted_server import HANDSHAKE, ScriptedServer, turns
from tests.support import virtual_time

CORE_TASKS: dict[str, Any] = {
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
}
WITH_EXTENSION: dict[str, Any] = {"extensions": {EXTENSION: {}}}
DONE = {"content": [{"type": "text", "text": "done"}]}
OPTIONAL = {"execution": {"taskSupport": "optional"}}
CREATED = {"taskId": "t1", "status": "working", "ttlMs": 60_000, "pollIntervalMs": 1000}


def handshake_server(capabilities: Any = CORE_TASKS) -> ScriptedServer:
    """A server of 2025-11-25 whose one task takes three seconds."""
    created = {"taskId": "t1", "status": "working", "ttl": 60_000, "pollInterval": 1000}
    answers: dict[str, Any] = {
        "tools/call": {"task": created},
        "tasks/get": lambda _: {**created, "status": _status(3)},
        "tasks/result": DONE,
        "tasks/cancel": {**created, "status": "cancelled"},
        "tasks/list": {"tasks": [created, {"taskId": "t2", "status": "completed"}]},
    }
    return ScriptedServer(answers, version=HANDSHAKE, capabilities=capabilities)


def stateless_server(capabilities: Any = WITH_EXTENSION) -> ScriptedServer:
    """A server with the extension whose one task takes three seconds."""

    def get(_: Mapping[str, Any]) -> dict[str, Any]:
        status = _status(3)
        result = {"result": DONE} if status == "completed" else {}
        return {**CREATED, "resultType": "complete", "status": status, **result}

    answers: dict[str, Any] = {
        "tools/call": {"resultType": "task", **CREATED},
        "tasks/get": get,
        "tasks/cancel": {"resultType": "complete"},
    }
    return ScriptedServer(answers, capabilities=capabilities)


def _status(seconds: float) -> str:
    return "completed" if asyncio.get_running_loop().time() >= seconds else "working"


def test_a_call_becomes_a_task_of_the_core() -> None:
    """F-API-13: task in the params, CreateTaskResult, tasks/get until it is over, tasks/result."""
    server = handshake_server()

    async def main() -> None:
        async with server.client() as client:
            task = await client.call_tool_task("slow", {"a": 1}, ttl=60)
            assert (task.id, task.status, task.ttl) == ("t1", "working", 60)
            assert (await client.get_task(task)).status == "working"
            seen: list[str] = []
            result = await client.await_task(task, on_status=lambda now: seen.append(now.status))
            assert result.text == "done"
            assert seen == ["working", "completed"]

    virtual_time.run(main())
    (call,) = server.sent("tools/call")
    assert call == {"name": "slow", "arguments": {"a": 1}, "task": {"ttl": 60_000}}
    assert server.sent("tasks/result") == [{"taskId": "t1"}]
    assert len(server.sent("tasks/get")) == 4


def test_a_call_becomes_a_task_of_the_extension() -> None:
    """F-API-13: the server decides; the result comes with the task."""
    server = stateless_server()

    async def main() -> None:
        async with server.client(tasks=True) as client:
            task = await client.call_tool_task("slow")
            assert (await client.await_task(task.id)).text == "done"

    virtual_time.run(main())
    (call,) = server.sent("tools/call")
    assert "task" not in call
    capabilities = call["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert capabilities == {"extensions": {EXTENSION: {}}}
    assert server.sent("tasks/result") == []


@pytest.mark.parametrize("make", [handshake_server, stateless_server])
def test_an_answer_at_once_is_a_task_that_is_over(make: Any) -> None:
    """F-API-13: a server may answer without making a task of the call."""
    server = make()
    server.answers["tools/call"] = DONE

    async def main() -> None:
        async with server.client(tasks=True) as client:
            task = await client.call_tool_task("quick")
            assert task.is_over
            assert (await client.await_task(task)).text == "done"
            with pytest.raises(UsageError, match="no id"):
                await client.cancel_task(task)

    virtual_time.run(main())


def test_progress_goes_on_for_as_long_as_the_task() -> None:
    """F-API-13, F-API-7: the token of the call stays valid after its answer."""
    server = handshake_server()
    heard: list[float] = []

    async def main() -> None:
        async with server.client() as client:
            task = await client.call_tool_task(
                "slow", on_progress=lambda progress: heard.append(progress.progress)
            )
            token = server.sent("tools/call")[0]["_meta"]["progressToken"]
            for step in range(3):
                server.notify("notifications/progress", progressToken=token, progress=step)
            server.notify("notifications/progress", progressToken="other", progress=9)
            server.notify("notifications/progress", progressToken=[], progress=9)
            await client.await_task(task)

    virtual_time.run(main())
    assert heard == [0, 1, 2]


def test_the_server_may_tell_of_changes_before_it_is_asked() -> None:
    """F-API-13: notifications/tasks/status is used where it comes, for whoever waits."""
    server = handshake_server()

    async def main() -> None:
        async with server.client() as client:
            task = await client.call_tool_task("slow")
            waits = [asyncio.ensure_future(client.await_task(task)) for _ in range(2)]
            await asyncio.sleep(0.5)
            server.notify("notifications/tasks/status", taskId="t1", status="completed")
            server.notify("notifications/tasks/status", taskId="t2", status="failed")
            for wait in waits:
                assert (await wait).text == "done"
            assert asyncio.get_running_loop().time() == 0.5

    virtual_time.run(main())
    assert server.sent("tasks/get") == []


def test_tasks_are_listed_where_the_server_lists_them() -> None:
    """F-API-13: tasks/list, all pages, if the server declares it."""
    server = handshake_server()

    async def main() -> None:
        async with server.client() as client:
            assert [task.id for task in await client.list_tasks()] == ["t1", "t2"]
        async with handshake_server({"tasks": {}}).client() as client:
            with pytest.raises(UsageError, match=r"tasks\.list"):
                await client.list_tasks()
        async with stateless_server().client(tasks=True) as client:
            with pytest.raises(UsageError, match="do not list"):
                await client.list_tasks()

    virtual_time.run(main())


@pytest.mark.parametrize("make", [handshake_server, stateless_server])
def test_a_task_can_be_cancelled(make: Any) -> None:
    """F-API-13: tasks/cancel, by task or id, from any client."""
    server = make()

    async def main() -> None:
        async with server.client(tasks=True) as client:
            await client.cancel_task("t1")
            await client.cancel_task(Task({"taskId": "t2"}))

    virtual_time.run(main())
    assert [params["taskId"] for params in server.sent("tasks/cancel")] == ["t1", "t2"]


def test_nothing_is_asked_for_that_was_not_agreed_on() -> None:
    """F-API-13, F-API-19: clear errors, and not a single request behind the caller's back."""

    async def main(server: ScriptedServer, expected: str, **options: Any) -> None:
        async with server.client(**options) as client:
            with pytest.raises(UsageError, match=expected):
                await client.call_tool_task("slow")
        assert server.sent("tools/call") == [] and server.sent("tools/list") == []

    virtual_time.run(main(handshake_server({}), r"tasks\.requests\.tools\.call"))
    virtual_time.run(main(stateless_server(), "tasks=True"))
    virtual_time.run(main(stateless_server({}), EXTENSION, tasks=True))

    async def cancel() -> None:
        async with handshake_server({"tasks": {}}).client() as client:
            with pytest.raises(UsageError, match=r"tasks\.cancel"):
                await client.cancel_task("t1")

    virtual_time.run(cancel())


def test_a_listed_tool_says_whether_it_can_be_a_task() -> None:
    """F-API-13: execution.taskSupport, where the caller has the tool at hand."""
    server = handshake_server()
    optional = Tool({"name": "slow", "execution": {"taskSupport": "optional"}})

    async def main() -> None:
        async with server.client() as client:
            assert (await client.call_tool_task(optional)).id == "t1"
            with pytest.raises(UsageError, match="'echo'"):
                await client.call_tool_task(Tool({"name": "echo"}))

    virtual_time.run(main())
    assert len(server.sent("tools/call")) == 1


@pytest.mark.parametrize("make", [handshake_server, stateless_server])
def test_headers_go_with_every_request_about_a_task(make: Any) -> None:
    """F-HTTP-1: who has credentials for a single call needs them to come back to it."""
    server, mine = make(), {"Authorization": "Bearer mine"}

    async def main() -> None:
        async with server.client(tasks=True) as client:
            task = await client.call_tool_task("slow", headers=mine)
            await client.get_task(task, headers=mine)
            await client.await_task(task, headers=mine)
            await client.cancel_task(task, headers=mine)

    virtual_time.run(main())
    sent = {method: headers for method, headers in server.headers.items() if "/" in method[:6]}
    assert {"tools/call", "tasks/get", "tasks/cancel"} <= sent.keys()
    assert all(headers == mine for headers in sent.values())


def test_results_of_tasks_are_checked_like_those_of_calls() -> None:
    """F-API-17: against the output schema of a tool that was listed."""
    server = handshake_server()
    schema = {"type": "object", "required": ["answer"]}
    server.answers["tools/list"] = {"tools": [{"name": "slow", "outputSchema": schema, **OPTIONAL}]}

    async def main() -> None:
        async with server.client() as client:
            await client.list_tools()
            task = await client.call_tool_task("slow")
            assert task.tool == "slow"
            assert (await client.await_task(task)).warnings
            assert not (await client.await_task(task.id)).warnings

    virtual_time.run(main())


# Tasks the caller did not ask for


def test_a_plain_call_waits_for_the_task_the_server_made_of_it() -> None:
    """F-API-13: unsolicited handles; the caller sees only the result."""
    server = stateless_server()

    async def main() -> None:
        async with server.client(tasks=True) as client:
            assert (await client.call_tool("slow")).text == "done"
            server.answers["tools/call"] = DONE
            assert (await client.call_tool("quick")).text == "done"

    virtual_time.run(main())
    assert len(server.sent("tools/call")) == 2


def test_a_task_is_a_violation_for_who_did_not_declare_tasks() -> None:
    """F-LIFE-2: an unknown resultType is an error."""
    server = stateless_server()

    async def main() -> None:
        async with server.client() as client:
            with pytest.raises(ProtocolViolation, match="task"):
                await client.call_tool("slow")

    virtual_time.run(main())


def test_only_tool_calls_become_tasks() -> None:
    """F-API-13: a handle in answer to another request is invalid; so is one without id."""
    server = stateless_server()
    server.answers["prompts/get"] = {"resultType": "task", **CREATED}
    server.answers["tools/call"] = {"resultType": "task"}

    async def main() -> None:
        async with server.client(tasks=True) as client:
            with pytest.raises(ProtocolViolation):
                await client.get_prompt("x")
            with pytest.raises(ProtocolViolation, match="without id"):
                await client.call_tool("slow")

    virtual_time.run(main())


def test_giving_up_a_plain_call_gives_up_its_task() -> None:
    """F-API-8: timeout and cancellation tell the server, which here means tasks/cancel."""
    server = stateless_server()
    server.answers["tasks/get"] = CREATED

    async def main() -> None:
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

    virtual_time.run(main())


def test_the_error_of_a_task_is_the_error_of_the_plain_call() -> None:
    server = stateless_server()
    error = {"code": -32603, "message": "rate limit", "data": {"retry": 1}}
    server.answers["tasks/get"] = {**CREATED, "status": "failed", "error": error}

    async def main() -> None:
        async with server.client(tasks=True) as client:
            with pytest.raises(PeerError, match="rate limit"):
                await client.call_tool("slow")
            await turns()
            assert server.sent("tasks/cancel") == []

    virtual_time.run(main())


def test_what_is_remembered_of_tasks_is_bounded() -> None:
    """F-API-13: a program that starts tasks and never comes back does not grow."""
    server = handshake_server()

    async def main() -> None:
        async with server.client() as client:
            for _ in range(1010):
                client._task_news.relay_progress(print)
                client._task_news.inputs_of(str(_))
            assert len(client._task_news._progress) == 1000
            assert len(client._task_news._inputs) == 1000

    virtual_time.run(main())


def listed(support: str | None) -> dict[str, Any]:
    execution = {} if support is None else {"execution": {"taskSupport": support}}
    return {"tools": [{"name": "slow", "inputSchema": {}, **execution}]}


def test_a_tool_that_can_only_be_a_task_is_called_as_one() -> None:
    """F-API-13: the listing says so, and `call_tool` returns the result all the same."""
    server = handshake_server()
    server.answers["tools/list"] = listed("required")
    heard: list[float] = []

    async def main() -> None:
        async with server.client() as client:
            await client.list_tools()
            calling = asyncio.ensure_future(
                client.call_tool("slow", on_progress=lambda step: heard.append(step.progress))
            )
            await asyncio.sleep(1)
            token = server.sent("tools/call")[0]["_meta"]["progressToken"]
            server.notify("notifications/progress", progressToken=token, progress=1)
            assert (await calling).text == "done"
            assert heard == [1]

    virtual_time.run(main())
    assert server.sent("tools/call")[0]["task"] == {}
    assert server.sent("tasks/result") == [{"taskId": "t1"}]


@pytest.mark.parametrize(
    ("support", "capabilities"), [("optional", CORE_TASKS), (None, CORE_TASKS), ("required", {})]
)
def test_any_other_tool_is_called_plainly(support: str | None, capabilities: Any) -> None:
    """F-API-13: also where the server could not make a task of it."""
    server = handshake_server(capabilities)
    server.answers.update({"tools/list": listed(support), "tools/call": DONE})

    async def main() -> None:
        async with server.client() as client:
            await client.list_tools()
            assert (await client.call_tool("slow")).text == "done"

    virtual_time.run(main())
    assert "task" not in server.sent("tools/call")[0]


@pytest.mark.parametrize("immediate", [False, True])
def test_a_call_that_is_a_task_can_be_cancelled(immediate: bool) -> None:
    """F-API-13: with tasks/cancel, as soon as the id is known; an answer at once is a result."""
    server = handshake_server()
    server.answers["tools/list"] = listed("required")
    if immediate:
        server.answers["tools/call"] = DONE

    async def main() -> None:
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

    virtual_time.run(main())


def test_a_tool_that_is_known_not_to_be_a_task_is_not_called_as_one() -> None:
    """F-API-13: the name is enough once it has been listed."""
    server = handshake_server()
    server.answers["tools/list"] = listed(None)

    async def main() -> None:
        async with server.client() as client:
            await client.call_tool_task("slow")
            await client.list_tools()
            with pytest.raises(UsageError, match="cannot be called as a task"):
                await client.call_tool_task("slow")

    virtual_time.run(main())
    assert len(server.sent("tools/call")) == 1


@pytest.mark.parametrize("wait", [False, True])
def test_the_state_of_another_task_is_a_violation(wait: bool) -> None:
    """F-API-13: whoever asked for t1 is not told what became of t2."""
    server = handshake_server()
    server.answers["tasks/get"] = {"taskId": "t2", "status": "completed"}

    async def main() -> None:
        async with server.client() as client:
            with pytest.raises(ProtocolViolation, match=r"asked for task t1, .* described t2"):
                await (client.await_task("t1") if wait else client.get_task("t1"))

    virtual_time.run(main())


@pytest.mark.parametrize("make", [handshake_server, stateless_server])
def test_the_result_of_a_task_is_no_task(make: Any) -> None:
    """F-API-13: it would lead to the next one, and so on."""
    server = make()
    if make is handshake_server:
        server.answers["tasks/result"] = {"task": {"taskId": "t2", "status": "working"}}
    else:
        another = {"resultType": "task", "taskId": "t2", "status": "working"}
        server.answers["tasks/get"] = {"taskId": "t1", "status": "completed", "result": another}

    async def main() -> None:
        async with server.client(tasks=True) as client:
            task = await client.call_tool_task("slow")
            with pytest.raises(ProtocolViolation):
                await client.await_task(task)

    virtual_time.run(main())
