"""Tasks that the server creates: its requests are answered later, when it fetches the result.

Source: the "Tasks" page of revision 2025-11-25, the receiver's side. The stateless era has nothing
like it.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ...errors import McpError, PeerError
from ...jsonrpc.messages import ErrorCode
from ...net.clocks import timestamp
from ...net.futures import BackgroundTasks, cancel
from ...protocol.tasks import AUGMENTABLE, MAX_INPUTS, related_task_of, with_related_task
from ..events.observer import Observer
from .handlers import Handlers, error_answer

if TYPE_CHECKING:
    from ...transports.authorized import PausableClocks

_MAX_TASKS = 100
_MAX_COUNTED = 1000
_MAX_TTL = 24 * 3600.0
_USUAL_TTL = 3600.0
_POLL_INTERVAL = 0.5


class TaskReceiver(Observer):
    """Answers the server through the handlers: at once, or as a task where it asks for one.

    ``tasks``: whether this client supports tasks; if not, a request for one is answered at once. At
    most 100 tasks are kept, each for as long as the server asked (an hour by default, a day at
    most); after that the task is cancelled and forgotten.
    """

    def __init__(self, handlers: Handlers, *, tasks: bool) -> None:
        self._handlers = handlers
        declared = handlers.capabilities if tasks else {}
        self._augmentable = {
            method for method, (subject, _) in AUGMENTABLE.items() if subject in declared
        }
        self._tasks: dict[str, _ReceivedTask] = {}
        self._running = BackgroundTasks()
        self.clocks: PausableClocks | None = None
        """The clocks to stop while a human may be busy with a task."""
        self._answering: Counter[str] = Counter()
        self._asked: dict[int, int] = {}

    def is_answering(self, task_id: str) -> bool:
        """Whether a request that belongs to this task is being answered."""
        return self._answering[task_id] > 0

    def inputs_of(self, task_id: str) -> int:
        """How many requests that belong to this task have come."""
        return self._asked.get(hash(task_id), 0)

    def answer(self, method: str, params: Mapping[str, Any]) -> Awaitable[Mapping[str, Any]]:
        """Return what to await for the result for a request from the server.

        Raises `PeerError` for an unknown task or one too many, and what `Handlers.answer` does.
        """
        if self._augmentable and method in _REQUESTS:
            return _REQUESTS[method](self, params)
        if method in self._augmentable and isinstance(params.get("task"), Mapping):
            return self._create(method, params)
        related = related_task_of(params)
        if related is None:
            return self._handlers.answer(method, params)
        return self._answer_for(related, method, params)

    async def _answer_for(
        self, related: str, method: str, params: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        if self._count_input(related) > MAX_INPUTS:
            raise PeerError(ErrorCode.INVALID_REQUEST, "this task has asked for too much input")
        self._answering[related] += 1
        try:
            return with_related_task(await self._handlers.answer(method, params), related)
        finally:
            self._answering[related] -= 1
            self._answering += Counter()  # forgets what has come down to zero

    def _count_input(self, task_id: str) -> int:
        key = hash(task_id)  # which is short, as the id need not be
        count = self._asked.pop(key, 0) + 1
        self._asked[key] = count
        if len(self._asked) > _MAX_COUNTED:
            del self._asked[next(iter(self._asked))]
        return count

    async def _create(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        if len(self._tasks) >= _MAX_TASKS:
            raise PeerError(ErrorCode.INTERNAL_ERROR, f"there are {_MAX_TASKS} tasks already")
        plain = {name: value for name, value in params.items() if name != "task"}
        task = _ReceivedTask(_ttl_of(params["task"]))
        task.work = self._running.start(self._work(task, method, plain))
        task.expiry = asyncio.get_running_loop().call_later(task.ttl, self._forget, task.id)
        self._tasks[task.id] = task
        return {"task": task.described()}

    async def _work(self, task: _ReceivedTask, method: str, params: Mapping[str, Any]) -> None:
        try:
            with self.clocks.held() if self.clocks is not None else nullcontext():
                task.result = await self._handlers.answer(method, params)
            task.become("completed")
        except McpError as error:
            task.error = error
            task.become("failed", error_answer(error)[1])
        except asyncio.CancelledError:
            task.become("cancelled")
            raise

    def _find(self, params: Mapping[str, Any]) -> _ReceivedTask:
        task_id = params.get("taskId")
        task = self._tasks.get(task_id) if isinstance(task_id, str) else None
        if task is None:
            raise PeerError(ErrorCode.INVALID_PARAMS, "Task not found")
        return task

    def _forget(self, task_id: str) -> None:
        task = self._tasks.pop(task_id, None)
        if task is not None:
            task.stop()

    # The server's requests about tasks

    async def _get(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._find(params).described()

    async def _list(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        if "cursor" in params:  # there is one page
            raise PeerError(ErrorCode.INVALID_PARAMS, "Unknown cursor")
        return {"tasks": [task.described() for task in self._tasks.values()]}

    async def _result(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        task = self._find(params)
        if task.work is not None and not task.work.done():
            await asyncio.wait({task.work})
        if task.error is not None:
            raise task.error.again()
        if task.result is None:
            raise PeerError(ErrorCode.INVALID_REQUEST, "the task was cancelled")
        return with_related_task(task.result, task.id)

    async def _cancel(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        task = self._find(params)
        if task.status != "working":
            reason = f"Cannot cancel task: already in terminal status {task.status!r}"
            raise PeerError(ErrorCode.INVALID_PARAMS, reason)
        task.become("cancelled", "The task was cancelled by request.")
        task.stop()
        return task.described()

    # Observer

    def closed(self) -> None:
        """Drop all tasks."""
        for task_id in list(self._tasks):
            self._forget(task_id)


_REQUESTS = {
    "tasks/get": TaskReceiver._get,
    "tasks/list": TaskReceiver._list,
    "tasks/result": TaskReceiver._result,
    "tasks/cancel": TaskReceiver._cancel,
}


class _ReceivedTask:
    """One task that the server has asked for, and how far it is."""

    def __init__(self, ttl: float) -> None:
        self.id = os.urandom(16).hex()  # not to be guessed: whoever knows it may fetch the result
        self.ttl = ttl
        self.status = "working"
        self.result: Mapping[str, Any] | None = None
        self.error: McpError | None = None
        self.work: asyncio.Task[None] | None = None
        self.expiry: asyncio.TimerHandle | None = None
        self._message: str | None = None
        self._created = self._updated = timestamp()

    def become(self, status: str, message: str | None = None) -> None:
        """Change the status, unless the task is over."""
        if self.status == "working":
            self.status, self._message, self._updated = status, message, timestamp()

    def stop(self) -> None:
        """End the work and the timer."""
        if self.expiry is not None:
            self.expiry.cancel()
        cancel(self.work)

    def described(self) -> dict[str, Any]:
        """Return the task as the protocol describes it."""
        described = {
            "taskId": self.id,
            "status": self.status,
            "createdAt": self._created,
            "lastUpdatedAt": self._updated,
            "ttl": int(self.ttl * 1000),
            "pollInterval": int(_POLL_INTERVAL * 1000),
        }
        if self._message is not None:
            described["statusMessage"] = self._message
        return described


def _ttl_of(asked: Mapping[str, Any]) -> float:
    milliseconds = asked.get("ttl")
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, (int, float)):
        return _USUAL_TTL
    return min(milliseconds / 1000, _MAX_TTL) if milliseconds > 0 else _USUAL_TTL
