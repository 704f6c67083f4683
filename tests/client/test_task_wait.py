"""Waiting for a task: input, losses, limits, and every way it can end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mcpclient.errors import (
    CallTimeout,
    ClientClosed,
    ConnectionLost,
    HandlerFailed,
    McpError,
    PeerError,
    ProtocolViolation,
    TaskFailed,
)
from mcpclient.protocol.tasks import EXTENSION, RELATED_TASK, Task
from tests.client.scripted_server import HANDSHAKE, ScriptedServer
from tests.support import virtual_time

DONE = {"content": [{"type": "text", "text": "done"}]}
ASK_NAME: dict[str, Any] = {
    "method": "elicitation/create",
    "params": {
        "message": "Your name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}
ADA = {"action": "accept", "content": {"name": "Ada"}}


def now() -> float:
    return asyncio.get_running_loop().time()


def task(status: str, **fields: Any) -> dict[str, Any]:
    return {"taskId": "t1", "status": status, "pollIntervalMs": 1000, **fields}


class StatelessServer(ScriptedServer):
    """One task, whose states are listed: from which second on it is which."""

    def __init__(self, *states: tuple[float, dict[str, Any]]) -> None:
        super().__init__(
            {"tasks/get": self._get, "tasks/update": {"resultType": "complete"}},
            capabilities={"extensions": {EXTENSION: {}}},
        )
        self.states = list(states)

    def _get(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return [state for since, state in self.states if since <= now()][-1]


def noting(asked: list[Any]) -> Callable[[object], dict[str, Any]]:
    """A handler that says Ada, and notes what it was asked."""

    def elicit(request: object) -> dict[str, Any]:
        asked.append(request)
        return ADA

    return elicit


def wait_for_it(server: ScriptedServer, **options: Any) -> Any:
    """Run a wait for task t1 and return its text and how long it took."""
    await_options = {
        key: options.pop(key) for key in ("on_status", "max_timeout") if key in options
    }

    async def main() -> tuple[str, float]:
        async with server.client(tasks=True, **options) as client:
            result = await client.await_task("t1", **await_options)
            return result.text, now()

    return virtual_time.run(main())


# Ends


def test_it_is_asked_as_often_as_the_server_wants() -> None:
    """F-API-13: pollInterval."""
    server = StatelessServer((0, task("working")), (7.5, task("completed", result=DONE)))
    assert wait_for_it(server) == ("done", 8)
    assert len(server.sent("tasks/get")) == 9


def test_a_handle_that_is_new_is_not_asked_about_at_once() -> None:
    """F-API-13: what the call said is the first status; news may come before the first question."""
    seen: list[str] = []
    server = StatelessServer((0, task("completed", result=DONE)))

    async def main() -> None:
        async with server.client(tasks=True) as client:
            handle = Task(task("working"))
            note = seen.append
            waiting = asyncio.ensure_future(
                client.await_task(handle, on_status=lambda each: note(each.status))
            )
            await asyncio.sleep(0.5)
            server.notify("notifications/tasks", **task("paused"))
            server.notify("notifications/tasks", **task("completed", result=DONE))
            server.notify("notifications/tasks", **task("working"))
            assert (await waiting).text == "done"

    virtual_time.run(main())
    assert seen == ["working", "paused", "completed"]
    assert server.sent("tasks/get") == []


def test_an_unknown_status_is_kept_and_waited_through() -> None:
    """F-API-13: the next revision's states do no harm."""
    seen: list[str] = []
    server = StatelessServer((0, task("queued")), (2, task("completed", result=DONE)))
    wait_for_it(server, on_status=lambda each: seen.append(each.status))
    assert seen == ["queued", "completed"]


