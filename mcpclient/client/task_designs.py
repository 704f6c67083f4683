"""The two designs of tasks: the core's of 2025-11-25, and the extension of the stateless era."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from ..errors import PeerError, ProtocolViolation, TaskFailed, UsageError
from ..jsonrpc.messages import peer_error
from ..protocol.tasks import EXTENSION, Task, created_task, declares, task_support_of
from ..protocol.types import Tool
from .connection.connection import Connection
from .connection.limits import RequestOptions
from .task_wait import TaskWait


class TaskDesign(ABC):
    """How tasks are made, listed and cancelled over one connection.

    ``wait``: what waits for a task. ``asks``: whether a call has to ask to become a task, which
    also makes its progress last as long as the task.
    """

    wait: type[TaskWait]
    asks: bool

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @abstractmethod
    def check_call(self, name: str, tool: Tool | None) -> None:
        """Raise `UsageError` when a tool, listed or not, cannot be called as a task."""

    @abstractmethod
    def may_ask(self) -> bool:
        """Whether a call can ask to become a task, as tools may require."""

    @abstractmethod
    def made_of(self, params: Mapping[str, Any], result: Mapping[str, Any]) -> Task | None:
        """Return the task the server made of a call; None when it gave the result of the call.

        Raises `ProtocolViolation` for a task without id.
        """

    @abstractmethod
    def check_listing(self) -> None:
        """Raise `UsageError` when tasks cannot be listed."""

    @abstractmethod
    def check_cancelling(self) -> None:
        """Raise `UsageError` when tasks cannot be cancelled."""

    def _declares(self, *capability: str) -> bool:
        return declares(self._connection.capabilities, *capability)

    def _require(self, *capability: str) -> None:
        self._connection.require_session()
        if not self._declares(*capability):
            raise UsageError(f"the server does not declare the capability {'.'.join(capability)}")


_MAKING = ("tasks", "requests", "tools", "call")


class CoreTaskWait(TaskWait):
    """Asks for input over the ``tasks/result`` request, which it also brings the result with."""

    @property
    def _is_answering(self) -> bool:
        return self._connection.receiver.is_answering(self._id)

    def _uncounted(self, began: float, held: float, *, was_answering: bool) -> float:
        return max(self._connection.held_seconds - held, 0.0)

    def _job_for_input(self) -> asyncio.Task[Mapping[str, Any] | None] | None:
        return asyncio.ensure_future(self._fetch_result())

    async def _fetch_result(self) -> Mapping[str, Any] | None:
        unlimited = RequestOptions(None, None, self._limits.headers)
        return await self._caller.call("tasks/result", {"taskId": self._id}, unlimited)

    async def _result_of(self, task: Task) -> Mapping[str, Any]:
        if self._job is not None:  # it has asked already
            await asyncio.wait({self._job}, timeout=self._limits.timeout)
            result = await self._outcome_of_job()
            if result is not None:
                return result
        return await self._request("tasks/result", {"taskId": self._id})


class CoreTasks(TaskDesign):
    """What the server can do with tasks, its capabilities say; what a tool can, its listing."""

    wait: type[TaskWait] = CoreTaskWait
    asks = True

    def check_call(self, name: str, tool: Tool | None) -> None:
        """Raise `UsageError` where the server or the tool says that it cannot."""
        self._require(*_MAKING)
        if tool is not None and task_support_of(tool.raw) == "forbidden":
            raise UsageError(f"tool {name!r} cannot be called as a task")

    def may_ask(self) -> bool:
        """Whether the server makes tasks of tool calls."""
        return self._declares(*_MAKING)

    def made_of(self, params: Mapping[str, Any], result: Mapping[str, Any]) -> Task | None:
        """Return the task of a call that asked for one."""
        return created_task(result, params["name"]) if "task" in params else None

    def check_listing(self) -> None:
        """Raise `UsageError` unless the server declares it."""
        self._require("tasks", "list")

    def check_cancelling(self) -> None:
        """Raise `UsageError` unless the server declares it."""
        self._require("tasks", "cancel")


class ExtensionTaskWait(TaskWait):
    """Answers the requests for input in a task's state with ``tasks/update``."""

    @property
    def _is_answering(self) -> bool:
        return self._job is not None and not self._job.done()

    def _uncounted(self, began: float, held: float, *, was_answering: bool) -> float:
        return self._clock() - began if was_answering or self._is_answering else 0.0

    def _job_for_input(self) -> asyncio.Task[Mapping[str, Any] | None] | None:
        requests = self._inputs.take(self._task.input_requests)
        if not requests:
            return None
        job = asyncio.ensure_future(self._give_input(requests))
        job.add_done_callback(lambda job: self._give_back(job, requests))
        return job

    async def _give_input(self, requests: Mapping[str, Any]) -> Mapping[str, Any] | None:
        answers = self._inputs.answers
        new = {key: each for key, each in requests.items() if key not in answers}
        answers.update(await self._caller.answers(new))
        params = {"taskId": self._id, "inputResponses": {key: answers[key] for key in requests}}
        await self._caller.call("tasks/update", params, self._limits)
        return None

    def _give_back(
        self, job: asyncio.Task[Mapping[str, Any] | None], requests: Mapping[str, Any]
    ) -> None:
        if job.cancelled() or job.exception() is not None:
            self._inputs.give_back(requests)

    async def _result_of(self, task: Task) -> Mapping[str, Any]:
        error = peer_error(task.error)
        if isinstance(error, PeerError):
            raise error
        if task.status == "failed":
            raise TaskFailed(task.id, task.status, task.status_message)
        if task.result is None:
            raise ProtocolViolation(f"task {task.id} is completed, and its result is missing")
        return task.result


class ExtensionTasks(TaskDesign):
    """Both sides have to declare the extension; then any tool call may become a task."""

    wait: type[TaskWait] = ExtensionTaskWait
    asks = False

    def check_call(self, name: str, tool: Tool | None) -> None:
        """Raise `UsageError` unless both sides declare the extension."""
        if not self._connection.options.tasks:
            raise UsageError("tasks need a client connected with tasks=True")
        self._require("extensions", EXTENSION)

    def may_ask(self) -> bool:
        """Answer no: the server makes a task of a call as it likes."""
        return False

    def made_of(self, params: Mapping[str, Any], result: Mapping[str, Any]) -> Task | None:
        """Return the task that the type of the result says it is."""
        if result.get("resultType") != "task":
            return None
        task = created_task(result, params["name"])
        if task is None:
            raise ProtocolViolation("tools/call: the server answered with a task without id")
        return task

    def check_listing(self) -> None:
        """Raise `UsageError`: there is no such request."""
        raise UsageError("servers of the stateless era do not list tasks")

    def check_cancelling(self) -> None:
        """Raise nothing: whoever has a task may cancel it."""
