"""Answers to a server that are tasks, and answers that belong to a task of the server.

Source: the "Tasks" page of revision 2025-11-25, the receiver's side. The stateless era has nothing
like it.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Collection, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ...errors import McpError, PeerError
from ...jsonrpc.messages import ErrorCode, error_answer
from ...net.clocks import timestamp
from ...net.futures import BackgroundTasks, cancel
from ...protocol.tasks import AUGMENTABLE, MAX_INPUTS, Task, related_task_of, with_related_task

if TYPE_CHECKING:
    from .inbound_requests import Handlers

_MAX_TASKS = 100
_MAX_COUNTED = 1000
_MAX_TTL = 24 * 3600.0
_USUAL_TTL = 3600.0
_POLL_INTERVAL = 0.5
_ABOUT_TASKS = frozenset({"tasks/get", "tasks/list", "tasks/result", "tasks/cancel"})


class TaskAnswers:
    """The answers of some handlers that are tasks, or belong to one.

    ``may_be_tasks``: the methods whose answers the server may want as tasks. At most 100 tasks are
    kept, each for as long as the server asked (an hour by default, a day at most); then a task is
    cancelled and forgotten.
    """

    def __init__(self, handlers: Handlers, may_be_tasks: Collection[str]) -> None:
        self._handlers = handlers
        self._augmentable = AUGMENTABLE.keys() & may_be_tasks
        self._tasks: dict[str, _ReceivedTask] = {}
        self._running = BackgroundTasks()
        self._answering: Counter[str] = Counter()
        self._asked: Counter[int] = Counter()

    def is_answering(self, task_id: str) -> bool:
        """Whether a request that belongs to this task is being answered."""
        return self._answering[task_id] > 0

    def inputs_of(self, task_id: str) -> int:
        """Return the number of requests that belong to this task so far."""
        return self._asked[hash(task_id)]

    def answer(self, method: str, params: Mapping[str, Any]) -> Awaitable[Mapping[str, Any]]:
        """Return what to await for the result, at once or as a task."""
        if self._augmentable and method in _ABOUT_TASKS:
            return self._answer_about_tasks(method, params)
        if method in self._augmentable and isinstance(params.get("task"), Mapping):
            return self._create(method, params)
        related = related_task_of(params)
        if related is None:
            return self._handlers.answer(method, params)
        return self._answer_for(related, method, params)

    async def _answer_for(
        self, related: str, method: str, params: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        key = hash(related)  # the id itself may be long
        count = self._asked.pop(key, 0) + 1
        self._asked[key] = count
        if len(self._asked) > _MAX_COUNTED:
            del self._asked[next(iter(self._asked))]
        if count > MAX_INPUTS:
            raise PeerError(ErrorCode.INVALID_REQUEST, "this task has asked for too much input")
        self._answering[related] += 1
        try:
            return with_related_task(await self._handlers.answer(method, params), related)
        finally:
            self._answering[related] -= 1
            self._answering += Counter()  # forgets what has come down to zero

    async def _create(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        if len(self._tasks) >= _MAX_TASKS:
            raise PeerError(ErrorCode.INTERNAL_ERROR, f"there are {_MAX_TASKS} tasks already")
        plain = {name: value for name, value in params.items() if name != "task"}
        task = _ReceivedTask(min(Task(params["task"]).ttl or _USUAL_TTL, _MAX_TTL))
        task.work = self._running.start(self._work(task, method, plain))
        task.expiry = asyncio.get_running_loop().call_later(task.ttl, self._forget, task.id)
        self._tasks[task.id] = task
        return {"task": dict(task.raw)}

    async def _work(self, task: _ReceivedTask, method: str, params: Mapping[str, Any]) -> None:
        clocks = self._handlers.clocks
        try:
            with clocks.held() if clocks is not None else nullcontext():
                task.result = await self._handlers.answer(method, params)
            task.become("completed")
        except McpError as error:
            task.error = error
            task.become("failed", statusMessage=error_answer(error)[1])
        except asyncio.CancelledError:
            task.become("cancelled")
            raise

    def _forget(self, task_id: str) -> None:
        task = self._tasks.pop(task_id, None)
        if task is not None:
            task.stop()

    async def _answer_about_tasks(
        self, method: str, params: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        if method == "tasks/list":
            if "cursor" in params:  # there is one page
                raise PeerError(ErrorCode.INVALID_PARAMS, "Unknown cursor")
            return {"tasks": [dict(task.raw) for task in self._tasks.values()]}
        task_id = params.get("taskId")
        task = self._tasks.get(task_id) if isinstance(task_id, str) else None
        if task is None:
            raise PeerError(ErrorCode.INVALID_PARAMS, "Task not found")
        if method == "tasks/result":
            return await task.outcome()
        if method == "tasks/cancel":
            if task.raw["status"] != "working":
                reason = f"Cannot cancel task: already in terminal status {task.raw['status']!r}"
                raise PeerError(ErrorCode.INVALID_PARAMS, reason)
            task.become("cancelled", statusMessage="The task was cancelled by request.")
            task.stop()
        return dict(task.raw)

    def forget_all(self) -> None:
        """Cancel all tasks, since the client is closed."""
        for task_id in list(self._tasks):
            self._forget(task_id)


class _ReceivedTask:
    def __init__(self, ttl: float) -> None:
        self.id = os.urandom(16).hex()  # unguessable: anyone who knows it may fetch the result
        self.ttl = ttl
        now = timestamp()
        self.raw = {
            **{"taskId": self.id, "status": "working", "createdAt": now, "lastUpdatedAt": now},
            **{"ttl": int(ttl * 1000), "pollInterval": int(_POLL_INTERVAL * 1000)},
        }
        self.result: Mapping[str, Any] | None = None
        self.error: McpError | None = None
        self.work: asyncio.Task[None] | None = None
        self.expiry: asyncio.TimerHandle | None = None

    def become(self, status: str, **message: str) -> None:
        if self.raw["status"] == "working":  # the other states are final
            self.raw.update(status=status, lastUpdatedAt=timestamp(), **message)

    async def outcome(self) -> Mapping[str, Any]:
        if self.work is not None:
            await asyncio.wait({self.work})
        if self.error is not None:
            raise self.error.again()
        if self.result is None:
            raise PeerError(ErrorCode.INVALID_REQUEST, "the task was cancelled")
        return with_related_task(self.result, self.id)

    def stop(self) -> None:
        if self.expiry is not None:
            self.expiry.cancel()
        cancel(self.work)