def test_status_may_be_taken_by_a_coroutine() -> None:
    """F-API-13: in order, each change once, all before the result."""
    seen: list[str | None] = []

    async def slowly(each: Task) -> None:
        await asyncio.sleep(3)
        seen.append(each.status_message)

    server = StatelessServer(
        (0, task("working", statusMessage="one")),
        (2, task("working", statusMessage="two")),
        (4, task("completed", statusMessage="three", result=DONE)),
    )
    assert wait_for_it(server, on_status=slowly) == ("done", 9)
    assert seen == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("state", "error", "match"),
    [
        (task("failed", error={"code": -5, "message": "no", "data": 1}), PeerError, "no"),
        (task("failed", statusMessage="bad luck"), TaskFailed, "bad luck"),
        (task("failed", error={"message": "no code"}), TaskFailed, "failed"),
        (task("cancelled", statusMessage="by request"), TaskFailed, "by request"),
        (task("completed"), ProtocolViolation, "missing"),
    ],
)
def test_ends_without_a_result(state: dict[str, Any], error: type[McpError], match: str) -> None:
    """F-API-13: the error the call ended with, or that there is nothing."""
    with pytest.raises(error, match=match):
        wait_for_it(StatelessServer((0, state)))


def test_a_task_that_vanished_is_the_servers_error() -> None:
    """F-API-13: -32602, at once and without a retry."""
    server = ScriptedServer(capabilities={"extensions": {EXTENSION: {}}})

    def gone(_: Mapping[str, Any]) -> dict[str, Any]:
        raise PeerError(-32602, "Task not found")

    server.answers["tasks/get"] = gone
    with pytest.raises(PeerError, match="Task not found"):
        wait_for_it(server)
    assert len(server.sent("tasks/get")) == 1


# Limits


def test_a_task_that_never_ends_outlives_its_time() -> None:
    """F-API-13: bounded by the time to live, whatever max_timeout says by default."""
    server = StatelessServer((0, task("working", ttlMs=3_600_000)))
    with pytest.raises(TaskFailed, match="time to live") as caught:
        wait_for_it(server)
    assert (caught.value.task_id, caught.value.status) == ("t1", "working")
    assert len(server.sent("tasks/get")) == pytest.approx(3601, abs=2)


def test_a_task_without_a_time_to_live_has_the_clients_limit() -> None:
    """F-API-13: never waits without end by default."""

    async def main() -> None:
        async with server.client(tasks=True) as client:
            with pytest.raises(CallTimeout, match="max_timeout"):
                await client.await_task("t1")
            assert now() == 600

    server = StatelessServer((0, task("working")))
    virtual_time.run(main())


def test_the_callers_limit_counts_before_the_time_to_live() -> None:
    async def main() -> None:
        async with server.client(tasks=True) as client:
            with pytest.raises(CallTimeout):
                await client.await_task("t1", max_timeout=2.5)
            assert now() == 2.5
            waiting = asyncio.ensure_future(client.await_task("t1", max_timeout=None))
            await asyncio.sleep(50_000)
            assert not waiting.done()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    server = StatelessServer((0, task("working", pollIntervalMs=100_000)))
    virtual_time.run(main())


def test_a_server_that_falls_silent_gets_no_more_time_than_there_is() -> None:
    """F-API-13, F-API-7: the last request does not get its own limit on top of the caller's."""
    server = StatelessServer((0, task("working", pollIntervalMs=9000)))

    def fall_silent(_: Mapping[str, Any]) -> dict[str, Any] | None:
        return None if now() else server.states[0][1]

    server.answers["tasks/get"] = fall_silent

    async def main() -> None:
        async with server.client(tasks=True) as client:
            with pytest.raises(CallTimeout, match="task t1"):
                await client.await_task("t1", max_timeout=10)
            assert now() == pytest.approx(10, abs=0.2)

    virtual_time.run(main())


def test_cancelling_the_wait_leaves_the_task_alone() -> None:
    """F-API-13: the task goes on, and can be waited for again."""
    server = StatelessServer((0, task("working")), (9, task("completed", result=DONE)))

    async def main() -> None:
        async with server.client(tasks=True) as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.await_task("t1"), 3)
            assert (await client.await_task("t1")).text == "done"

    virtual_time.run(main())
    assert server.sent("tasks/cancel") == []


