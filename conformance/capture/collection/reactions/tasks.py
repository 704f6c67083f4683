"""Tasks of the handshake era, and of the extension of the stateless era."""

from __future__ import annotations

from typing import Any

from conformance.capture.collection.parts import EVERYTHING_DECLARED
from conformance.capture.collection.reactions.parts import (
    ANSWER,
    HELLO,
    LIST_TOOLS,
    USUAL,
    Await,
    Plan,
    Reaction,
    Reply,
    asked,
    error,
    reaction,
)
from conformance.capture.collection.reactions.stateless import USER, WHO, stateless
from conformance.scripts import Step

_TASKS = "io.modelcontextprotocol/tasks"

_CORE: dict[str, Any] = {"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}
_EXTENSION: dict[str, Any] = {"extensions": {_TASKS: {}}}
_TASK = {"taskId": "task-1", "createdAt": "2026-01-01T00:00:00Z", "ttl": 60_000}
_DONE = {"content": [{"type": "text", "text": "done"}]}
_MAKE: Step = {"do": "call_tool_task", "name": "echo", "arguments": {"text": "later"}}
_AWAIT: Step = {"do": "await_task", "task": 0}
_RESULT: Step = {"do": "task_result", "task": 0}
_CANCEL: Step = {"do": "cancel_task", "task": 0}
_GET: Step = {"do": "get_task", "task": 0}
_GONE = error(-32602, "Task not found")
_BY_TASK = {**USER, "capabilities": {**EVERYTHING_DECLARED, "tasks": {}}}


def _core(status: str, **more: Any) -> dict[str, Any]:
    return {**_TASK, "status": status, "pollInterval": 100, **more}


def _handle(status: str, **more: Any) -> Reply:
    facts = {**_TASK, "status": status, "pollIntervalMs": 100, "ttlMs": 60_000, **more}
    return Reply(result={"resultType": "complete", **facts})


def _as_task(status: str) -> Reply:
    facts = {**_TASK, "status": status, "pollIntervalMs": 100}
    return Reply(result={"resultType": "task", **facts})


def _made(name: str, clause: str, steps: tuple[Step, ...], **replies: Any) -> Reaction:
    """Return a session of the handshake era in which a call becomes a task."""
    given = {method.replace("_", "/"): got for method, got in replies.items()}
    given.setdefault("tools/call", (Reply(result={"task": _core("working")}),))
    plan = Plan(given, capabilities=_CORE)
    members = {"transports": "stdio http", "client": USER}
    return reaction(f"task-{name}", clause, plan, _MAKE, *steps, HELLO, **members)


def _handed(name: str, *steps: Step, call: Reply | None = None, **replies: Any) -> Reaction:
    """Return a session of the stateless era in which the server makes a task of a call."""
    given = {method.replace("_", "/"): got for method, got in replies.items()}
    given["tools/call"] = (call or _as_task("working"), USUAL)
    clause = "Tasks (extension): the server decides; the client polls, updates and cancels."
    members = {"capabilities": _EXTENSION, "client": {**USER, **_BY_TASK}}
    return stateless(f"handle-{name}", clause, given, *(steps or (HELLO,)), HELLO, **members)


_STATES = "Tasks: pollInterval SHOULD be respected; a terminal status does not change."
SESSIONS: tuple[Reaction, ...] = (
    _made(
        "done",
        _STATES,
        (_GET, _AWAIT, _RESULT, _CANCEL),
        tasks_get=tuple(Reply(result=_core(each)) for each in ("working", "working", "completed")),
        tasks_result=(Reply(result=_DONE),),
        tasks_cancel=(error(-32602, "Cannot cancel a task that is over"),),
    ),
    _made(
        "failed",
        _STATES,
        (_AWAIT, _RESULT),
        tasks_get=(Reply(result=_core("failed", statusMessage="it broke")),),
        tasks_result=(error(-32603, "it broke"),),
    ),
    _made(
        "gone",
        _STATES,
        (_GET, _RESULT, _CANCEL),
        **dict.fromkeys(("tasks_get", "tasks_result", "tasks_cancel"), (_GONE,)),
    ),
    _made(
        "of-another",
        _STATES,
        (_GET, {"do": "list_tasks"}),
        tasks_get=(Reply(result={**_core("working"), "taskId": "task-2"}),),
        tasks_list=(
            Reply(result={"tasks": [_core("working")], "nextCursor": "b"}),
            Reply(result={"tasks": []}),
        ),
    ),
    _made(
        "answered-at-once",
        "Tasks: a receiver may process a request normally.",
        (),
        tools_call=(Reply(result=_DONE),),
    ),
    _made(
        "refused",
        "Tasks: a receiver that does not support it answers with an error.",
        (),
        tools_call=(error(-32601, "No tasks here"), USUAL),
    ),
    reaction(
        "task-for-a-call",
        "Tasks, tool-level negotiation: taskSupport required means a task.",
        Plan(
            {
                "tools/list": (
                    Reply(
                        result={
                            "tools": [
                                {
                                    "name": "echo",
                                    "inputSchema": {"type": "object"},
                                    "execution": {"taskSupport": "required"},
                                }
                            ]
                        }
                    ),
                ),
                "tools/call": (Reply(result={"task": _core("working")}),),
                "tasks/get": tuple(
                    Reply(result=_core(each)) for each in ("working", "input_required", "working")
                ),
                "tasks/result": (
                    Reply(
                        events=(
                            asked(
                                7,
                                "elicitation/create",
                                **WHO["params"],
                                _meta={
                                    "io.modelcontextprotocol/related-task": {"taskId": "task-1"}
                                },
                            ),
                            Await("answer"),
                            ANSWER,
                        ),
                        result=_DONE,
                    ),
                ),
            },
            capabilities=_CORE,
        ),
        LIST_TOOLS,
        HELLO,
        transports="stdio http",
        client=_BY_TASK,
    ),
    _handed("done", tasks_get=(_handle("working"), _handle("completed", result=_DONE))),
    _handed(
        "wants-input",
        tasks_get=(
            _handle("input_required", inputRequests={"who": WHO}),
            _handle("input_required", inputRequests={"who": WHO}),
            _handle("working"),
            _handle("completed", result=_DONE),
        ),
    ),
    _handed(
        "wants-input-badly",
        tasks_get=(_handle("input_required", inputRequests={"who": {"method": "tools/list"}}),),
    ),
    _handed("failed", tasks_get=(_handle("failed", error={"code": -32050, "message": "broken"}),)),
    _handed("cancelled", tasks_get=(_handle("cancelled"),)),
    _handed("gone", tasks_get=(_GONE,)),
    _handed("unknown", tasks_get=(_handle("resting"), _handle("completed", result=_DONE))),
    _handed("without-id", call=Reply(result={"resultType": "task"})),
    _handed(
        "over-at-once",
        call=_as_task("completed"),
        tasks_get=(_handle("completed", result=_DONE),),
    ),
    _handed(
        "cancelled-by-the-user",
        _MAKE,
        _GET,
        _CANCEL,
        _GET,
        tasks_get=(_handle("working"), _handle("cancelled")),
    ),
)
