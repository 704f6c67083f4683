"""Servers with tasks of both designs, for the tests of tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from mcpclient.protocol.negotiation import RELATED_TASK, TASKS
from tests.client.scripted_server import HANDSHAKE, ScriptedServer
from tests.support import virtual_time
from tests.support.clients import now

DONE = {"content": [{"type": "text", "text": "done"}]}
ASK_NAME: dict[str, Any] = {
    "method": "elicitation/create",
    "params": {
        "message": "Your name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}
ADA = {"action": "accept", "content": {"name": "Ada"}}
CORE_TASKS: dict[str, Any] = {
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
}
WITH_EXTENSION: dict[str, Any] = {"extensions": {TASKS: {}}}
OPTIONAL = {"execution": {"taskSupport": "optional"}}
CREATED = {"taskId": "t1", "status": "working", "ttlMs": 60_000, "pollIntervalMs": 1000}


def task(status: str, **fields: Any) -> dict[str, Any]:
    return {"taskId": "t1", "status": status, "pollIntervalMs": 1000, **fields}


class StatelessServer(ScriptedServer):
    """One task, whose states are listed: from which second on it is which."""

    def __init__(self, *states: tuple[float, dict[str, Any]]) -> None:
        super().__init__(
            {"tasks/get": self._get, "tasks/update": {"resultType": "complete"}},
            capabilities={"extensions": {TASKS: {}}},
        )
        self.states = list(states)

    def _get(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return [state for since, state in self.states if since <= now()][-1]


def noting(asked: list[Any]) -> Callable[[object], dict[str, Any]]:
    """A handler that says Ada, and notes the questions."""

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


class CuriousServer(ScriptedServer):
    """A task whose every state asks for something new."""

    def __init__(self) -> None:
        super().__init__(
            {"tasks/get": self._get, "tasks/update": {"resultType": "complete"}},
            capabilities={"extensions": {TASKS: {}}},
        )
        self.states = 0

    def _get(self, _: Mapping[str, Any]) -> dict[str, Any]:
        self.states += 1
        return task("input_required", inputRequests={f"question {self.states}": ASK_NAME})


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


def handshake_server(capabilities: Any = CORE_TASKS) -> ScriptedServer:
    """A server of 2025-11-25 whose one task takes three seconds."""
    created = {"taskId": "t1", "status": "working", "ttl": 60_000, "pollInterval": 1000}
    answers: dict[str, Any] = {
        "tools/call": {"task": created},
        "tasks/get": lambda _: {**created, "status": state_after(3)},
        "tasks/result": DONE,
        "tasks/cancel": {**created, "status": "cancelled"},
        "tasks/list": {"tasks": [created, {"taskId": "t2", "status": "completed"}]},
    }
    return ScriptedServer(answers, version=HANDSHAKE, capabilities=capabilities)


def stateless_server(capabilities: Any = WITH_EXTENSION) -> ScriptedServer:
    """A server with the extension whose one task takes three seconds."""

    def get(_: Mapping[str, Any]) -> dict[str, Any]:
        status = state_after(3)
        result = {"result": DONE} if status == "completed" else {}
        return {**CREATED, "resultType": "complete", "status": status, **result}

    answers: dict[str, Any] = {
        "tools/call": {"resultType": "task", **CREATED},
        "tasks/get": get,
        "tasks/cancel": {"resultType": "complete"},
    }
    return ScriptedServer(answers, capabilities=capabilities)


def state_after(seconds: float) -> str:
    return "completed" if asyncio.get_running_loop().time() >= seconds else "working"


def listed(support: str | None) -> dict[str, Any]:
    execution = {} if support is None else {"execution": {"taskSupport": support}}
    return {"tools": [{"name": "slow", "inputSchema": {}, **execution}]}