# Losses


def test_it_survives_a_reconnection() -> None:
    """F-API-13: only the id is needed."""
    server = StatelessServer((0, task("working")), (30, task("completed", result=DONE)))

    async def main() -> None:
        async with server.client(tasks=True) as client:
            waiting = asyncio.ensure_future(client.await_task("t1"))
            for _ in range(3):
                await asyncio.sleep(8)
                server.lose()
            assert (await waiting).text == "done"

    virtual_time.run(main())
    assert server.connections == 4


def test_a_server_that_stays_away_is_given_up() -> None:
    """F-API-13: five tries in a row."""
    server = StatelessServer((0, task("working")))

    async def main() -> None:
        async with server.client(tasks=True) as client:
            waiting = asyncio.ensure_future(client.await_task("t1"))
            await asyncio.sleep(2.5)
            server.answers["server/discover"] = lambda _: server.lose()
            server.lose()
            with pytest.raises(ConnectionLost):
                await waiting

    virtual_time.run(main())
    assert server.connections >= 6


def test_losses_do_not_stretch_the_limit() -> None:
    """F-API-13: the limit is looked at before every new try."""
    server = StatelessServer((0, task("working")))

    async def main() -> None:
        async with server.client(tasks=True) as client:
            waiting = asyncio.ensure_future(client.await_task("t1", max_timeout=4))
            await asyncio.sleep(2.5)
            server.answers["server/discover"] = lambda _: server.lose()
            server.lose()
            with pytest.raises(CallTimeout):
                await waiting
            assert now() < 10

    virtual_time.run(main())


def test_closing_the_client_ends_the_wait() -> None:
    """F-LIFE-6: and does not reconnect it."""
    server = StatelessServer((0, task("working")))

    async def main() -> None:
        async with server.client(tasks=True) as client:
            waiting = asyncio.ensure_future(client.await_task("t1"))
            await asyncio.sleep(2.5)
            await client.close()
            with pytest.raises(ClientClosed):
                await waiting

    virtual_time.run(main())
    assert server.connections == 1


# Input, with the extension


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


def test_two_waits_ask_the_user_once() -> None:
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

    async def main() -> None:
        async with server.client(tasks=True, elicitation=elicit) as client:
            await asyncio.gather(*(client.await_task("t1") for _ in range(2)))

    virtual_time.run(main())
    assert len(asked) == 1 and len(server.sent("tasks/update")) == 1


def test_an_answer_that_was_not_delivered_is_sent_again() -> None:
    """F-API-13: the user is not asked a second time because the connection broke."""
    asked: list[Any] = []
    server = StatelessServer(
        (0, task("input_required", inputRequests={"name": ASK_NAME})),
        (20, task("completed", result=DONE)),
    )
    server.answers["tasks/update"] = lambda _: server.lose() if server.connections == 1 else {}
    wait_for_it(server, elicitation=noting(asked))
    assert len(asked) == 1
    assert len(server.sent("tasks/update")) == 2


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
        (0, task("input_required", inputRequests={"name": ASK_NAME})),
        (3, task("cancelled")),
    )

    async def elicit(request: object) -> dict[str, Any]:
        await asyncio.sleep(3600)
        return ADA

    with pytest.raises(TaskFailed):
        wait_for_it(server, elicitation=elicit)
    assert server.sent("tasks/update") == []


def test_input_nobody_can_give_ends_the_wait() -> None:
    """F-API-10: what was not declared, and a handler that fails, are errors of the wait."""
    states = (0, task("input_required", inputRequests={"name": ASK_NAME}))
    with pytest.raises(McpError, match="elicitation"):
        wait_for_it(StatelessServer(states))

    def fail(request: object) -> dict[str, Any]:
        raise RuntimeError("no idea")

    with pytest.raises(HandlerFailed):
        wait_for_it(StatelessServer(states), elicitation=fail)


def test_a_handler_that_is_cancelled_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    server = StatelessServer((0, task("input_required", inputRequests={"name": ASK_NAME})))

    async def main() -> None:
        async with server.client(tasks=True, elicitation=lambda request: ADA) as client:

            async def cancelled(requests: object) -> dict[str, Any]:
                raise asyncio.CancelledError

            monkeypatch.setattr(client._caller, "answers", cancelled)
            with pytest.raises(HandlerFailed, match="cancelled"):
                await client.await_task("t1")

    virtual_time.run(main())


# Input, in revision 2025-11-25


class HandshakeServer(ScriptedServer):
    """One task that asks for a name over tasks/result, and then takes two seconds."""

    def __init__(self) -> None:
        answers: dict[str, Any] = {"tasks/get": self._get, "tasks/result": self._give_result}
        super().__init__(answers, version=HANDSHAKE, capabilities={"tasks": {}})
        self.answered_at: float | None = None
        self.answer: dict[str, Any] = {}

    def _get(self, _: Mapping[str, Any]) -> dict[str, Any]:
        if self.answered_at is None:
            return task("input_required", pollInterval=1000)
        return task("completed" if now() >= self.answered_at + 2 else "working", pollInterval=1000)

    async def _give_result(self, _: Mapping[str, Any]) -> dict[str, Any]:
        if self.answered_at is None:
            meta = {RELATED_TASK: {"taskId": "t1"}}
            self.answer = await self.ask(
                "ask-1", **ASK_NAME["params"], method=ASK_NAME["method"], _meta=meta
            )
            self.answered_at = now()
            await asyncio.sleep(2)
        return DONE


def test_input_is_asked_for_over_the_request_for_the_result() -> None:
    """F-API-13: input_required means to call tasks/result, beside further polling."""
    server, seen = HandshakeServer(), []
    text, _ = wait_for_it(
        server,
        elicitation=lambda request: ADA,
        on_status=lambda each: seen.append(each.status),
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


# Tasks that never stop asking


class CuriousServer(ScriptedServer):
    """A task whose every state asks for something new."""

    def __init__(self) -> None:
        super().__init__(
            {"tasks/get": self._get, "tasks/update": {"resultType": "complete"}},
            capabilities={"extensions": {EXTENSION: {}}},
        )
        self.states = 0

    def _get(self, _: Mapping[str, Any]) -> dict[str, Any]:
        self.states += 1
        return task("input_required", inputRequests={f"question {self.states}": ASK_NAME})


def test_a_task_may_ask_for_so_much_and_no_more() -> None:
    """F-API-12, F-API-13: a user was asked 4,430 times in eight seconds."""
    asked: list[Any] = []
    with pytest.raises(ProtocolViolation, match="asked for input more than 100 times"):
        wait_for_it(CuriousServer(), elicitation=noting(asked))
    assert len(asked) == 100


class InsistentServer(ScriptedServer):
    """A task of 2025-11-25 that asks one thing after the other over the request for its result."""

    def __init__(self, pause: float) -> None:
        answers: dict[str, Any] = {
            "tasks/get": task("input_required", pollInterval=1000),
            "tasks/result": self._give_result,
        }
        super().__init__(answers, version=HANDSHAKE, capabilities={"tasks": {}})
        self.pause = pause
        self.refusals: list[Any] = []

    async def _give_result(self, _: Mapping[str, Any]) -> None:
        meta = {RELATED_TASK: {"taskId": "t1"}}
        for number in range(1000):
            answer = await self.ask(
                number, **ASK_NAME["params"], method=ASK_NAME["method"], _meta=meta
            )
            if "error" in answer:
                self.refusals.append(answer["error"]["message"])
            await asyncio.sleep(self.pause)


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
